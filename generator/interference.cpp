#include "generator/interference.h"

#include "isa/error.h"

#include <algorithm>
#include <vector>

namespace zyfa::generator {
namespace {

using isa::Access;
using isa::Inst;
using isa::Op;
using isa::SccUse;

bool reads_scc(const Inst& inst) {
  const SccUse use = isa::desc(inst.op).scc;
  return use == SccUse::reads || use == SccUse::updates || inst.op == Op::s_cbranch_scc0 ||
         inst.op == Op::s_cbranch_scc1;
}
bool writes_scc(const Inst& inst) {
  const SccUse use = isa::desc(inst.op).scc;
  return use == SccUse::writes || use == SccUse::updates;
}

[[noreturn]] void refuse(const Inst& foreign, std::string_view does, const Inst& woven) {
  throw Error("{}: {} {} what {} of the strand ({}) uses", to_string(foreign.where), isa::desc(foreign.op).name, does,
              isa::desc(woven.op).name, to_string(woven.where));
}

}  // namespace

void check_interference(std::span<const Inst> code, std::span<const std::size_t> woven) {
  if (woven.empty()) return;
  std::vector<std::vector<Access>> touched;
  for (const std::size_t at : woven) touched.push_back(isa::accesses(code[at]));
  const Inst* scc_writer = nullptr;  // of the strand, and nothing has written SCC since
  std::size_t done = 0;              // instructions of the strand before the present one
  for (std::size_t at = woven.front(); at < woven.back(); ++at) {
    const Inst& inst = code[at];
    if (done < woven.size() && woven[done] == at) {
      ++done;
      if (writes_scc(inst)) scc_writer = &inst;
      continue;
    }
    for (const Access& a : isa::accesses(inst))
      for (std::size_t i = a.write ? done : 0; i < (a.write ? woven.size() : done); ++i)
        for (const Access& b : touched[i])
          if ((a.write || b.write) && isa::touch(a, b)) refuse(inst, a.write ? "writes" : "reads", code[woven[i]]);
    if (reads_scc(inst) && scc_writer) refuse(inst, "reads", *scc_writer);
    if (!writes_scc(inst)) continue;
    scc_writer = nullptr;
    const auto next = std::ranges::find_if(woven.subspan(done),
                                           [&](std::size_t i) { return reads_scc(code[i]) || writes_scc(code[i]); });
    if (next != woven.end() && reads_scc(code[*next])) refuse(inst, "writes", code[*next]);
  }
}

}  // namespace zyfa::generator
