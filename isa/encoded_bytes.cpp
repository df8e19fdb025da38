// How long an instruction is: CDNA4 ISA, "Microcode formats".
#include "isa/isa.h"
#include "isa/kinds.h"

#include <algorithm>

namespace zyfa::isa {
namespace {

bool is_smem(Kind k) { return k >= Kind::SMEM_LOAD && k <= Kind::SMEM_CACHE; }

bool is_immediate_kind(Kind k) {
  return k == Kind::SOPK || k == Kind::SOPK_COMPARE || k == Kind::BRANCH || k == Kind::SOPP || k == Kind::SOPP_COUNT ||
         k == Kind::WAITCNT;
}

// 32 bits behind the instruction.
bool has_literal(const Inst& inst) {
  return std::ranges::any_of(inst.args, [](const Operand& o) { return o.kind == OperandKind::literal; });
}

}  // namespace

int encoded_bytes(const Inst& inst) {
  constexpr int dword = 4;
  const Kind kind = desc(inst.op).kind;
  if (kind == Kind::F8F6F4_SCALED) return 4 * dword;
  if (is_immediate_kind(kind) || kind == Kind::VNOP) return dword;
  if (is_literal_fma(kind) || kind == Kind::SET_REG_LITERAL) return 2 * dword;
  const bool is_short =
      (is_scalar_kind(kind) && !is_smem(kind)) || inst.form == Form::e32 || kind == Kind::READ_FIRST_LANE;
  if (!is_short) return 2 * dword;
  return has_literal(inst) ? 2 * dword : dword;
}

}  // namespace zyfa::isa
