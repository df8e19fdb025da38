#include "tests/fuzz/campaign.h"

#include "tests/fuzz/mutate.h"

#include <exception>

namespace zyfa::fuzz {

Campaign run_campaign(const Target& target, std::span<const Bytes> corpus, std::uint64_t seed, std::uint64_t inputs,
                      const std::function<void(std::span<const std::byte>)>& before) {
  Campaign campaign;
  for (std::uint64_t i = 0; i < inputs; ++i) {
    std::seed_seq numbers{seed, i};
    Rng rng(numbers);
    const Bytes input = mutate(corpus[rng() % corpus.size()], corpus, rng);
    if (before) before(input);
    try {
      const Outcome outcome = target.take(input);
      ++(outcome == Outcome::refused   ? campaign.refused
         : outcome == Outcome::trapped ? campaign.trapped
                                       : campaign.accepted);
    } catch (const std::exception& escaped) {
      campaign.findings.push_back({i, input, escaped.what()});
    }
  }
  return campaign;
}

}  // namespace zyfa::fuzz
