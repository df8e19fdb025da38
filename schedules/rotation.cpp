#include "schedules/rotation.h"

#include <utility>

namespace zyfa::schedules {
namespace {

constexpr std::uint32_t upper_half = 0xffff0000;
constexpr std::size_t exchanged_bit = 3;  // of the registers, element 0 being bit 0

constexpr std::uint8_t second_source = 2;  // in op_sel and neg

// Elements a and b of a pair become a + b and a - b.
void add_within_pairs(Builder& k, const Elements& x) {
  for (const V<2> pair : x.pairs)
    k.v_pk_add_f32(pair, pair, pair, {.op_sel = second_source, .op_sel_hi = second_source, .neg_hi = second_source});
}

// The same of pairs that differ in a bit of their number.
void add_pairs(Builder& k, Elements& x, std::size_t bit) {
  const std::size_t distance = std::size_t{1} << bit;
  for (std::size_t i = 0; i < x.pairs.size(); ++i) {
    if ((i & distance) != 0) continue;
    V<2>&a = x.pairs[i], &b = x.pairs[i + distance];
    k.v_pk_add_f32(x.spare, a, b);
    k.v_pk_add_f32(b, a, b, {.neg_lo = second_source, .neg_hi = second_source});
    std::swap(a, x.spare);
  }
}

// A bit of the registers' number trades places with bit 5, or 4, of the lane's.
enum class LaneBit { bit4, bit5 };
void trade(Builder& k, const std::vector<V<1>>& registers, std::size_t bit, LaneBit lane_bit) {
  const std::size_t distance = std::size_t{1} << bit;
  k.settle();
  for (std::size_t i = 0; i < registers.size(); ++i) {
    if ((i & distance) != 0) continue;
    if (lane_bit == LaneBit::bit5)
      k.v_permlane32_swap_b32(registers[i], registers[i + distance]);
    else
      k.v_permlane16_swap_b32(registers[i], registers[i + distance]);
  }
}

std::vector<V<1>> registers_of(const Elements& x) {
  std::vector<V<1>> registers;
  for (const V<2> pair : x.pairs) registers.insert(registers.end(), {pair[0], pair[1]});
  return registers;
}

}  // namespace

Elements make_elements(Builder& k, int block) {
  constexpr int lanes = 4;
  Elements x;
  for (int i = 0; i < block / lanes / 2; ++i) x.pairs.push_back(k.vgpr<2>("two elements"));
  x.spare = k.vgpr<2>("two elements");
  return x;
}

void unpack(Builder& k, const std::vector<V<1>>& raw, const Elements& x) {
  for (std::size_t i = 0; i < raw.size(); ++i) {
    k.v_lshlrev_b32(x.pairs[i][0], 16, raw[i]);
    k.v_and_b32(x.pairs[i][1], upper_half, raw[i]);
  }
}

void exchange(Builder& k, const std::vector<V<1>>& raw) {
  trade(k, raw, exchanged_bit - 1, LaneBit::bit5);
  trade(k, raw, exchanged_bit - 1, LaneBit::bit4);
}

void rotate(Builder& k, Elements& x) {
  add_within_pairs(k, x);
  for (std::size_t bit = 0; (std::size_t{1} << bit) < x.pairs.size(); ++bit) add_pairs(k, x, bit);
  for (const LaneBit lane_bit : {LaneBit::bit5, LaneBit::bit4}) {
    trade(k, registers_of(x), exchanged_bit, lane_bit);
    add_pairs(k, x, exchanged_bit - 1);
  }
}

}  // namespace zyfa::schedules
