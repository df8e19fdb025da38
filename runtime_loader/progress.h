// A progress bar on the terminal for work over a second. Nothing is written where the error stream is not a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace zyfa::runtime {

class ProgressBar {
 public:
  // `label` names the work; `all` is how many steps it has.
  ProgressBar(std::string label, std::uint64_t all);
  ~ProgressBar();  // wipes the bar
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Steps finished so far; workers count it up.
  std::atomic<std::int64_t>& done() { return done_; }

 private:
  void draw(double seconds) const;

  std::string label_;
  std::uint64_t all_;
  std::atomic<std::int64_t> done_ = 0;
  std::jthread drawer_;
};

}  // namespace zyfa::runtime
