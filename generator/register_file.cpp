#include "generator/register_file.h"

#include "isa/error.h"

#include <algorithm>

namespace zyfa::generator {

std::string NamedRegisters::text() const {
  if (count == 1) return fmt::format("{}{}", file, first);
  return fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

RegisterFile::RegisterFile(char kind, int size) : kind_(kind), taken_(static_cast<std::size_t>(size), false) {}

int RegisterFile::allocate(int count, int alignment, std::string_view name) {
  const int size = static_cast<int>(taken_.size());
  for (int first = 0; first + count <= size; first += alignment) {
    const auto begin = taken_.begin() + first;
    if (std::none_of(begin, begin + count, [](bool taken) { return taken; })) {
      take(first, count, name);
      return first;
    }
  }
  throw Error("no {} consecutive {} registers left for '{}'; taken: {}", count, kind_, name, map());
}

void RegisterFile::claim(int first, int count, std::string_view name) {
  const int size = static_cast<int>(taken_.size());
  const auto begin = taken_.begin() + first;
  if (first < 0 || first + count > size || std::any_of(begin, begin + count, [](bool taken) { return taken; }))
    throw Error("registers {}[{}:{}] are not free for '{}'; taken: {}", kind_, first, first + count - 1, name, map());
  take(first, count, name);
}

void RegisterFile::take(int first, int count, std::string_view name) {
  std::fill_n(taken_.begin() + first, count, true);
  live_.push_back({kind_, first, count, std::string(name)});
  history_.push_back(live_.back());
  peak_ = std::max(peak_, first + count);
}

void RegisterFile::release_to(std::size_t mark) {
  while (live_.size() > mark) {
    std::fill_n(taken_.begin() + live_.back().first, live_.back().count, false);
    live_.pop_back();
  }
}

std::string RegisterFile::map() const {
  std::string text;
  for (const NamedRegisters& range : live_)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", range.text(), range.name);
  return text;
}

}  // namespace zyfa::generator
