#include "isa/machine.h"

#include <algorithm>

namespace zyfa::isa {
namespace {

using enum Confidence;

constexpr Parameter parameters[] = {
#define PARAMETER(name, value, unit, confidence, source) {#name, unit, confidence, source, &Machine::name},
#include "isa/machine.def"
};

constexpr Spread spreads[] = {
#define SPREAD(name, optimistic, pessimistic) {#name, &Machine::name, optimistic, pessimistic},
#include "isa/machine_spread.def"
};

}  // namespace

Machine optimistic_machine() {
  Machine machine;
  for (const Spread& s : spreads) machine.*s.member = s.optimistic;
  return machine;
}

Machine pessimistic_machine() {
  Machine machine;
  for (const Spread& s : spreads) machine.*s.member = s.pessimistic;
  return machine;
}

std::span<const Spread> machine_spread() { return spreads; }

std::string_view name(Confidence confidence) {
  switch (confidence) {
    case documented:
      return "documented";
    case measured:
      return "measured";
    case compiler:
      return "compiler";
    case inferred:
      return "inferred";
    case guess:
      return "guess";
  }
  return {};
}

std::span<const std::string_view> value_names(CvtRounding) {
  static constexpr std::string_view names[] = {"nearest_even", "truncate"};
  return names;
}
std::span<const std::string_view> value_names(MfmaAccumulation) {
  static constexpr std::string_view names[] = {"fma_chain", "exact", "pairwise", "aligned_24"};
  return names;
}
std::span<const std::string_view> value_names(MfmaDenormals) {
  static constexpr std::string_view names[] = {"kept", "flushed"};
  return names;
}

std::span<const Parameter> machine_parameters() { return parameters; }

int waves_per_simd(const Machine& machine, int vgprs) {
  const int granules = (std::max(vgprs, 1) + machine.vgpr_granule - 1) / machine.vgpr_granule;
  return std::min(machine.max_waves_per_simd, machine.vgprs_per_simd_lane / (granules * machine.vgpr_granule));
}

}  // namespace zyfa::isa
