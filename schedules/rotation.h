// Rows of BF16 elements as fp32 in registers, and their Walsh-Hadamard transform. Four lanes l, l+16, l+32, l+48 share
// a row. Of a block of 128 elements (64 likewise, without bit 6 of its number) they have
//
//   as loaded      lane bits: bits 3 and 4 of the element's number; registers: bits 0, 1, 2, 5, 6
//   as stored      lane bits: bits 4 and 5;                         registers: bits 0, 1, 2, 3, 6
//
// so that 16 bytes of a lane are neighbours in memory both as BF16 and as e4m3, and four lanes' 64 bytes. Going from
// one to the other passes every bit through the registers, where it is transformed.
#pragma once

#include "generator/builder.h"

#include <vector>

namespace zyfa::schedules {

using generator::Builder;
using generator::V;

// Pairs of elements that differ in bit 0, in the order of their other register bits; `spare` holds none.
struct Elements {
  std::vector<V<2>> pairs;
  V<2> spare;
};

// Registers for a block of so many elements to each four lanes: 128 or 64.
Elements make_elements(Builder& k, int block);

// Elements from BF16 as loaded, two to a register.
void unpack(Builder& k, const std::vector<V<1>>& raw, const Elements& x);

// From as loaded to as stored, while they are BF16 still.
void exchange(Builder& k, const std::vector<V<1>>& raw);

// The block times a matrix of 1 and -1 (so the result is sqrt(block) times the orthonormal one's), and from as loaded
// to as stored. Sums and differences in fp32, a + b and a - b of elements that differ in one bit of their number, a the
// one without it: first bit 0, then 1, 2, 5, 6, 4, 3.
void rotate(Builder& k, Elements& x);

}  // namespace zyfa::schedules
