// Probes that compute: each case leaves one register, which is stored as it is.
#pragma once

#include "schedules/probes/probe.h"

namespace zyfa::schedules {

using generator::Builder;
using generator::S;
using generator::V;

// A kernel of one wave in the making. store() keeps a register of all lanes as the next case.
class ValueKernel {
 public:
  ValueKernel();

  Builder k;
  V<1> lane;

  void store(V<1> value);
  // All that follows until every_lane() is done by lanes [first, first + count) alone.
  void only_lanes(int first, int count);
  void every_lane();
  generator::KernelBody finish();

 private:
  S<2> out_;
  V<1> offset_;
  int stored_ = 0;
};

inline constexpr int case_words = 64;

struct ValueProbe {
  std::string_view name, question;
  std::vector<std::string_view> parameters;
  int cases = 0;
  bool fp16_overflow = false;
  void (*emit)(ValueKernel&);
  Findings (*evaluate)(Words);
};

Probe make_probe(const ValueProbe& probe);

// What lane 0 stored in a case.
inline std::uint32_t first_lane(Words words, int at) { return words[static_cast<std::size_t>(at) * case_words]; }

}  // namespace zyfa::schedules
