#include "isa/text_swizzle.h"

#include "isa/text_words.h"

#include <bit>
#include <vector>

namespace zyfa::isa {
namespace {

constexpr std::uint32_t quad_permutation = 0x8000, quad_mask = 0xff00;
constexpr std::uint32_t lanes_of_group = 32;

// Lane i of 32 takes from ((i & and) | or) ^ xor.
struct BitMask {
  std::uint32_t and_bits, or_bits, xor_bits;

  explicit BitMask(std::uint32_t pattern)
      : and_bits(pattern & 31), or_bits(pattern >> 5 & 31), xor_bits(pattern >> 10 & 31) {}
  BitMask(std::uint32_t a, std::uint32_t o, std::uint32_t x) : and_bits(a), or_bits(o), xor_bits(x) {}
  std::uint32_t pattern() const { return and_bits | or_bits << 5 | xor_bits << 10; }
};

// For each bit of the lane, highest first: 0, 1, p (preserved) or i (inverted).
std::string bits_text(const BitMask& mask) {
  std::string text;
  for (std::uint32_t bit = 16; bit != 0; bit >>= 1) {
    const bool of_zero = ((mask.or_bits ^ mask.xor_bits) & bit) != 0;
    const bool of_one = (((mask.and_bits | mask.or_bits) ^ mask.xor_bits) & bit) != 0;
    text += of_zero == of_one ? (of_zero ? '1' : '0') : (of_zero ? 'i' : 'p');
  }
  return text;
}

std::optional<BitMask> to_bit_mask(std::string_view text) {
  if (text.size() != 5) return std::nullopt;
  BitMask mask{0, 0, 0};
  std::uint32_t bit = 16;
  for (const char c : text) {
    if (c == 'p' || c == 'i') mask.and_bits |= bit;
    if (c == '1') mask.or_bits |= bit;
    if (c == 'i') mask.xor_bits |= bit;
    if (c != '0' && c != '1' && c != 'p' && c != 'i') return std::nullopt;
    bit >>= 1;
  }
  return mask;
}

// The numbers between commas, each below 65; none if one isn't a number.
std::vector<std::uint32_t> numbers(std::string_view text) {
  std::vector<std::uint32_t> list;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto number = to_number_below(text.substr(0, comma), 2 * lanes_of_group + 1);
    if (!number) return {};
    list.push_back(*number);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return list;
}

}  // namespace

std::string print_swizzle(std::uint32_t pattern) {
  if ((pattern & quad_mask) == quad_permutation)
    return fmt::format("swizzle(QUAD_PERM,{},{},{},{})", pattern & 3, pattern >> 2 & 3, pattern >> 4 & 3,
                       pattern >> 6 & 3);
  if (pattern >= quad_permutation) return fmt::format("{}", pattern);
  const BitMask mask(pattern);
  if (mask.and_bits == 31 && mask.or_bits == 0) {
    if (std::has_single_bit(mask.xor_bits)) return fmt::format("swizzle(SWAP,{})", mask.xor_bits);
    if (mask.xor_bits != 0 && std::has_single_bit(mask.xor_bits + 1))
      return fmt::format("swizzle(REVERSE,{})", mask.xor_bits + 1);
  }
  const std::uint32_t group = lanes_of_group - mask.and_bits;
  if (group > 1 && std::has_single_bit(group) && mask.or_bits < group && mask.xor_bits == 0)
    return fmt::format("swizzle(BROADCAST,{},{})", group, mask.or_bits);
  return fmt::format("swizzle(BITMASK_PERM,\"{}\")", bits_text(mask));
}

// A mask whose printed bits come out the same for several encodings has the one that sets fewest bits.
std::optional<std::uint32_t> parse_swizzle(std::string_view text) {
  if (!take_brackets(text, "swizzle(", ")")) return std::nullopt;
  std::string_view name = text.substr(0, std::min(text.find(','), text.size()));
  text.remove_prefix(std::min(name.size() + 1, text.size()));
  if (name == "BITMASK_PERM") {
    if (!take_brackets(text, "\"", "\"")) return std::nullopt;
    const auto mask = to_bit_mask(text);
    return mask ? std::optional(mask->pattern()) : std::nullopt;
  }
  const std::vector<std::uint32_t> n = numbers(text);
  if (name == "QUAD_PERM" && n.size() == 4 && (n[0] | n[1] | n[2] | n[3]) < 4)
    return quad_permutation | n[0] | n[1] << 2 | n[2] << 4 | n[3] << 6;
  if (name == "SWAP" && n.size() == 1 && std::has_single_bit(n[0]) && n[0] < lanes_of_group)
    return BitMask(31, 0, n[0]).pattern();
  if (name == "REVERSE" && n.size() == 1 && std::has_single_bit(n[0]) && n[0] <= lanes_of_group && n[0] > 1)
    return BitMask(31, 0, n[0] - 1).pattern();
  if (name == "BROADCAST" && n.size() == 2 && std::has_single_bit(n[0]) && n[0] <= lanes_of_group && n[0] > 1 &&
      n[1] < n[0])
    return BitMask(lanes_of_group - n[0], n[1], 0).pattern();
  return std::nullopt;
}

}  // namespace zyfa::isa
