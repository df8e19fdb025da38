// Matrix rows. A and B are decoded once per instruction to float tiles [k][row] and [k][column]; then every
// element of D is a chain of single-rounded fused multiply-adds over k in ascending order, starting from C.
// CDNA4's internal precision is not known (gfx950.md 4); this order is the same on every host, and a machine file may
// ask for others, as for denormals to be flushed (isa/machine.h). MODE is ignored (measured on CDNA3), and so is EXEC:
// all 64 lanes take part in the product of their matrices.
#include "isa/emulator/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "isa/emulator/execute_matrix.cpp"
#include <hwy/foreach_target.h>

#include "isa/emulator/execute_parts.h"
#include "isa/emulator/lane_math.h"
#include "isa/emulator/matrix_models.h"
#include "isa/isa.h"
#include "isa/matrix_layout.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

HWY_BEFORE_NAMESPACE();
namespace zyfa::emulator::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using isa::Inst;
using isa::Operand;
using u32 = std::uint32_t;

// Decoding A and B

// Rows of isa::formats, and past them the types that have none.
enum ElementFormat { e4m3, e5m2, e2m3, e3m2, e2m1, f16, bf16, f32, f64, i32, i8 };
constexpr int format_count_f8f6f4 = 5;

constexpr int bits_of_format(int format) {
  if (format == i8) return 8;
  return format == f32 ? 32 : isa::formats[static_cast<std::size_t>(format)].width_bits();
}

// A code as float, exactly and without branches: a denormal's mantissa is put behind a leading 1 that is then
// taken away again.
template <int format>
HWY_INLINE float decode_code(u32 code) {
  if constexpr (format == f32) return float_of(code);
  if constexpr (format == bf16) return float_of(code << 16);
  constexpr isa::Format f = isa::formats[format == f32 ? 0 : format];
  const u32 magnitude = (code & (f.sign_bit() - 1)) << (23 - f.mantissa_bits);
  const u32 sign = (code & f.sign_bit()) << (31 - f.exponent_bits - f.mantissa_bits);
  constexpr u32 first_normal = static_cast<u32>(128 - f.bias) << 23;
  const u32 normal = magnitude + (static_cast<u32>(127 - f.bias) << 23);
  const u32 denormal = bits_of(float_of(magnitude | first_normal) - float_of(first_normal));
  u32 value = magnitude < 0x00800000U ? denormal : normal;
  constexpr u32 infinity = f.exponent_mask() << (23 - f.mantissa_bits);
  if constexpr (f.nan_kind == isa::NanKind::ieee) value = magnitude >= infinity ? magnitude | 0x7f800000U : value;
  if constexpr (f.nan_kind == isa::NanKind::all_ones)
    value = (code & (f.sign_bit() - 1)) == f.sign_bit() - 1 ? 0x7fc00000U : value;
  return float_of(value | sign);
}

// One operand into tile[k][row]. Element j of all lanes of a group has one k, and the lanes of a group are
// the rows in order, so that both the reading and the writing side of the inner loop are contiguous.
template <int format, int width, int k>
void decode_tile(const Wave& wave, const Operand& operand, float* HWY_RESTRICT tile) {
  constexpr int bits = bits_of_format(format);
  constexpr u32 mask = bits == 32 ? ~0U : (1U << (bits % 32)) - 1;
  constexpr isa::MatrixSourceLayout layout = isa::matrix_source_layout(width, k, bits);
  for (int j = 0; j < layout.elements; ++j) {
    const int first_bit = j * bits;
    const int shift = first_bit % 32;
    const bool straddles = shift + bits > 32;
    const u32* HWY_RESTRICT low = wave.lanes_of(operand, first_bit / 32).data();
    const u32* HWY_RESTRICT high = wave.lanes_of(operand, first_bit / 32 + straddles).data();
    for (int group = 0; group < layout.groups; ++group) {
      float* HWY_RESTRICT to = tile + layout.k(group, j) * width;
      for (int row = 0; row < width; ++row) {
        const int lane = group * width + row;
        u32 code = low[lane] >> shift;
        if (straddles) code |= high[lane] << (32 - shift);
        to[row] = decode_code<format>(code & mask);
      }
    }
  }
}

using DecodeTile = void (*)(const Wave&, const Operand&, float*);

// The f8f6f4 instructions choose among their formats at run time (cbsz for A, blgp for B).
template <int width, int k>
void decode_f8f6f4(const Wave& wave, const Operand& operand, int format, float* tile) {
  static constexpr DecodeTile decoders[format_count_f8f6f4] = {decode_tile<e4m3, width, k>, decode_tile<e5m2, width, k>,
                                                               decode_tile<e2m3, width, k>, decode_tile<e3m2, width, k>,
                                                               decode_tile<e2m1, width, k>};
  if (format >= format_count_f8f6f4) throw Error("matrix format {} is none of 0..4 (cbsz, blgp)", format);
  decoders[format](wave, operand, tile);
}

// The product

// tile_d[row][column] += sum over `depth` k of a[k][row] * b[k][column], each step rounded once.
#if HWY_NATIVE_FMA
template <int width>
void accumulate(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int depth, float* HWY_RESTRICT tile_d) {
  const hn::CappedTag<float, width> tag;
  constexpr int vector = static_cast<int>(hn::MaxLanes(tag));
  constexpr int columns = std::min(2, width / vector);  // of vectors: the accumulators must fit the register file,
  constexpr int rows = HWY_MAX_BYTES >= 64 ? 8 : 4;     // and be many enough to cover the latency of an addition
  for (int row = 0; row < width; row += rows) {
    for (int column = 0; column < width; column += columns * vector) {
      hn::Vec<decltype(tag)> sum[rows][columns];
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) sum[i][j] = hn::LoadU(tag, tile_d + (row + i) * width + column + j * vector);
      for (int k = 0; k < depth; ++k) {
        const float* a_row = a + k * width + row;
        const float* b_row = b + k * width + column;
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < columns; ++j)
            sum[i][j] = hn::MulAdd(hn::Set(tag, a_row[i]), hn::LoadU(tag, b_row + j * vector), sum[i][j]);
      }
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) hn::StoreU(sum[i][j], tag, tile_d + (row + i) * width + column + j * vector);
    }
  }
}
#else
// Without the instruction, the C library's function: Highway's MulAdd would round twice.
template <int width>
void accumulate(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int depth, float* HWY_RESTRICT tile_d) {
  for (int row = 0; row < width; ++row)
    for (int k = 0; k < depth; ++k)
      for (int column = 0; column < width; ++column)
        tile_d[row * width + column] =
            fused_multiply_add(a[k * width + row], b[k * width + column], tile_d[row * width + column]);
}
#endif

// Groups in which models sum products: 8 k of 16 bits, twice as many of 8 bits and less (MMASIM on CDNA3).
constexpr int group_of(int format) { return bits_of_format(format) >= 16 ? 8 : 16; }

// What a machine that flushes denormals makes of them. Formats of 8 bits and less keep theirs: nothing says otherwise.
HWY_INLINE float without_denormal_of(int format, float x) {
  return without_denormal(x, format == f16 ? 0x1p-14f : 0x1p-126f);
}
void flush_tile(const Wave& wave, int format, float* tile, int count) {
  if (HWY_LIKELY(wave.numerics.mfma_denormals == isa::MfmaDenormals::kept) || bits_of_format(format) < 16) return;
  for (int i = 0; i < count; ++i) tile[i] = without_denormal_of(format, tile[i]);
}

// accumulate(), or what the machine does instead.
template <int width>
void sum_products(const Wave& wave, const float* a, const float* b, int depth, int group, float* tile_d) {
  if (HWY_LIKELY(wave.numerics.mfma_accumulation == isa::MfmaAccumulation::fma_chain))
    return accumulate<width>(a, b, depth, tile_d);
  for (int row = 0; row < width; ++row)
    for (int column = 0; column < width; ++column) {
      float& d = tile_d[row * width + column];
      d = modelled_sum(wave.numerics.mfma_accumulation, {a + row, b + column, width, width, depth, group}, d);
    }
}

template <int width, class T>
void load_c(const Wave& wave, const Operand& operand, T* tile) {
  if (!operand.is_register() || operand.kind == isa::OperandKind::sgpr) {
    std::fill_n(tile, width * width, std::bit_cast<T>(scalar_source(wave, operand)));
    return;
  }
  for (int r = 0; r < width * width / 64; ++r)
    for (int group = 0; group < 64 / width; ++group)
      std::memcpy(tile + isa::accumulator_row(width, group, r) * width,
                  wave.lanes_of(operand, r).data() + group * width, width * sizeof(T));
}

// NaN results are one NaN: payloads differ between hosts, and AMD documents none.
template <int width>
void store_d(Wave& wave, const Operand& operand, const float* tile) {
  for (int r = 0; r < width * width / 64; ++r)
    for (int group = 0; group < 64 / width; ++group) {
      const float* from = tile + isa::accumulator_row(width, group, r) * width;
      u32* to = wave.lanes_of(operand, r).data() + group * width;
      for (int column = 0; column < width; ++column)
        to[column] = from[column] == from[column] ? bits_of(from[column]) : 0x7fc00000U;
    }
}

// Scale bytes of one operand's rows for a block of 32 k: register lane block * width + row, byte picked by
// two bits of the instruction (gfx950.md 3). As double, because the product of two leaves the range of float.
// 255 is NaN.
template <int width>
void load_scales(const Wave& wave, const Operand& operand, int byte, int block, double* scale) {
  const bool is_vector = operand.kind == isa::OperandKind::vgpr || operand.kind == isa::OperandKind::agpr;
  for (int row = 0; row < width; ++row) {
    const auto lane = static_cast<std::size_t>(block * width + row);
    const u32 word = is_vector ? wave.lanes_of(operand)[lane] : scalar_source(wave, operand);
    const u32 exponent = (word >> (8 * byte)) & 0xff;
    scale[row] = exponent == 255 ? std::numeric_limits<double>::quiet_NaN()
                                 : power_of_two(static_cast<std::int64_t>(exponent) - 127);
  }
}

// tile_d += dot scaled. In double, unless all products of two scales are normal floats: then float rounds the same, as
// a product with a power of two is inexact only where it is denormal, and that once.
template <int width>
void add_scaled(const float* dot, const double* scale_a, const double* scale_b, float* HWY_RESTRICT tile_d) {
  const auto [least_a, largest_a] = std::minmax_element(scale_a, scale_a + width);
  const auto [least_b, largest_b] = std::minmax_element(scale_b, scale_b + width);
  const bool is_nan =
      std::isnan(std::accumulate(scale_b, scale_b + width, std::accumulate(scale_a, scale_a + width, 0.0)));
  const bool fits = !is_nan && *least_a * *least_b >= 0x1p-126 && *largest_a * *largest_b <= 0x1p127;
  float columns[width];
  std::copy_n(scale_b, width, columns);
  for (int row = 0; row < width; ++row) {
    const float* HWY_RESTRICT from = dot + row * width;
    float* HWY_RESTRICT to = tile_d + row * width;
    const auto factor = static_cast<float>(scale_a[row]);
    if (HWY_LIKELY(fits))
      for (int column = 0; column < width; ++column) to[column] += from[column] * (factor * columns[column]);
    else
      for (int column = 0; column < width; ++column)
        to[column] += static_cast<float>(from[column] * (scale_a[row] * scale_b[column]));
  }
}

// D = C + sum over blocks of 2^(sa + sb - 254) * (the block's own chain from zero): scales apply to the dot
// product of a block before it is accumulated (gfx950.md 3).
template <int width>
void accumulate_scaled(const Wave& wave, const Inst& inst, const float* a, const float* b, int depth, float* tile_d) {
  const int select_low = inst.mods.op_sel;
  const int select_high = isa::op_sel_hi(inst);
  for (int block = 0; block < depth / isa::scale_block_k; ++block) {
    double scale_a[width];
    double scale_b[width];
    load_scales<width>(wave, inst.args[4], (select_low & 1) + 2 * (select_high & 1), block, scale_a);
    load_scales<width>(wave, inst.args[5], (select_low >> 1 & 1) + 2 * (select_high >> 1 & 1), block, scale_b);
    alignas(64) float dot[width * width] = {};
    const int first = block * isa::scale_block_k * width;
    sum_products<width>(wave, a + first, b + first, isa::scale_block_k, 16, dot);
    add_scaled<width>(dot, scale_a, scale_b, tile_d);
  }
}

// D = A B + C of decoded tiles; A and B may lose their denormals on the way.
template <int width, int k, int format_a, int format_b>
void multiply_tiles(Wave& wave, float* a, float* b, const Operand& operand_c, const Operand& operand_d) {
  alignas(64) float d[width * width];
  load_c<width>(wave, operand_c, d);
  flush_tile(wave, format_a, a, k * width);
  flush_tile(wave, format_b, b, k * width);
  flush_tile(wave, f32, d, width * width);
  sum_products<width>(wave, a, b, k, group_of(format_a), d);
  flush_tile(wave, f32, d, width * width);
  store_d<width>(wave, operand_d, d);
}

template <int width, int k, int format_a, int format_b>
void mfma(Wave& wave, const Inst& inst) {
  if (format_a == f32 && inst.mods.blgp != 0) return execute_blocks(wave, inst);
  alignas(64) float a[k * width];
  alignas(64) float b[k * width];
  decode_tile<format_a, width, k>(wave, inst.args[1], a);
  decode_tile<format_b, width, k>(wave, inst.args[2], b);
  multiply_tiles<width, k, format_a, format_b>(wave, a, b, inst.args[3], inst.args[0]);
}

// Signed bytes, sums modulo 2^32 (CDNA4 ISA 7: integer MFMA wraps). B is widened to 32 bits for the inner loop.
template <int width, int k>
void decode_bytes(const Wave& wave, const Operand& operand, std::int32_t* HWY_RESTRICT tile) {
  constexpr isa::MatrixSourceLayout layout = isa::matrix_source_layout(width, k, 8);
  for (int j = 0; j < layout.elements; ++j) {
    const u32* HWY_RESTRICT words = wave.lanes_of(operand, j / 4).data();
    for (int group = 0; group < layout.groups; ++group) {
      std::int32_t* HWY_RESTRICT to = tile + layout.k(group, j) * width;
      for (int row = 0; row < width; ++row)
        to[row] = static_cast<std::int32_t>(words[group * width + row] << (24 - 8 * (j % 4))) >> 24;
    }
  }
}

// As accumulate() and load_c() with store_d(), in integers.
template <int width, int k>
void multiply_bytes(Wave& wave, const Inst& inst, const std::int32_t* HWY_RESTRICT a,
                    const std::int32_t* HWY_RESTRICT b) {
  alignas(64) u32 d[width * width];
  load_c<width>(wave, inst.args[static_cast<std::size_t>(isa::accumulator_argument(inst))], d);
  for (int i = 0; i < k; ++i)
    for (int row = 0; row < width; ++row)
      for (int column = 0; column < width; ++column)
        d[row * width + column] += static_cast<u32>(a[i * width + row] * b[i * width + column]);
  for (int r = 0; r < width * width / 64; ++r)
    for (int group = 0; group < 64 / width; ++group)
      std::memcpy(wave.lanes_of(inst.args[0], r).data() + group * width,
                  d + isa::accumulator_row(width, group, r) * width, width * sizeof(u32));
}

template <int width, int k>
void mfma_i8(Wave& wave, const Inst& inst) {
  alignas(64) std::int32_t a[k * width];
  alignas(64) std::int32_t b[k * width];
  decode_bytes<width, k>(wave, inst.args[1], a);
  decode_bytes<width, k>(wave, inst.args[2], b);
  multiply_bytes<width, k>(wave, inst, a, b);
}

// The sparse A, spread over a tile of zeros. Two elements that an index puts at the same k are added, which is what
// their two products with B's element come to.
template <int format, int width, int k, class T>
void decode_sparse(const Wave& wave, const Inst& inst, T* tile) {
  constexpr int bits = bits_of_format(format);
  constexpr isa::SparseLayout layout = isa::sparse_layout(width, k);
  const int first_index_bit = layout.first_index_bit(inst.mods.cbsz, inst.mods.abid);
  std::fill_n(tile, k * width, T{});
  for (int lane = 0; lane < lanes; ++lane) {
    const auto l = static_cast<std::size_t>(lane);
    const u32 index = wave.lanes_of(inst.args[3])[l] >> first_index_bit;
    for (int t = 0; t < layout.stored; ++t) {
      const u32 code = wave.lanes_of(inst.args[1], t * bits / 32)[l] >> (t * bits % 32) & ((1U << bits) - 1);
      if (code == 0) continue;  // kernels sum rows with few ones
      T& to = tile[layout.k(lane / width, t, static_cast<int>(index >> (2 * t) & 3)) * width + lane % width];
      if constexpr (format == i8)
        to += static_cast<std::int8_t>(code);
      else
        to += decode_code<format>(code);
    }
  }
}

template <int width, int k, int format_a, int format_b>
void smfmac(Wave& wave, const Inst& inst) {
  if constexpr (format_a == i8) {
    alignas(64) std::int32_t a[k * width];
    alignas(64) std::int32_t b[k * width];
    decode_sparse<i8, width, k>(wave, inst, a);
    decode_bytes<width, k>(wave, inst.args[2], b);
    multiply_bytes<width, k>(wave, inst, a, b);
  } else {
    alignas(64) float a[k * width];
    alignas(64) float b[k * width];
    decode_sparse<format_a, width, k>(wave, inst, a);
    decode_tile<format_b, width, k>(wave, inst.args[2], b);
    multiply_tiles<width, k, format_a, format_b>(wave, a, b, inst.args[0], inst.args[0]);
  }
}

template <int width, int k, bool scaled>
void mfma_f8f6f4(Wave& wave, const Inst& inst) {
  alignas(64) float a[k * width];
  alignas(64) float b[k * width];
  alignas(64) float d[width * width];
  decode_f8f6f4<width, k>(wave, inst.args[1], inst.mods.cbsz, a);
  decode_f8f6f4<width, k>(wave, inst.args[2], inst.mods.blgp, b);
  load_c<width>(wave, inst.args[3], d);
  flush_tile(wave, f32, d, width * width);
  if constexpr (scaled)
    accumulate_scaled<width>(wave, inst, a, b, k, d);
  else
    sum_products<width>(wave, a, b, k, group_of(e4m3), d);
  flush_tile(wave, f32, d, width * width);
  store_d<width>(wave, inst.args[0], d);
}

template <int width, int k, int blocks, int format_cd, int format_a, int format_b>
constexpr Execute mfma_function() {
  if constexpr (blocks > 1 || format_cd == f64)
    return execute_blocks;
  else if constexpr (format_cd == i32)
    return mfma_i8<width, k>;
  else
    return mfma<width, k, format_a, format_b>;
}

// clang-format off
constexpr Execute functions[] = {
#define INSTRUCTION(name) nullptr,
#define MFMA(name, CD, A, B, M, N, K, blocks, passes) mfma_function<M, K, blocks, CD, A, B>(),
#define SMFMAC(name, CD, A, B, M, N, K, passes) smfmac<M, K, A, B>,
#define F8F6F4(name, M, N, K, p8, p4) mfma_f8f6f4<M, K, false>,
#define F8F6F4_SCALED(name, M, N, K, p8, p4) mfma_f8f6f4<M, K, true>,
#include "isa/gfx950.def"
};
// Square matrices are all that the table has, and all that the functions above take.
#define MFMA(name, CD, A, B, M, N, K, blocks, passes) static_assert(M == N);
#define SMFMAC(name, CD, A, B, M, N, K, passes) static_assert(M == N);
#define F8F6F4(name, M, N, K, p8, p4) static_assert(M == N);
#define F8F6F4_SCALED(name, M, N, K, p8, p4) static_assert(M == N);
#include "isa/gfx950.def"
// clang-format on
static_assert(std::size(functions) == static_cast<std::size_t>(isa::Op::count));

Execute matrix_function(isa::Op op) { return functions[static_cast<std::size_t>(op)]; }

}  // namespace zyfa::emulator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zyfa::emulator {

HWY_EXPORT(matrix_function);

Execute find_matrix(isa::Op op) { return HWY_DYNAMIC_DISPATCH(matrix_function)(op); }

}  // namespace zyfa::emulator
#endif
