// What is fuzzed, once for all drivers: libFuzzer (libfuzzer.cpp), the seeded driver of the test suite (campaign.h) and
// the replay of a finding (zyfa_fuzz.cpp). A target takes any bytes at all and comes back; an escaping exception, a
// signal or a sanitizer's report is a finding.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace zyfa::fuzz {

using Bytes = std::vector<std::byte>;

enum class Outcome {
  refused,  // an Error of one line
  trapped,  // read, and the kernel broke a rule of the machine or ran into the limit
  accepted
};

// A property that every input must keep did not hold.
class Broken : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

struct Target {
  std::string_view name;
  Outcome (*take)(std::span<const std::byte> input);
  std::vector<Bytes> (*seeds)();  // whole inputs to start from, each accepted or trapped
};

// decoder: machine code to instructions; what decodes is printed, parsed again and run.
// code_object: a .co file to kernels; each that decodes runs a few hundred instructions in every mode of the emulator,
//   and as one of AITER's if its symbol says so.
// text: a .s listing to instructions, line by line and as a program, which runs.
// json: a configuration, a machine file and a manifest.
// tensor: .npy and .safetensors files.
std::span<const Target> targets();

// Throws Error that lists the names.
const Target& find_target(std::string_view name);

}  // namespace zyfa::fuzz
