#include "schedules/queries.h"

#include <bit>
#include <numbers>

namespace zyfa::schedules {
namespace {

constexpr std::uint32_t upper_half = 0xffff0000;
constexpr float least_query = 0x1p-100f;  // keeps 2^-r within fp32
constexpr int codes_log2 = 8;             // the largest code of a query is less than 2^8
constexpr int e8m0_bias = 127;

}  // namespace

bool is_bf16(const AttentionPlan& plan) { return plan.config.q_dtype == generator::QueryType::bf16; }

QueryFactor load_query_factor(Builder& k, const Arguments& args, const Place& place) {
  const QueryFactor factor{k.vgpr("mantissa of the logits' factor"), k.vgpr("its exponent")};
  const auto scope = k.scope();
  const S<1> k_descale = k.sgpr("k_descale");
  const V<1> t = k.vgpr("factor of the logits");
  k.wait(load_per_head(k, k_descale, args, PerHead::k_descale, place.batch, place.kv_head));
  k.v_mov_b32(t, args.softmax_scale);
  k.v_mul_f32(t, k_descale, t);
  k.v_mul_f32(t, std::numbers::log2e_v<float>, t);
  k.v_frexp_mant_f32(factor.mantissa, t);
  k.v_frexp_exp_i32_f32(factor.exponent, t);
  return factor;
}

Queries load_bf16_queries(Builder& k, const AttentionPlan& plan, const Arguments& args, const Place& place, V<64> raw) {
  const int parts = plan.config.head_dim / 64;
  Queries q{parts == 2 ? k.agpr<16>("Q")[0] : k.agpr<24>("Q")[0], parts, {}};
  const auto scope = k.scope();
  const S<4> resource = k.sgpr<4>("Q resource");
  const V<1> address = k.vgpr("Q address");
  address_queries(k, args, place, 2, address, resource);
  for (int i = 0; i < 4 * parts; ++i)
    q.loaded |= k.buffer_load_dwordx4(raw.at<4>(4 * i), address, resource, 0,
                                      {.offset = 64 * (i / 2) + 16 * (i % 2), .offen = true});
  return q;
}

void quantise_queries(Builder& k, const QueryFactor& factor, V<64> raw, const Queries& q, V<1> factors) {
  const int registers = 16 * q.parts;  // of two elements
  const auto scope = k.scope();
  const V<1> largest = k.vgpr("largest |element|"), other = k.vgpr("the other lane's"), by = k.vgpr("mantissa / 2^r");
  const V<4> low = k.vgpr<4>("even elements");
  const V<2> codes = k.vgpr<2>("codes");
  k.v_mov_b32(largest, std::bit_cast<std::uint32_t>(least_query));
  for (int i = 0; i < registers; ++i) {
    k.v_lshlrev_b32(low[0], 16, raw[i]);
    k.v_and_b32(low[1], upper_half, raw[i]);
    k.v_max3_f32(largest, generator::magnitude(low[0]), generator::magnitude(low[1]), largest);
  }
  k.v_mov_b32(other, largest);
  k.settle();
  k.v_permlane32_swap_b32(largest, other);
  k.v_max_f32(largest, largest, other);

  k.v_mul_f32(largest, factor.mantissa, largest);
  k.v_frexp_exp_i32_f32(factors, largest);
  k.v_sub_u32(other, codes_log2, factors);
  k.v_ldexp_f32(by, factor.mantissa, other);
  k.v_add3_u32(factors, factors, factor.exponent, -codes_log2);
  k.v_max_i32(factors, bf16_least_factor_log2, factors);
  k.v_min_i32(factors, bf16_largest_factor_log2, factors);
  k.v_add_u32(factors, e8m0_bias - bf16_key_factor_log2, factors);

  for (int i = 0; i < registers; i += 4) {
    for (int j = 0; j < 4; ++j) {
      k.v_lshlrev_b32(low[j], 16, raw[i + j]);
      k.v_and_b32(raw[i + j], upper_half, raw[i + j]);
      k.v_mul_f32(low[j], by, low[j]);
      k.v_mul_f32(raw[i + j], by, raw[i + j]);
    }
    // The two halves of a register are not written by neighbours: docs/hazards.md.
    for (int j = 0; j < 2; ++j) k.v_cvt_pk_fp8_f32(codes[j], low[2 * j], raw[i + 2 * j]);
    for (int j = 0; j < 2; ++j) k.v_cvt_pk_fp8_f32(codes[j], low[2 * j + 1], raw[i + 2 * j + 1], {.op_sel = 8});
    k.settle();
    for (int j = 0; j < 2; ++j) {
      k.settle();
      k.v_accvgpr_write_b32(q.part(i / 16)[i % 16 / 2 + j], codes[j]);
    }
  }
}

}  // namespace zyfa::schedules
