#include "tests/fuzz/mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace zyfa::fuzz {
namespace {

constexpr std::size_t longest_piece = 64;

std::size_t below(Rng& rng, std::size_t bound) { return bound == 0 ? 0 : rng() % bound; }

std::ptrdiff_t signed_at(std::size_t at) { return static_cast<std::ptrdiff_t>(at); }

struct Piece {
  std::size_t at, size;
};

Piece piece_of(const Bytes& input, Rng& rng) {
  const std::size_t at = below(rng, input.size());
  return {at, std::min(input.size() - at, 1 + below(rng, longest_piece))};
}

Bytes copy(const Bytes& input, Piece piece) {
  return {input.begin() + signed_at(piece.at), input.begin() + signed_at(piece.at + piece.size)};
}

// Limits of the types, the file's own size and what stands there already, all one more or less.
std::uint64_t suspicious_value(std::uint64_t present, std::size_t file_bytes, Rng& rng) {
  const std::array<std::uint64_t, 10> values{0,          1,          0x7f,       0xffff,     0x7fffffff,
                                             0xffffffff, 1ull << 62, ~0ull >> 1, file_bytes, present};
  return values[below(rng, values.size())] + below(rng, 3) - 1;
}

void edit_length_field(Bytes& input, Rng& rng) {
  const std::size_t width = std::size_t{2} << below(rng, 3);
  if (input.size() < width) return;
  std::size_t at = below(rng, input.size() - width + 1);
  if (below(rng, 2)) at = at / width * width;
  std::uint64_t value = 0;
  std::memcpy(&value, input.data() + at, width);
  value = suspicious_value(value, input.size(), rng);
  std::memcpy(input.data() + at, &value, width);
}

void edit_decimal(Bytes& input, Rng& rng) {
  const auto is_digit = [](std::byte b) { return b >= std::byte{'0'} && b <= std::byte{'9'}; };
  const auto first = std::find_if(input.begin() + signed_at(below(rng, input.size())), input.end(), is_digit);
  const auto last = std::find_if_not(first, input.end(), is_digit);
  if (first == input.end()) return;
  const std::string number = fmt::format("{}", suspicious_value(below(rng, 1000), input.size(), rng));
  const auto bytes = std::as_bytes(std::span(number));
  const auto rest = input.erase(first, last);
  input.insert(rest, bytes.begin(), bytes.end());
}

void edit(Bytes& input, std::span<const Bytes> corpus, Rng& rng) {
  if (input.empty()) input.push_back(std::byte{0});
  const auto at = signed_at(below(rng, input.size()));
  switch (rng() % 9) {
    case 0:
      input[static_cast<std::size_t>(at)] ^= std::byte{1} << rng() % 8;
      break;
    case 1:
      input[static_cast<std::size_t>(at)] = static_cast<std::byte>(rng());
      break;
    case 2:
      input.resize(static_cast<std::size_t>(at));
      break;
    case 3: {
      const Piece piece = piece_of(input, rng);
      input.erase(input.begin() + signed_at(piece.at), input.begin() + signed_at(piece.at + piece.size));
      break;
    }
    case 4: {
      const Bytes doubled = copy(input, piece_of(input, rng));
      input.insert(input.begin() + at, doubled.begin(), doubled.end());
      break;
    }
    case 5:
    case 6: {
      const Bytes& other = corpus[below(rng, corpus.size())];
      const Bytes piece = copy(other, piece_of(other, rng));
      if (rng() % 2)
        input.insert(input.begin() + at, piece.begin(), piece.end());
      else
        std::copy_n(piece.begin(), std::min(signed_at(piece.size()), signed_at(input.size()) - at), input.begin() + at);
      break;
    }
    case 7:
      edit_length_field(input, rng);
      break;
    case 8:
      edit_decimal(input, rng);
      break;
  }
}

}  // namespace

Bytes mutate(Bytes input, std::span<const Bytes> corpus, Rng& rng) {
  for (std::size_t edits = 1 + below(rng, 4); edits > 0; --edits) edit(input, corpus, rng);
  return input;
}

}  // namespace zyfa::fuzz
