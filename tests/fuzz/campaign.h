// The seeded driver: a number of mutated inputs through one target, the same ones every time.
#pragma once

#include "tests/fuzz/targets.h"

#include <cstdint>
#include <functional>
#include <string>

namespace zyfa::fuzz {

struct CampaignFinding {
  std::uint64_t number = 0;  // of the input
  Bytes input;
  std::string what;
};

struct Campaign {
  std::uint64_t refused = 0, trapped = 0, accepted = 0;
  std::vector<CampaignFinding> findings;  // escaped exceptions; anything worse ends the process
};

// Input i is made of one of `corpus` by the random numbers of (seed, i) alone. `before` sees each input before the
// target does, which keeps the one that ends the process.
Campaign run_campaign(const Target& target, std::span<const Bytes> corpus, std::uint64_t seed, std::uint64_t inputs,
                      const std::function<void(std::span<const std::byte>)>& before = {});

}  // namespace zyfa::fuzz
