// Every fuzz target on a fixed number of mutated inputs. Whatever comes, the end is an Error, a Trap or a result.

#include "generator/code_object.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cstring>

using namespace zyfa;

namespace {

void check(const fuzz::Campaign& campaign) {
  for (const fuzz::CampaignFinding& finding : campaign.findings) {
    CAPTURE(finding.number, finding.what);
    CHECK(false);
  }
  CHECK(campaign.refused > 0);  // damage is noticed
  // And it is not so heavy that nothing gets past the first check.
  CHECK(campaign.trapped + campaign.accepted > 0);
}

fuzz::Campaign campaign_of(std::string_view name, std::uint64_t inputs) {
  const fuzz::Target& target = fuzz::find_target(name);
  return fuzz::run_campaign(target, target.seeds(), 1, inputs);
}

}  // namespace

TEST_CASE("seeds are what their readers take", "[quick]") {
  for (const fuzz::Target& target : fuzz::targets()) {
    const std::vector<fuzz::Bytes> seeds = target.seeds();
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      CAPTURE(target.name, i);
      CHECK(target.take(seeds[i]) != fuzz::Outcome::refused);
    }
  }
}

TEST_CASE("damaged machine code is refused, traps or ends", "[quick]") { check(campaign_of("decoder", 400)); }
TEST_CASE("damaged code objects are refused, trap or end", "[quick]") { check(campaign_of("code_object", 300)); }
TEST_CASE("damaged listings are refused, trap or end", "[quick]") { check(campaign_of("text", 400)); }
TEST_CASE("damaged JSON files are refused or read", "[quick]") { check(campaign_of("json", 2000)); }
TEST_CASE("damaged tensor files are refused or read", "[quick]") { check(campaign_of("tensor", 4000)); }

TEST_CASE("random dwords as code are refused", "[quick]") {
  const fuzz::Target& target = fuzz::find_target("code_object");
  const fuzz::Bytes whole = target.seeds().back();
  const std::vector<std::byte> code = generator::read_code_object(whole, "whole.co").code;
  const auto at = std::ranges::search(whole, std::span(code).first(64)).begin() - whole.begin();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    fuzz::Rng rng(seed);
    fuzz::Bytes file = whole;
    for (std::size_t i = 0; i < code.size(); ++i)
      file[static_cast<std::size_t>(at) + i] = static_cast<std::byte>(rng());
    CHECK(target.take(file) == fuzz::Outcome::refused);  // that many never all lie in the table
  }
}

namespace {

// A reader with a planted defect: it believes the length of the record that follows its magic.
fuzz::Outcome believe_length(std::span<const std::byte> input) {
  constexpr std::size_t header_bytes = 8;
  if (input.size() < header_bytes || std::memcmp(input.data(), "ZYFA", 4) != 0) return fuzz::Outcome::refused;
  std::uint32_t length = 0;
  std::memcpy(&length, input.data() + 4, sizeof length);
  if (length > 0x10000) return fuzz::Outcome::refused;
  const std::string record(reinterpret_cast<const char*>(input.data()) + header_bytes, input.size() - header_bytes);
  return record.at(length) == '\0' ? fuzz::Outcome::trapped : fuzz::Outcome::accepted;
}

// An intact record: three letters and a zero.
std::vector<fuzz::Bytes> record_seed() {
  const std::string_view text("ZYFA\3\0\0\0abc\0", 12);
  const auto bytes = std::as_bytes(std::span(text));
  return {{bytes.begin(), bytes.end()}};
}

}  // namespace

TEST_CASE("the driver finds a planted defect within its budget, and the same input again", "[quick]") {
  const fuzz::Target target{"planted", believe_length, record_seed};
  CHECK(target.take(target.seeds().front()) == fuzz::Outcome::trapped);
  const fuzz::Campaign campaign = fuzz::run_campaign(target, target.seeds(), 1, 400);
  REQUIRE(!campaign.findings.empty());
  CHECK(campaign.findings.size() < 400);
  REQUIRE_THROWS_AS(target.take(campaign.findings.front().input), std::out_of_range);
  const fuzz::Campaign again = fuzz::run_campaign(target, target.seeds(), 1, 400);
  REQUIRE(again.findings.size() == campaign.findings.size());
  CHECK(again.findings.front().input == campaign.findings.front().input);
}
