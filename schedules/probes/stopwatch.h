// Probes that measure time. Every measurement is a block of instructions between two readings of s_memtime by each wave
// that takes part; all waves meet at a barrier before it. It is run twice and the second run counts, with the
// instruction cache warm. What the readings themselves cost is the same for all, so evaluations take differences:
// between two numbers of repetitions, or between two blocks.
#pragma once

#include "schedules/probes/probe.h"

namespace zyfa::schedules {

using generator::Builder;
using generator::S;
using generator::V;

// The registers of a measured block.
struct Bench {
  Builder& k;
  V<16> sources;       // a small positive number in any format, never written
  V<16> results;       // written by VALU instructions and LDS reads
  V<8> a, b;           // of matrix instructions, never written
  V<64> accumulators;  // up to four tiles
  V<1> lane, address;  // the lane's number; scratch
  V<16> pages;         // addresses into the input: lane * 16 + 4,096 i
  V<16> half_pages;    // lane * 8 + 2,048 i
  S<2> in, mask;
  S<4> in_resource;
  S<1> wave, scratch;

  // Writes of VALU instructions go round, so that none waits for another.
  V<1> result(int i) const { return results[i % 16]; }
  V<2> result2(int i) const { return results.at<2>(2 * (i % 8)); }
  V<4> result4(int i) const { return results.at<4>(4 * (i % 4)); }
  V<16> tile(int i) const { return accumulators.at<16>(16 * (i % 4)); }
  V<4> small_tile(int i) const { return accumulators.at<4>(16 * (i % 4)); }
};

// Emits `repetitions` of what is measured, and the waits that belong to it.
using Block = std::function<void(Bench&, int repetitions)>;

// Which waves of a workgroup of up to eight take part: those whose number has none of these bits. Waves i and i + 4
// share a SIMD, SIMDs 0 and 2 an LDS path.
enum Waves : std::uint32_t {
  one_wave = 7,
  two_on_a_simd = 3,
  one_on_each_of_a_pair = 5,
  one_on_each_simd = 4,
  every_wave = 0
};

struct Measurement {
  std::string name;
  std::vector<int> repetitions;
  Waves waves = one_wave;
  Block block;
};

// What the waves stored, in clocks.
class Readings {
 public:
  Readings(const std::vector<Measurement>& measurements, int waves, Words words);

  // From the first of the waves' first readings to the last of their second ones.
  double span(std::string_view measurement, int repetitions) const;
  // Clocks of a repetition: the difference of the measurement's first two numbers of repetitions.
  double slope(std::string_view measurement) const;
  // Of the measurement turns().
  double turn_clk() const;

 private:
  struct Span {
    std::string_view measurement;
    int repetitions;
    double clk;
  };
  std::vector<Span> spans_;
};

struct TimedProbe {
  std::string_view name, question;
  std::vector<std::string_view> parameters;
  int waves = 8;
  int lds_bytes = 0;
  std::uint32_t in_bytes = 0;
  std::vector<Measurement> measurements;
  std::function<Findings(const Readings&)> evaluate;
};

Probe make_probe(TimedProbe timed);

// `count` repetitions of one instruction.
template <class Emit>
Block repeat(Emit emit) {
  return [emit](Bench& b, int repetitions) {
    for (int i = 0; i < repetitions; ++i) emit(b, i);
  };
}

// A stream of scalar moves, which issue one in each of the wave's turns: what `turn_clk` of the readings comes from.
Measurement turns(Waves waves);

// Waits for all vector memory, or for all LDS and scalar memory.
void wait_vector_memory(Builder& k);
void wait_lgkm(Builder& k);

}  // namespace zyfa::schedules
