#include "runtime_loader/probability_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace zyfa::runtime {
namespace {

constexpr int e8m0_bias = 127;

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

double zero_share(const ProbabilityCounts& c) { return share(c.zeros(), c.all_codes()); }
double zero_block_share(const ProbabilityCounts& c) { return share(c.zero_blocks, c.blocks); }
double moves_of_a_row(const ProbabilityCounts& c) { return share(c.moves, c.rows); }

struct Shifts {
  std::uint64_t rows = 0;  // of blocks
  int least = 0, median = 0, largest = 0;
  std::vector<std::pair<int, std::uint64_t>> histogram;  // octaves, rows of blocks; those that occur
};

Shifts shifts_of(const ProbabilityCounts& counts) {
  Shifts shifts;
  shifts.rows = std::accumulate(counts.shifts.begin(), counts.shifts.end(), std::uint64_t{0});
  std::uint64_t below = 0;
  for (int i = 0; i < 256; ++i) {
    const std::uint64_t rows = counts.shifts[static_cast<std::size_t>(i)];
    if (rows == 0) continue;
    const int octaves = i - e8m0_bias;
    if (below == 0) shifts.least = octaves;
    if (2 * below < shifts.rows) shifts.median = octaves;
    shifts.largest = octaves;
    below += rows;
    shifts.histogram.emplace_back(octaves, rows);
  }
  return shifts;
}

nlohmann::ordered_json counts_json(const ProbabilityCounts& c) {
  const std::uint64_t codes = c.all_codes();
  nlohmann::ordered_json json = {{"codes", codes},
                                 {"zero", zero_share(c)},
                                 {"subnormal", share(c.subnormals(), codes)},
                                 {"saturated", share(c.saturated(), codes)},
                                 {"largest_code", c.largest_code()},
                                 {"blocks", c.blocks},
                                 {"zero_blocks", zero_block_share(c)},
                                 {"skipped_blocks", share(c.skipped_blocks, c.blocks)},
                                 {"shifts", nullptr},
                                 {"references",
                                  {{"rows", c.rows},
                                   {"moves", c.moves},
                                   {"moves_per_row", moves_of_a_row(c)},
                                   {"most_of_a_row", c.most_moves},
                                   {"later_tiles", c.later_tiles},
                                   {"rising_tiles", share(c.rising_tiles, c.later_tiles)}}}};
  const Shifts shifts = shifts_of(c);
  if (shifts.rows == 0) return json;
  nlohmann::ordered_json histogram = nlohmann::ordered_json::array();
  for (const auto& [octaves, rows] : shifts.histogram) histogram.push_back({{"octaves", octaves}, {"rows", rows}});
  json["shifts"] = {{"rows", shifts.rows},
                    {"min", shifts.least},
                    {"median", shifts.median},
                    {"max", shifts.largest},
                    {"histogram", std::move(histogram)}};
  return json;
}

void print_range(const char* name, const std::vector<ProbabilityCounts>& heads,
                 double (*value)(const ProbabilityCounts&)) {
  const auto [least, most] = std::ranges::minmax_element(heads, {}, value);
  fmt::print("  by head     {} {:.3g} (head {}) .. {:.3g} (head {})\n", name, value(*least), least - heads.begin(),
             value(*most), most - heads.begin());
}

}  // namespace

nlohmann::ordered_json probability_json(const ProbabilityStatistics& statistics) {
  nlohmann::ordered_json heads = nlohmann::ordered_json::array();
  for (std::size_t head = 0; head < statistics.heads.size(); ++head) {
    nlohmann::ordered_json json = {{"head", head}};
    json.update(counts_json(statistics.heads[head]));
    heads.push_back(std::move(json));
  }
  return {{"source", "observed in the kernel's registers"},
          {"all", counts_json(statistics.all())},
          {"heads", std::move(heads)}};
}

void print_probabilities(const ProbabilityStatistics& statistics) {
  const ProbabilityCounts c = statistics.all();
  const std::uint64_t codes = c.all_codes();
  fmt::print("P          {} codes: {:.3g} zero, {:.3g} subnormal, {:.3g} saturated; the largest is {}\n", codes,
             zero_share(c), share(c.subnormals(), codes), share(c.saturated(), codes), c.largest_code());
  fmt::print("  blocks      {} of 64 keys x 32 queries: {:.3g} all zero, {:.3g} left out\n", c.blocks,
             zero_block_share(c), share(c.skipped_blocks, c.blocks));
  if (const Shifts shifts = shifts_of(c); shifts.rows > 0)
    fmt::print("  shifts      {} .. {} octaves, median {}\n", shifts.least, shifts.largest, shifts.median);
  fmt::print("  references  {:.3g} moves a row, {} at most; in {:.3g} of the waves' tiles\n", moves_of_a_row(c),
             c.most_moves, share(c.rising_tiles, c.later_tiles));
  if (statistics.heads.size() < 2) return;
  print_range("zero", statistics.heads, zero_share);
  print_range("all-zero blocks", statistics.heads, zero_block_share);
  print_range("moves a row", statistics.heads, moves_of_a_row);
}

}  // namespace zyfa::runtime
