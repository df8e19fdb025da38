// What a command says to what it does not take.
#pragma once

#include "tests/support/catch.h"
#include "tests/support/process.h"

#include <algorithm>
#include <string>
#include <vector>

namespace zyfa {

// One line on stderr that starts with "error: " and holds all of `words`; nothing on stdout.
inline void check_refused(const ProcessResult& result, const std::vector<std::string>& words) {
  CAPTURE(result.exit_code, result.out, result.err);
  CHECK(result.exit_code != 0);
  CHECK(result.exit_code < 128);
  CHECK(result.out.empty());
  CHECK(result.err.starts_with("error: "));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(result.err.find(word) != std::string::npos);
  }
}

}  // namespace zyfa
