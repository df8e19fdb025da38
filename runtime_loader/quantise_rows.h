// Real rows to e4m3 codes with one scale per (batch, kv head).
// Invariant: code * descale is the value, rounded once to e4m3; the largest magnitude of a head becomes code
// 448, unless a larger descale was chosen.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace zyfa::runtime {

// A tensor (batch, rows, heads, dim) whose heads share scales in groups of heads / kv_heads.
struct RowsShape {
  int batch, rows, heads, kv_heads, dim;
};

// Writes the `dim` values of one row. Called twice per row, from several threads.
using RowValues = std::function<void(int batch, int row, int head, std::span<float> values)>;

struct QuantisedRows {
  std::vector<std::uint8_t> codes;  // (batch, rows, heads, dim)
  std::vector<float> descales;      // (batch, kv_heads): amax / 448, or 1 where a head is empty or all zero
};

// Takes the descale of a (batch, kv head) that is best, its index, and returns one at least as large.
using DescaleChoice = std::function<float(float descale, std::size_t index)>;

QuantisedRows quantise_rows(const RowsShape& shape, int threads, const RowValues& values,
                            const DescaleChoice& choose = {});

// The same rows, each value rounded to BF16.
std::vector<std::uint16_t> bf16_rows(const RowsShape& shape, int threads, const RowValues& values);

}  // namespace zyfa::runtime
