#include "runtime_loader/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace zyfa::runtime {

using namespace std::chrono_literals;

ProgressBar::ProgressBar(std::string label, std::uint64_t all)
    : label_(std::move(label)), all_(std::max<std::uint64_t>(all, 1)) {
  if (!isatty(STDERR_FILENO)) return;
  drawer_ = std::jthread([this](const std::stop_token& stop) {
    const auto start = std::chrono::steady_clock::now();
    bool drawn = false;
    for (int tick = 0; !stop.stop_requested(); ++tick) {
      std::this_thread::sleep_for(50ms);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds < 1 || tick % 4 != 0) continue;
      draw(seconds);
      drawn = true;
    }
    if (drawn) fmt::print(stderr, "\r\x1b[K");
  });
}

ProgressBar::~ProgressBar() = default;

void ProgressBar::draw(double seconds) const {
  constexpr int width = 40;
  const double share = std::min(1.0, static_cast<double>(done_.load()) / static_cast<double>(all_));
  const int filled = static_cast<int>(share * width);
  const std::string left = share > 0.02 ? fmt::format("{:.0f} s left", seconds * (1 - share) / share) : "";
  fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{: <{}}] {:3.0f} % {}", label_, "", filled, "", width - filled, 100 * share,
             left);
  std::fflush(stderr);
}

}  // namespace zyfa::runtime
