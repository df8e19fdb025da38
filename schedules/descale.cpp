#include "schedules/descale.h"

#include "generator/kernargs.h"

#include <bit>
#include <limits>
#include <numbers>

namespace zyfa::schedules {
namespace {

using generator::Label;
using generator::QuantiseKernargs;

constexpr float largest_code = 448;

// value = the larger of its own and the lane's whose number differs in bit 5, or 4.
void take_larger_by_swap(Builder& k, V<1> value, V<1> other, bool bit5) {
  k.v_mov_b32(other, value);
  k.settle();
  if (bit5)
    k.v_permlane32_swap_b32(value, other);
  else
    k.v_permlane16_swap_b32(value, other);
  k.v_max_f32(value, value, other);
}

// ds_swizzle_b32 in bit mode: each lane reads the one whose number differs in these bits (CDNA4 ISA, DS_SWIZZLE_B32).
isa::Modifiers exchange_with(int bits) {
  constexpr int all_bits = 0x1f, xor_at = 10;
  return {.offset = bits << xor_at | all_bits};
}

// Makes the descale follow k_descale, unless that is null.
void follow_key(Builder& k, const QuantiseArguments& args, const QuantisePlace& place, V<1> descale) {
  const auto scope = k.scope();
  const Label done = k.label("descale_found");
  const S<2> key = k.sgpr<2>("address of k_descale");
  k.s_mov_b64(key, args.k_descale);
  k.s_cmp_eq_u64(key, 0);
  k.s_cbranch_scc1(done);

  const S<4> strides = k.sgpr<4>("strides of k_descale: head batch");
  const S<1> k_descale = k.sgpr("k_descale"), softmax_scale = k.sgpr("softmax_scale");
  Token loaded = k.s_load_dwordx4(strides, args.kernarg, offsetof(QuantiseKernargs, k_descale_stride));
  loaded |= k.s_load_dword(softmax_scale, args.kernarg, offsetof(QuantiseKernargs, softmax_scale));
  k.wait(loaded);
  advance(k, key, place.batch, strides.at<2>(2));
  advance(k, key, place.scale_head, strides.at<2>(0));
  k.wait(k.s_load_dword(k_descale, key, 0));

  const V<1> t = k.vgpr("mantissa of the rest"), p = k.vgpr("product"), exponent = k.vgpr("exponent");
  const V<1> one = k.vgpr("1"), other = k.vgpr("descale that follows");
  const S<2> is_zero = k.sgpr<2>("whether the rest is 0"), is_power = k.sgpr<2>("whether it is a power of two");
  k.v_frexp_mant_f32(t, softmax_scale);
  k.v_frexp_mant_f32(p, k_descale);
  k.v_mul_f32(t, t, p);
  k.v_mul_f32(t, std::numbers::log2e_v<float>, t);
  k.v_frexp_mant_f32(t, t);
  k.v_cmp_eq_f32(is_zero, 0.0f, t);
  k.v_max_f32(t, 0.5f, t);
  k.v_frexp_mant_f32(p, descale);
  k.v_frexp_exp_i32_f32(exponent, descale);
  k.v_mul_f32(p, p, t);
  k.v_mov_b32(one, std::bit_cast<std::uint32_t>(1.0f));
  divide(k, other, one, t);
  k.v_frexp_exp_i32_f32(t, p);
  k.v_add_u32(exponent, exponent, t);
  k.v_frexp_mant_f32(p, p);
  k.v_cmp_eq_f32(is_power, 0.5f, p);
  k.settle();
  k.v_cndmask_b32(t, 0, -1, is_power);
  k.v_add_u32(exponent, exponent, t);
  k.v_ldexp_f32(other, other, exponent);
  k.v_cndmask_b32(descale, other, descale, is_zero);
  k.bind(done);
}

}  // namespace

void find_largest_of_workgroup(Builder& k, const QuantisePlace& place, V<1> value) {
  const auto scope = k.scope();
  const V<1> other = k.vgpr("another lane's largest");
  const V<4> of_waves = k.vgpr<4>("largest of each wave");
  static_assert(QuantisePlan::waves == 4);
  take_larger_by_swap(k, value, other, true);
  take_larger_by_swap(k, value, other, false);
  for (const int bits : {8, 4, 2, 1}) {
    k.wait(k.ds_swizzle_b32(other, value, exchange_with(bits)));
    k.v_max_f32(value, value, other);
  }
  k.v_mov_b32(other, place.wave);
  k.v_lshlrev_b32(other, 2, other);
  k.s_mov_b64(isa::exec, 1);
  const Token written = k.ds_write_b32(other, value);
  k.s_mov_b64(isa::exec, -1);
  k.wait(written);
  k.s_barrier();
  k.v_mov_b32(other, 0);
  k.wait(k.ds_read_b128(of_waves, other));
  k.v_max3_f32(value, of_waves[0], of_waves[1], of_waves[2]);
  k.v_max_f32(value, value, of_waves[3]);
}

// The sequence that the ISA's division instructions are made for: the quotient refined once more than the reciprocal.
void divide(Builder& k, V<1> quotient, V<1> a, V<1> b) {
  const auto scope = k.scope();
  const V<1> divisor = k.vgpr("scaled divisor"), dividend = k.vgpr("scaled dividend");
  const V<1> reciprocal = k.vgpr("reciprocal"), error = k.vgpr("error"), q = k.vgpr("scaled quotient");
  const S<2> unused = k.sgpr<2>("whether the divisor is scaled");
  k.v_div_scale_f32(divisor, unused, b, b, a);
  k.v_div_scale_f32(dividend, isa::vcc, a, b, a);
  k.v_rcp_f32(reciprocal, divisor);
  k.settle();
  k.v_fma_f32(error, generator::negated(divisor), reciprocal, 1.0f);
  k.v_fma_f32(reciprocal, error, reciprocal, reciprocal);
  k.v_mul_f32(q, dividend, reciprocal);
  k.v_fma_f32(error, generator::negated(divisor), q, dividend);
  k.v_fma_f32(q, error, reciprocal, q);
  k.v_fma_f32(error, generator::negated(divisor), q, dividend);
  k.settle();
  k.v_div_fmas_f32(q, error, reciprocal, q);
  k.v_div_fixup_f32(quotient, q, b, a);
}

void find_descale(Builder& k, const QuantiseArguments& args, const QuantisePlace& place, V<1> largest, V<1> descale) {
  {
    const auto scope = k.scope();
    const V<1> code = k.vgpr("largest code");
    const S<2> all_zero = k.sgpr<2>("whether all values are 0");
    k.v_mov_b32(code, std::bit_cast<std::uint32_t>(largest_code));
    divide(k, descale, largest, code);
    k.v_max_f32(descale, std::numeric_limits<float>::min(), descale);
    k.v_cmp_eq_f32(all_zero, 0.0f, largest);
    k.settle();
    k.v_cndmask_b32(descale, descale, std::bit_cast<std::uint32_t>(1.0f), all_zero);
  }
  follow_key(k, args, place, descale);
}

}  // namespace zyfa::schedules
