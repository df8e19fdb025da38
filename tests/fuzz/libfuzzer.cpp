// libFuzzer's entry for one target, which the build names in ZYFA_FUZZ_TARGET.

#include "tests/fuzz/targets.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const zyfa::fuzz::Target& target = zyfa::fuzz::find_target(ZYFA_FUZZ_TARGET);
  target.take(std::as_bytes(std::span(data, size)));
  return 0;
}
