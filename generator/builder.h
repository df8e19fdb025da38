// The typed builder: one method per row of the table, named and ordered as in the manual, destination first. Emitting
// appends a valid instruction that remembers the calling line, or throws and appends nothing. Waits are tokens: a
// memory instruction returns one, wait(token) becomes an s_waitcnt whose counts are worked out at the end.
#pragma once

#include "generator/operands.h"
#include "generator/register_file.h"
#include "generator/waits.h"
#include "isa/machine.h"

#include <optional>
#include <source_location>
#include <span>

namespace zyfa::generator {

using isa::Modifiers;
using isa::Op;

// Memory instructions whose results somebody may wait for. Tokens of several instructions, also on different paths to
// the wait, join by |.
struct Token {
  std::vector<std::uint32_t> producers;
  Token& operator|=(const Token& other) {
    producers.insert(producers.end(), other.producers.begin(), other.producers.end());
    return *this;
  }
  friend Token operator|(Token a, const Token& b) { return a |= b; }
};

// What arrives at one place of a loop, requested before the loop and on earlier trips: join() may follow wait() in the
// text of the kernel.
struct Arrival {
  std::uint32_t id;
};

struct Label {
  std::uint32_t id;
};

// Instructions taken aside, to be woven between others.
class Strand {
 public:
  std::size_t size() const { return code_.size(); }

 private:
  friend class Builder;
  struct Step {
    isa::Inst inst;
    std::optional<SourceLine> settle;  // before it
  };
  std::vector<Step> code_;
};

// A finished kernel body: instructions with waits and nops resolved, checked for hazards and for reads in flight.
struct KernelBody {
  isa::Program program;
  int vgprs = 0, agprs = 0, sgprs = 0;
  std::vector<NamedRegisters> registers;  // the register map, in order of first use
};

class Builder {
 public:
  using Where = SourceLine;

  explicit Builder(const isa::Machine& machine);

  // Registers. Widths above one are aligned as the ISA asks.
  template <int N = 1>
  V<N> vgpr(std::string_view name) {
    return {static_cast<std::uint16_t>(vgprs_.allocate(N, N == 1 ? 1 : 2, name))};
  }
  template <int N = 1>
  A<N> agpr(std::string_view name) {
    return {static_cast<std::uint16_t>(agprs_.allocate(N, N == 1 ? 1 : 2, name))};
  }
  template <int N = 1>
  S<N> sgpr(std::string_view name) {
    return {static_cast<std::uint16_t>(sgprs_.allocate(N, N == 1 ? 1 : N == 2 ? 2 : 4, name))};
  }
  // Pins registers that the launch has filled.
  template <int N>
  V<N> claim(V<N> r, std::string_view name) {
    vgprs_.claim(r.first, N, name);
    return r;
  }
  template <int N>
  S<N> claim(S<N> r, std::string_view name) {
    sgprs_.claim(r.first, N, name);
    return r;
  }
  // Gives back at its end what was allocated during its life.
  class Scope {
   public:
    explicit Scope(Builder& k) : k_(k), vgprs_(k.vgprs_.mark()), agprs_(k.agprs_.mark()), sgprs_(k.sgprs_.mark()) {}
    ~Scope() {
      if (k_.aside_) return;  // until the scope around the strand ends
      k_.vgprs_.release_to(vgprs_);
      k_.agprs_.release_to(agprs_);
      k_.sgprs_.release_to(sgprs_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& k_;
    std::size_t vgprs_, agprs_, sgprs_;
  };
  Scope scope() { return Scope(*this); }

  // What `emit` appends, taken aside: no labels, memory instructions or waits. Registers that it allocates stay taken
  // until the scope around ends, for the strand's values live across what it is woven into.
  template <class Emit>
  Strand aside(Emit emit) {
    const AsideMark mark = begin_aside();
    emit();
    return end_aside(mark);
  }
  // Appends instruction i of the strand.
  void weave(const Strand& strand, std::size_t i);
  // Instructions so far, without waits and nops.
  std::span<const isa::Inst> code() const { return code_; }

  // Control flow.
  Label label(std::string_view name);
  void bind(Label label);
  Label here(std::string_view name);

  // Everything the token stands for has arrived when execution goes on.
  void wait(const Token& token, Where where = std::source_location::current());
  Arrival arrival();
  void join(Arrival arrival, const Token& token);
  void wait(Arrival arrival, Where where = std::source_location::current());
  // Pads with the wait states that the next instruction needs; nothing where it needs none.
  void settle(Where where = std::source_location::current());

  // Resolves labels, waits and settles, then checks; a hazard or a read in flight is an Error that names both lines.
  KernelBody finish();

  // One method per row.
#define ZYFA_WHERE Where where = std::source_location::current()
#define ZYFA_T(t) isa::Type::t
#define ZYFA_D(t) width<isa::Type::t>
  // clang-format off
#define SOP1(op, D, A, ...)    void op(S<ZYFA_D(D)> d, ScalarSource<ZYFA_T(A)> a, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand); }
#define SOP1_ACC               SOP1
#define SOPK_COMPARE(op, A, ...) void op(S<ZYFA_D(A)> a, std::int16_t value, ZYFA_WHERE) { add(Op::op, where, {}, a, immediate16(value)); }
#define SOP2(op, D, A, B, ...) void op(S<ZYFA_D(D)> d, ScalarSource<ZYFA_T(A)> a, ScalarSource<ZYFA_T(B)> b, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand, b.operand); }
#define SOPC(op, A, B, ...)    void op(ScalarSource<ZYFA_T(A)> a, ScalarSource<ZYFA_T(B)> b, ZYFA_WHERE) { add(Op::op, where, {}, a.operand, b.operand); }
#define SOPK(op, D, ...)       void op(S<ZYFA_D(D)> d, std::int16_t value, ZYFA_WHERE) { add(Op::op, where, {}, d, immediate16(value)); }
#define SAVEEXEC(op, ...)      void op(S<2> d, ScalarSource<ZYFA_T(u64)> a, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand); }
#define BRANCH(op, ...)        void op(Label target, ZYFA_WHERE) { add(Op::op, where, {}, Operand(isa::OperandKind::label, target.id)); }
#define SOPP(op, ...)          void op(ZYFA_WHERE) { add(Op::op, where, {}); }
#define SOPP_COUNT(op, ...)    void op(int count, ZYFA_WHERE) { add(Op::op, where, {}, Operand(isa::OperandKind::integer, static_cast<std::uint32_t>(count))); }
#define WAITCNT(op)            void op(Modifiers counts, ZYFA_WHERE) { add(Op::op, where, counts); }
#define GET_PC(op)             void op(S<2> d, ZYFA_WHERE) { add(Op::op, where, {}, d); }
#define SET_PC(op)             void op(S<2> address, ZYFA_WHERE) { add(Op::op, where, {}, address); }
#define CALL(op)               void op(S<2> d, S<2> address, ZYFA_WHERE) { add(Op::op, where, {}, d, address); }
#define GET_REG(op)            void op(S<1> d, isa::HardwareField field, ZYFA_WHERE) { add(Op::op, where, {}, d, integer(field.code())); }
#define SET_REG(op)            void op(isa::HardwareField field, S<1> a, ZYFA_WHERE) { add(Op::op, where, {}, integer(field.code()), a); }
#define SET_REG_LITERAL(op)    void op(isa::HardwareField field, std::uint32_t value, ZYFA_WHERE) { add(Op::op, where, {}, integer(field.code()), Operand::constant(value)); }
#define INDEX_ON(op)           void op(ScalarSource<ZYFA_T(u32)> index, std::uint32_t operands, ZYFA_WHERE) { add(Op::op, where, {}, index.operand, integer(operands)); }
#define INDEX_OFF(op)          void op(ZYFA_WHERE) { add(Op::op, where, {}); }
#define INDEX_OPERANDS(op)     void op(std::uint32_t operands, ZYFA_WHERE) { add(Op::op, where, {}, integer(operands)); }
#define INDEX(op)              void op(ScalarSource<ZYFA_T(u32)> index, ZYFA_WHERE) { add(Op::op, where, {}, index.operand); }
#define SMEM_LOAD(op, dw)      Token op(S<dw> d, S<2> base, std::uint32_t offset, ZYFA_WHERE) { return memory(Op::op, where, {}, d, base, Operand(isa::OperandKind::literal, offset)); }
#define SMEM_TIME(op)          Token op(S<2> d, ZYFA_WHERE) { return memory(Op::op, where, {}, d); }
#define SMEM_CACHE(op)         Token op(ZYFA_WHERE) { return memory(Op::op, where, {}); }
#define SMEM_BUFFER_LOAD(op, dw) Token op(S<dw> d, S<4> resource, std::uint32_t offset, ZYFA_WHERE) { return memory(Op::op, where, {}, d, resource, Operand(isa::OperandKind::literal, offset)); }
#define VNOP(op)               void op(ZYFA_WHERE) { add(Op::op, where, {}); }
#define VOP1(op, D, A, ...)    void op(V<ZYFA_D(D)> d, Source<ZYFA_T(A)> a, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand); }
#define VOP2(op, D, A, B, ...) void op(V<ZYFA_D(D)> d, Source<ZYFA_T(A)> a, Source<ZYFA_T(B)> b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand); }
#define VOP2_ACC               VOP2
#define VOP3_2                 VOP2
#define VOP3_3(op, D, A, B, C, ...) void op(V<ZYFA_D(D)> d, Source<ZYFA_T(A)> a, Source<ZYFA_T(B)> b, Source<ZYFA_T(C)> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define VOP2_MK(op, ...)       void op(V<1> d, Source<ZYFA_T(f32)> a, float k, V<1> b, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand, literal(k), b); }
#define VOP2_AK(op, ...)       void op(V<1> d, Source<ZYFA_T(f32)> a, V<1> b, float k, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand, b, literal(k)); }
#define DIV_SCALE(op, T, ...)  void op(V<ZYFA_D(T)> d, S<2> mask, Source<ZYFA_T(T)> a, Source<ZYFA_T(T)> b, Source<ZYFA_T(T)> c, ZYFA_WHERE) { add(Op::op, where, {}, d, mask, a.operand, b.operand, c.operand); }
#define DIV_FMAS(op, T, ...)   void op(V<ZYFA_D(T)> d, Source<ZYFA_T(T)> a, Source<ZYFA_T(T)> b, Source<ZYFA_T(T)> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define MAD_WIDE(op, D, A, ...) void op(V<2> d, S<2> mask, Source<ZYFA_T(A)> a, Source<ZYFA_T(A)> b, Source<ZYFA_T(D)> c, ZYFA_WHERE) { add(Op::op, where, {}, d, mask, a.operand, b.operand, c.operand); }
#define HALF2(op, A, B, ...)   void op(V<1> d, Source<ZYFA_T(A)> a, Source<ZYFA_T(B)> b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand); }
#define HALF3(op, A, B, C, ...) void op(V<1> d, Source<ZYFA_T(A)> a, Source<ZYFA_T(B)> b, Source<ZYFA_T(C)> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define BYTE2                  HALF2
#define BYTE3                  HALF3
#define PART(op, bits, D, B, ...) void op(V<ZYFA_D(D)> d, Source<ZYFA_T(u32)> a, Source<ZYFA_T(B)> b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand); }
#define PART_TO_HALF(op, bits, B, ...) void op(V<1> d, Source<ZYFA_T(u32)> a, Source<ZYFA_T(B)> b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand); }
#define HALVES2                VOP2
#define HALVES3                VOP3_3
#define PACK_U8                VOP3_3
#define BITOP3(op, T)          void op(V<1> d, Source<ZYFA_T(T)> a, Source<ZYFA_T(T)> b, Source<ZYFA_T(T)> c, Modifiers m, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define MIX(op, ...)           void op(V<1> d, Source<ZYFA_T(f32)> a, Source<ZYFA_T(f32)> b, Source<ZYFA_T(f32)> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define PK16_2(op, T, ...)     void op(V<1> d, Source<ZYFA_T(T)> a, Source<ZYFA_T(T)> b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand); }
#define PK16_3(op, T, ...)     void op(V<1> d, Source<ZYFA_T(T)> a, Source<ZYFA_T(T)> b, Source<ZYFA_T(T)> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define DOT(op, C, A, ...)     void op(V<1> d, Source<ZYFA_T(A)> a, Source<ZYFA_T(A)> b, Source<ZYFA_T(C)> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define WIDE(op, to, from, ...) void op(V<to> d, V<from> a, Source<ZYFA_T(f32)> scale, ZYFA_WHERE) { add(Op::op, where, {}, d, a, scale.operand); }
#define WIDE_SR(op, to, from, ...) void op(V<to> d, V<from> a, Source<ZYFA_T(u32)> seed, Source<ZYFA_T(f32)> scale, ZYFA_WHERE) { add(Op::op, where, {}, d, a, seed.operand, scale.operand); }
#define WIDE_PAIR(op, to, from, ...) void op(V<to> d, V<from> a, V<from> b, Source<ZYFA_T(f32)> scale, ZYFA_WHERE) { add(Op::op, where, {}, d, a, b, scale.operand); }
#define VOPC(op, A, ...)       void op(S<2> d, Source<ZYFA_T(A)> a, Source<ZYFA_T(A)> b, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand, b.operand); }
#define VOPC_CLASS(op, A, ...) void op(S<2> d, Source<ZYFA_T(A)> a, Source<ZYFA_T(u32)> b, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand, b.operand); }
#define CMPX                   VOPC
#define CMPX_CLASS             VOPC_CLASS
#define CARRY_OUT(op, ...)     void op(V<1> d, S<2> carry, Source<ZYFA_T(u32)> a, Source<ZYFA_T(u32)> b, ZYFA_WHERE) { add(Op::op, where, {}, d, carry, a.operand, b.operand); }
#define CARRY_IN(op, ...)      void op(V<1> d, S<2> carry, Source<ZYFA_T(u32)> a, Source<ZYFA_T(u32)> b, S<2> carry_in, ZYFA_WHERE) { add(Op::op, where, {}, d, carry, a.operand, b.operand, carry_in); }
#define SELECT(op, ...)        void op(V<1> d, Source<ZYFA_T(u32)> a, Source<ZYFA_T(u32)> b, S<2> mask, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand, b.operand, mask); }
#define READ_FIRST_LANE(op)    void op(S<1> d, V<1> a, ZYFA_WHERE) { add(Op::op, where, {}, d, a); }
#define READ_LANE(op)          void op(S<1> d, V<1> a, ScalarSource<ZYFA_T(u32)> lane, ZYFA_WHERE) { add(Op::op, where, {}, d, a, lane.operand); }
#define WRITE_LANE(op)         void op(V<1> d, ScalarSource<ZYFA_T(u32)> a, ScalarSource<ZYFA_T(u32)> lane, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand, lane.operand); }
#define SWAP_LANES(op, ...)    void op(V<1> d, V<1> a, ZYFA_WHERE) { add(Op::op, where, {}, d, a); }
#define PK_F32_2(op, ...)      void op(V<2> d, Source<ZYFA_T(f64)> a, Source<ZYFA_T(f64)> b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand); }
#define PK_F32_3(op, ...)      void op(V<2> d, Source<ZYFA_T(f64)> a, Source<ZYFA_T(f64)> b, Source<ZYFA_T(f64)> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand, c.operand); }
#define PK_MOVE(op)            void op(V<2> d, Source<ZYFA_T(u64)> a, Source<ZYFA_T(u64)> b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d, a.operand, b.operand); }
#define ACC_READ(op)           void op(V<1> d, A<1> a, ZYFA_WHERE) { add(Op::op, where, {}, d, a); }
#define ACC_WRITE(op)          void op(A<1> d, Source<ZYFA_T(u32)> a, ZYFA_WHERE) { add(Op::op, where, {}, d, a.operand); }
#define MFMA(op, CD, A_, B_, M, N, K, blocks, ...) \
  void op(Data<blocks * M * N * element_bits(ZYFA_T(CD)) / 2048> d, Data<blocks * M * K * element_bits(ZYFA_T(A_)) / 2048> a, Data<blocks * K * N * element_bits(ZYFA_T(B_)) / 2048> b, Accumulator<blocks * M * N * element_bits(ZYFA_T(CD)) / 2048> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d.operand, a.operand, b.operand, c.operand); }
#define SMFMAC(op, CD, A_, B_, M, N, K, ...) \
  void op(Data<M * N / 64> d, Data<M * K / 2 * element_bits(ZYFA_T(A_)) / 2048> a, Data<K * N * element_bits(ZYFA_T(B_)) / 2048> b, V<1> indices, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d.operand, a.operand, b.operand, indices); }
#define F8F6F4(op, M, N, K, ...) \
  template <class RA, class RB> void op(Data<M * N / 64> d, RA a, RB b, Accumulator<M * N / 64> c, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d.operand, a, b, c.operand); }
#define F8F6F4_SCALED(op, M, N, K, ...) \
  template <class RA, class RB> void op(Data<M * N / 64> d, RA a, RB b, Accumulator<M * N / 64> c, Source<ZYFA_T(u32)> scale_a, Source<ZYFA_T(u32)> scale_b, Modifiers m = {}, ZYFA_WHERE) { add(Op::op, where, m, d.operand, a, b, c.operand, scale_a.operand, scale_b.operand); }
#define DS_READ(op, dw)        Token op(Data<dw> d, V<1> address, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address); }
#define DS_READ_PART(op, ...)  DS_READ(op, 1)
#define DS_READ_TR(op, dw, ...) DS_READ(op, dw)
#define DS_READ2(op, dw, ...)  DS_READ(op, 2 * dw)
#define DS_WRITE(op, dw)       Token op(V<1> address, Data<dw> data, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, address, data.operand); }
#define DS_WRITE_PART(op, ...) DS_WRITE(op, 1)
#define DS_WRITE2(op, dw, ...) Token op(V<1> address, Data<dw> first, Data<dw> second, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, address, first.operand, second.operand); }
#define DS_ATOMIC(op, T, ...)  DS_WRITE(op, ZYFA_D(T))
#define DS_ATOMIC_RTN(op, T, ...) Token op(Data<ZYFA_D(T)> d, V<1> address, Data<ZYFA_D(T)> data, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address, data.operand); }
#define DS_COMPARE(op, T, ...) DS_WRITE2(op, ZYFA_D(T))
#define DS_COMPARE_RTN(op, T, ...) Token op(Data<ZYFA_D(T)> d, V<1> address, Data<ZYFA_D(T)> first, Data<ZYFA_D(T)> second, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address, first.operand, second.operand); }
#define DS_COUNT(op, ...)      Token op(Data<1> d, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand); }
#define DS_PERMUTE(op, ...)    DS_ATOMIC_RTN(op, u32)
#define DS_SWIZZLE(op)         Token op(Data<1> d, Data<1> data, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, data.operand); }
#define BUFFER_LOAD(op, dw) \
  Token op(Data<dw> d, Address address, S<4> resource, ScalarSource<ZYFA_T(u32)> base, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address.operand, resource, base.operand); } \
  Token op(Address address, S<4> resource, ScalarSource<ZYFA_T(u32)> base, Modifiers m, ZYFA_WHERE) { m.lds = true; return memory(Op::op, where, m, Operand{}, address.operand, resource, base.operand); }
#define BUFFER_LOAD_PART(op, ...) \
  Token op(Data<1> d, Address address, S<4> resource, ScalarSource<ZYFA_T(u32)> base, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address.operand, resource, base.operand); }
#define BUFFER_STORE(op, b)    Token op(Data<(b + 3) / 4> data, Address address, S<4> resource, ScalarSource<ZYFA_T(u32)> base, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, data.operand, address.operand, resource, base.operand); }
#define BUFFER_STORE_HIGH(op, ...) BUFFER_STORE(op, 4)
#define BUFFER_ATOMIC(op, T, ...)  BUFFER_STORE(op, 4 * ZYFA_D(T))
#define BUFFER_COMPARE(op, T, ...) BUFFER_STORE(op, 8 * ZYFA_D(T))
#define GLOBAL_LOAD(op, dw) \
  Token op(Data<dw> d, V<2> address, Off, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address, Operand{}); } \
  Token op(Data<dw> d, V<1> address, S<2> base, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address, base); }
#define GLOBAL_LOAD_PART(op, ...) GLOBAL_LOAD(op, 1)
#define GLOBAL_LOAD_LDS(op, ...) \
  Token op(V<2> address, Off, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, address, Operand{}); } \
  Token op(V<1> address, S<2> base, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, address, base); }
#define GLOBAL_LOAD_LDS_PART(op, ...) GLOBAL_LOAD_LDS(op, 1)
#define GLOBAL_STORE(op, b) \
  Token op(V<2> address, Data<(b + 3) / 4> data, Off, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, address, data.operand, Operand{}); } \
  Token op(V<1> address, Data<(b + 3) / 4> data, S<2> base, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, address, data.operand, base); }
#define GLOBAL_STORE_HIGH(op, ...) GLOBAL_STORE(op, 4)
#define GLOBAL_UPDATE(op, result, data_dwords) \
  Token op(Data<result> d, V<2> address, Data<data_dwords> data, Off, Modifiers m = {}, ZYFA_WHERE) { m.sc0 = true; return memory(Op::op, where, m, d.operand, address, data.operand, Operand{}); } \
  Token op(Data<result> d, V<1> address, Data<data_dwords> data, S<2> base, Modifiers m = {}, ZYFA_WHERE) { m.sc0 = true; return memory(Op::op, where, m, d.operand, address, data.operand, base); } \
  Token op(V<2> address, Data<data_dwords> data, Off, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, Operand{}, address, data.operand, Operand{}); } \
  Token op(V<1> address, Data<data_dwords> data, S<2> base, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, Operand{}, address, data.operand, base); }
#define GLOBAL_ATOMIC(op, T, ...)  GLOBAL_UPDATE(op, ZYFA_D(T), ZYFA_D(T))
#define GLOBAL_COMPARE(op, T, ...) GLOBAL_UPDATE(op, ZYFA_D(T), 2 * ZYFA_D(T))
#define FLAT_LOAD(op, dw)      Token op(Data<dw> d, V<2> address, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, d.operand, address); }
#define FLAT_LOAD_PART(op, ...) FLAT_LOAD(op, 1)
#define FLAT_STORE(op, b)      Token op(V<2> address, Data<(b + 3) / 4> data, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, address, data.operand); }
#define FLAT_STORE_HIGH(op, ...) FLAT_STORE(op, 4)
#define FLAT_UPDATE(op, result, data_dwords) \
  Token op(Data<result> d, V<2> address, Data<data_dwords> data, Modifiers m = {}, ZYFA_WHERE) { m.sc0 = true; return memory(Op::op, where, m, d.operand, address, data.operand); } \
  Token op(V<2> address, Data<data_dwords> data, Modifiers m = {}, ZYFA_WHERE) { return memory(Op::op, where, m, Operand{}, address, data.operand); }
#define FLAT_ATOMIC(op, T, ...)  FLAT_UPDATE(op, ZYFA_D(T), ZYFA_D(T))
#define FLAT_COMPARE(op, T, ...) FLAT_UPDATE(op, ZYFA_D(T), 2 * ZYFA_D(T))
#include "isa/gfx950.def"
#undef GLOBAL_UPDATE
#undef FLAT_UPDATE
  // clang-format on
#undef ZYFA_WHERE
#undef ZYFA_T
#undef ZYFA_D

 private:
  static Operand literal(float value) { return {isa::OperandKind::literal, std::bit_cast<std::uint32_t>(value)}; }
  static Operand integer(std::uint32_t number) { return {isa::OperandKind::integer, number}; }
  static Operand immediate16(std::int16_t value) {
    return {isa::OperandKind::literal, static_cast<std::uint16_t>(value)};
  }

  template <class... Args>
  void add(Op op, Where where, Modifiers mods, Args... args) {
    emit({.op = op, .args = {Operand(args)...}, .mods = mods, .where = where});
  }
  template <class... Args>
  Token memory(Op op, Where where, Modifiers mods, Args... args) {
    add(op, where, mods, args...);
    return {{static_cast<std::uint32_t>(code_.size() - 1)}};
  }
  // Chooses the shortest encoding, checks, appends.
  void emit(isa::Inst inst);

  struct AsideMark {
    std::size_t code, settles;
  };
  AsideMark begin_aside();
  Strand end_aside(const AsideMark& mark);

  const isa::Machine& machine_;
  RegisterFile vgprs_, agprs_, sgprs_;
  std::vector<isa::Inst> code_;
  struct LabelInfo {
    std::string name;
    std::int64_t position = -1;
  };
  std::vector<LabelInfo> labels_;
  std::vector<Token> arrivals_;
  struct ArrivalWait {
    std::size_t request;  // index into waits_
    std::uint32_t arrival;
  };
  std::vector<WaitRequest> waits_;
  std::vector<ArrivalWait> arrival_waits_;
  std::vector<SettleRequest> settles_;
  bool aside_ = false;
};

}  // namespace zyfa::generator
