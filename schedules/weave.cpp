#include "schedules/weave.h"

#include "generator/interference.h"

#include <algorithm>

namespace zyfa::schedules {
namespace {

// Matrix instruction i of a step. Behind an operand's last use: the next one has arrived, and the one that takes its
// place is sent for.
void multiply_one(Builder& k, const Walk& w, const Step& step, std::size_t i, std::vector<Token>& arriving) {
  const std::size_t uses = w.tiles.size(), n = step.matrix.size();
  const std::size_t at = i / uses, next = at + 1, ahead = at + fragments_ahead;
  const auto fragment = [&](std::size_t operand) { return w.fragment(step.first + operand); };
  const bool last_use = i % uses + 1 == uses, has_piece = i < step.pieces.size();
  if (i == 0) k.wait(w.first_fragments[0]);
  step.matrix[at].multiply[i % uses](fragment(at));
  if (last_use && next < n) {
    if (next < fragments_ahead)
      k.wait(w.first_fragments[next]);
    else
      k.wait(arriving[next]);
  }
  if (has_piece && step.pieces[i].scalar) step.pieces[i].scalar();
  if (last_use) {
    if (ahead < n)
      arriving[ahead] = step.matrix[ahead].read(fragment(ahead));
    else if (ahead - n < step.next.size())
      k.join(w.first_fragments[ahead - n], step.next[ahead - n].read(fragment(ahead)));
  }
  if (has_piece && step.pieces[i].memory) step.pieces[i].memory();
}

// Clocks from a matrix instruction on, as the pipe model counts them on the nominal machine (docs/timing.md): one
// instruction a turn, and the vector port and memory closed while scales, A and B are read, 16 bytes of 32 in a turn.
int clk_since(std::span<const isa::Inst> code, std::size_t start) {
  const isa::Machine nominal;
  const int turn = nominal.turn_clk, port_held = nominal.ld_scale_clk + nominal.matrix_read_clk + 2 * turn;
  int clk = 0, open = 0;
  for (const isa::Inst& inst : code.subspan(start)) {
    const isa::Class cls = isa::desc(inst.op).cls;
    const bool scalar = cls == isa::Class::Salu || cls == isa::Class::Branch || cls == isa::Class::Internal;
    if (cls == isa::Class::Mfma) {
      clk = 0;
      open = port_held;
    } else if (!scalar) {
      clk = std::max(clk, open);
    }
    clk += turn;
  }
  return clk;
}

}  // namespace

void weave_under(Builder& k, const Walk& w, const Step& step, const generator::Strand& strand, std::size_t multiplied,
                 std::vector<Token>& arriving, const std::function<void(std::size_t, std::size_t)>& on_woven) {
  const int woven_clk = std::get<generator::Interleaved>(w.plan.schedule).woven_clk;
  std::size_t next = 0;
  std::vector<std::size_t> woven;
  const auto weave_next = [&](std::size_t issued) {
    woven.push_back(k.code().size());
    k.weave(strand, next);
    if (on_woven) on_woven(next, issued);
    ++next;
  };
  for (std::size_t i = multiplied; i < step.products(w); ++i) {
    const std::size_t start = k.code().size();
    multiply_one(k, w, step, i, arriving);
    while (next < strand.size() && clk_since(k.code(), start) < woven_clk) weave_next(i + 1);
  }
  while (next < strand.size()) weave_next(step.products(w));
  generator::check_interference(k.code(), woven);
}

}  // namespace zyfa::schedules
