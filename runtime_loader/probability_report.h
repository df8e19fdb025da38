// Statistics of P as zyfa-run prints them: docs/accuracy-on-your-data.md explains each.
#pragma once

#include "runtime_loader/probability_statistics.h"

#include <nlohmann/json.hpp>

namespace zyfa::runtime {

// {source, all, heads}: counts of all query heads, and of each.
nlohmann::ordered_json probability_json(const ProbabilityStatistics& statistics);

// Lines for all heads, then the range over the heads, to stdout.
void print_probabilities(const ProbabilityStatistics& statistics);

}  // namespace zyfa::runtime
