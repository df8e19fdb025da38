// What conversions, packs and matrix sums come to.
#include "schedules/probes/groups.h"
#include "schedules/probes/value_kernel.h"

#include <bit>

namespace zyfa::schedules {
namespace {

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// v_cvt_pk_u8_f32: halves, and what lies outside.
constexpr float u8_inputs[] = {0.5f, 1.5f, 2.5f, 0.75f, 254.5f, 255.5f, 300.0f, -1.0f};
constexpr std::array<std::uint32_t, 8> u8_nearest{0, 2, 2, 1, 254, 255, 255, 0},
    u8_truncated{0, 1, 2, 0, 254, 255, 255, 0};

void emit_u8(ValueKernel& kernel) {
  Builder& k = kernel.k;
  const V<1> x = k.vgpr("x"), code = k.vgpr("code");
  for (const float input : u8_inputs) {
    k.v_mov_b32(x, bits(input));
    k.v_cvt_pk_u8_f32(code, x, 0, 0);
    kernel.store(code);
  }
}

Findings evaluate_u8(Words words) {
  std::array<std::uint32_t, 8> found{};
  for (int i = 0; i < 8; ++i) found[static_cast<std::size_t>(i)] = first_lane(words, i);
  Findings findings;
  if (found == u8_nearest) findings.answers.push_back({"cvt_pk_u8_rounding", "nearest_even"});
  if (found == u8_truncated) findings.answers.push_back({"cvt_pk_u8_rounding", "truncate"});
  findings.facts.push_back(
      {fmt::format("v_cvt_pk_u8_f32 of {}", fmt::join(u8_inputs, " ")), fmt::format("{}", fmt::join(found, " ")), ""});
  return findings;
}

// Registers of a BF16 32x32x16 of which one element each counts: k = 0 of lanes 0..31, in the low half of the first.
struct Bf16Matrix {
  V<4> a, b;
  V<16> c, d;

  explicit Bf16Matrix(Builder& k) : a(k.vgpr<4>("A")), b(k.vgpr<4>("B")), c(k.vgpr<16>("C")), d(k.vgpr<16>("D")) {}

  // Stores D[0][0] of a product of these first dwords of A and B, all else zero.
  void store(ValueKernel& kernel, std::array<std::uint32_t, 2> a_dwords, std::array<std::uint32_t, 2> b_dwords,
             std::uint32_t addend) const {
    Builder& k = kernel.k;
    for (int i = 0; i < 4; ++i) {
      k.v_mov_b32(a[i], 0);
      k.v_mov_b32(b[i], 0);
    }
    for (int i = 0; i < 16; ++i) k.v_mov_b32(c[i], addend);
    kernel.only_lanes(0, 32);
    for (int i = 0; i < 2; ++i) {
      k.v_mov_b32(a[i], a_dwords[static_cast<std::size_t>(i)]);
      k.v_mov_b32(b[i], b_dwords[static_cast<std::size_t>(i)]);
    }
    kernel.every_lane();
    k.settle();
    k.v_mfma_f32_32x32x16_bf16(d, a, b, c);
    kernel.store(d[0]);
  }
};

constexpr std::uint32_t bf16_power(int exponent) { return static_cast<std::uint32_t>(127 + exponent) << 7; }
constexpr std::uint32_t bf16_one = bf16_power(0), bf16_sign = 0x8000;
constexpr std::uint32_t pair(std::uint32_t low, std::uint32_t high) { return low | high << 16; }

constexpr std::uint32_t bf16_denormal = 0x0040;      // 2^-127
constexpr std::uint32_t denormal_result = 1u << 14;  // 2^-135

// A denormal result, a denormal C that nothing is added to, a denormal element of A.
void emit_denormals(ValueKernel& kernel) {
  const Bf16Matrix m(kernel.k);
  m.store(kernel, {bf16_power(-70), 0}, {bf16_power(-65), 0}, 0);
  m.store(kernel, {0, 0}, {0, 0}, denormal_result);
  m.store(kernel, {bf16_denormal, 0}, {bf16_power(30), 0}, 0);
}

Findings evaluate_denormals(Words words) {
  const bool result = first_lane(words, 0) == denormal_result, c = first_lane(words, 1) == denormal_result,
             source = first_lane(words, 2) == bits(0x1p-97f);
  const bool none = first_lane(words, 0) == 0 && first_lane(words, 1) == 0 && first_lane(words, 2) == 0;
  const auto kept = [](bool yes) { return yes ? "kept" : "lost"; };
  Findings findings;
  findings.facts = {{"denormal result of a matrix instruction", kept(result), ""},
                    {"denormal C of a matrix instruction", kept(c), ""},
                    {"BF16 denormal in A of a matrix instruction", kept(source), ""}};
  if (result && c && source) findings.answers.push_back({"mfma_denormals", "kept"});
  if (none) findings.answers.push_back({"mfma_denormals", "flushed"});
  return findings;
}

// large + 1 + 1 - large and larger + 1 - larger, large having 24 bits more than 1 and larger 30: the sums tell the
// models of machine.def apart.
struct Sums {
  std::string_view model;
  float of_large, of_larger;
};
constexpr Sums sums[] = {{"fma_chain", 0, 0}, {"exact", 2, 1}, {"pairwise", 1, 0}, {"aligned_24", 2, 0}};

// The same with FP8: codes of 2^8 * 2^8, 2^-4 * 2^-4 and 2^-7 * 2^-7.
constexpr std::uint32_t fp8_a[] = {0xf8181878, 0x00f80478}, fp8_b[] = {0x78181878, 0x00780478};
constexpr float fp8_unit[] = {0x1p-8f, 0x1p-14f};

void emit_sums(ValueKernel& kernel) {
  Builder& k = kernel.k;
  const std::uint32_t ones = pair(bf16_one, bf16_one);
  {
    const auto scope = k.scope();
    const Bf16Matrix m(k);
    m.store(kernel, {pair(bf16_power(24), bf16_one), pair(bf16_one, bf16_power(24) | bf16_sign)}, {ones, ones}, 0);
    m.store(kernel, {pair(bf16_power(30), bf16_one), bf16_power(30) | bf16_sign}, {ones, ones}, 0);
  }
  const V<8> a = k.vgpr<8>("A of FP8"), b = k.vgpr<8>("B of FP8");
  const V<16> d = k.vgpr<16>("D of FP8");
  for (int i = 0; i < 8; ++i) {
    k.v_mov_b32(a[i], 0);
    k.v_mov_b32(b[i], 0);
  }
  for (int i = 0; i < 2; ++i) {
    kernel.only_lanes(0, 32);
    k.v_mov_b32(a[0], fp8_a[i]);
    k.v_mov_b32(b[0], fp8_b[i]);
    kernel.every_lane();
    k.settle();
    k.v_mfma_f32_32x32x64_f8f6f4(d, a, b, 0.0f);
    kernel.store(d[0]);
  }
}

Findings evaluate_sums(Words words) {
  const auto value = [&](int i) { return std::bit_cast<float>(first_lane(words, i)); };
  const auto model = [](float of_large, float of_larger) -> std::string_view {
    for (const Sums& s : sums)
      if (s.of_large == of_large && s.of_larger == of_larger) return s.model;
    return "none of machine.def's";
  };
  const std::string_view bf16 = model(value(0), value(1)), fp8 = model(value(2) / fp8_unit[0], value(3) / fp8_unit[1]);
  Findings findings;
  findings.facts = {{"sums of BF16 products", std::string(bf16), ""}, {"sums of FP8 products", std::string(fp8), ""}};
  if (bf16 == fp8 && bf16 != "none of machine.def's") findings.answers.push_back({"mfma_accumulation", bf16});
  return findings;
}

// v_ashr_pk_u8_i32 and its like: two integers of 16 fraction bits.
constexpr std::uint32_t pack_inputs[] = {0x00000000, 0x0001ffff, 0x007f8000, 0x00ff0000, 0x01000000,
                                         0x7fffffff, 0xffffffff, 0xff800000, 0x80000000};
constexpr std::uint32_t other_input = 0x004d0000, before = 0xaabbccdd;

void emit_packs(ValueKernel& kernel) {
  Builder& k = kernel.k;
  const V<1> x = k.vgpr("x"), other = k.vgpr("other"), packed = k.vgpr("packed");
  k.v_mov_b32(other, other_input);
  for (const std::uint32_t input : pack_inputs)
    for (const bool is_signed : {false, true})
      for (const std::uint8_t high_half : {0, 8}) {
        k.v_mov_b32(x, input);
        k.v_mov_b32(packed, before);
        if (is_signed)
          k.v_ashr_pk_i8_i32(packed, x, other, 16, {.op_sel = high_half});
        else
          k.v_ashr_pk_u8_i32(packed, x, other, 16, {.op_sel = high_half});
        kernel.store(packed);
      }
}

Findings evaluate_packs(Words words) {
  Findings findings;
  for (const int is_signed : {0, 1}) {
    std::vector<std::string> low;
    std::string high = "high", second = "byte 1";
    for (int i = 0; i < static_cast<int>(std::size(pack_inputs)); ++i) {
      const std::uint32_t plain = first_lane(words, 4 * i + 2 * is_signed),
                          shifted = first_lane(words, 4 * i + 2 * is_signed + 1);
      low.push_back(fmt::format("{:02x}", plain & 0xff));
      if ((plain >> 16) != before >> 16 || shifted != ((plain & 0xffff) << 16 | (before & 0xffff)))
        high = "not the high alone";
      if ((plain >> 8 & 0xff) != other_input >> 16) second = "elsewhere";
    }
    const std::string name = is_signed ? "v_ashr_pk_i8_i32" : "v_ashr_pk_u8_i32";
    findings.facts.push_back({fmt::format("{} of {:08x} by 16", name, fmt::join(pack_inputs, " ")),
                              fmt::format("{}", fmt::join(low, " ")),
                              is_signed ? "00 01 7f 7f 7f 7f ff 80 80" : "00 01 7f ff ff ff 00 00 00"});
    findings.facts.push_back({name + ", second source", second, "byte 1"});
    findings.facts.push_back({name + ", half that op_sel[3] writes, the other kept", high, "high"});
  }
  return findings;
}

// v_cvt_pk_fp8_f32 about the largest and the smallest code. 464 lies midway between 448 and the code of NaN.
constexpr float fp8_inputs[] = {448, 464, 465, -1000, 1e9f, 0x1p-9f, 0x1p-10f, 0x3p-11f};

void emit_fp8(ValueKernel& kernel) {
  Builder& k = kernel.k;
  const V<1> x = k.vgpr("x"), code = k.vgpr("code");
  for (const std::uint32_t input :
       {bits(fp8_inputs[0]), bits(fp8_inputs[1]), bits(fp8_inputs[2]), bits(fp8_inputs[3]), bits(fp8_inputs[4]),
        bits(fp8_inputs[5]), bits(fp8_inputs[6]), bits(fp8_inputs[7]), 0x7f800000u}) {
    k.v_mov_b32(x, input);
    k.v_mov_b32(code, 0);
    k.v_cvt_pk_fp8_f32(code, x, 1.0f);
    kernel.store(code);
  }
}

template <bool saturates>
Findings evaluate_fp8(Words words) {
  std::vector<std::string> codes;
  for (int i = 0; i < 9; ++i) codes.push_back(fmt::format("{:02x}", first_lane(words, i) & 0xff));
  return {{},
          {{fmt::format("v_cvt_pk_fp8_f32 of {} inf, FP16_OVFL {}", fmt::join(fp8_inputs, " "), saturates ? 1 : 0),
            fmt::format("{}", fmt::join(codes, " ")),
            saturates ? "7e 7e 7e fe 7e 01 00 01 7f" : "7e 7e 7f ff 7f 01 00 01 7f"}}};
}

}  // namespace

std::vector<Probe> value_probes() {
  const ValueProbe probes[] = {
      {"u8-rounding",
       "how v_cvt_pk_u8_f32 rounds and saturates",
       {"cvt_pk_u8_rounding"},
       8,
       false,
       emit_u8,
       evaluate_u8},
      {"matrix-denormals",
       "whether matrix instructions keep denormals",
       {"mfma_denormals"},
       3,
       false,
       emit_denormals,
       evaluate_denormals},
      {"matrix-sums",
       "the order and width of a matrix instruction's sum",
       {"mfma_accumulation"},
       4,
       false,
       emit_sums,
       evaluate_sums},
      {"integer-packs",
       "saturation of v_ashr_pk_u8_i32, and the half that op_sel[3] writes",
       {},
       36,
       false,
       emit_packs,
       evaluate_packs},
      {"fp8-overflow", "what v_cvt_pk_fp8_f32 makes of what is too large", {}, 9, false, emit_fp8, evaluate_fp8<false>},
      {"fp8-saturation", "the same with MODE.FP16_OVFL set", {}, 9, true, emit_fp8, evaluate_fp8<true>},
  };
  std::vector<Probe> made;
  for (const ValueProbe& probe : probes) made.push_back(make_probe(probe));
  return made;
}

}  // namespace zyfa::schedules
