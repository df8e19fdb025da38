#include "schedules/probes/value_kernel.h"

namespace zyfa::schedules {
namespace {

using isa::exec;

constexpr int lanes = 64, dword_bytes = 4;

}  // namespace

ValueKernel::ValueKernel() : k(probe_machine) {
  const S<2> kernarg = k.claim(S<2>{0}, "kernel arguments");
  lane = k.claim(V<1>{0}, "lane");
  out_ = k.sgpr<2>("output");
  offset_ = k.vgpr("offset");
  k.wait(k.s_load_dwordx2(out_, kernarg, probe_out_offset));
  k.v_lshlrev_b32(offset_, 2, lane);
}

void ValueKernel::store(V<1> value) {
  constexpr int most_outstanding = 32;
  k.settle();
  k.global_store_dword(offset_, value, out_);
  if (++stored_ % most_outstanding == 0) k.s_waitcnt({.vmcnt = 0});
  k.v_add_u32(offset_, case_words * dword_bytes, offset_);
  k.settle();
}

void ValueKernel::only_lanes(int first, int count) {
  const std::uint64_t mask = (count == lanes ? 0 : std::uint64_t{1} << count) - 1;
  k.s_mov_b32(exec[0], static_cast<std::uint32_t>(mask << first));
  k.s_mov_b32(exec[1], static_cast<std::uint32_t>(mask << first >> 32));
}

void ValueKernel::every_lane() { k.s_mov_b64(exec, -1); }

generator::KernelBody ValueKernel::finish() {
  k.s_endpgm();
  return k.finish();
}

Probe make_probe(const ValueProbe& probe) {
  return {.name = probe.name,
          .question = probe.question,
          .parameters = probe.parameters,
          .waves = 1,
          .lds_bytes = 0,
          .fp16_overflow = probe.fp16_overflow,
          .out_bytes = static_cast<std::uint32_t>(probe.cases * case_words * dword_bytes),
          .in_bytes = 0,
          .build =
              [emit = probe.emit] {
                ValueKernel kernel;
                emit(kernel);
                return kernel.finish();
              },
          .evaluate = probe.evaluate};
}

}  // namespace zyfa::schedules
