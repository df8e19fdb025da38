// How often a SIMD issues a vector instruction, alone and under each kind of matrix instruction.
#include "schedules/probes/groups.h"
#include "schedules/probes/matrix_rows.h"

#include <cmath>

namespace zyfa::schedules {
namespace {

struct Row {
  std::string_view mnemonic;
  void (*emit)(Bench&, int);
};

struct Rate {
  std::string_view probe, question, parameter;
  std::vector<Row> rows;
};

// clang-format off
#define ROW(op, ...) Row{#op, [](Bench& b, int i) { b.k.op(__VA_ARGS__); }}
std::vector<Rate> rates() {
  return {
      {"rate-valu", "plain vector instructions", "valu_clk",
       {ROW(v_add_u32, b.result(i), b.sources[0], b.sources[1]),
        ROW(v_fma_f32, b.result(i), b.sources[0], b.sources[1], b.sources[2])}},
      {"rate-quarter", "32-bit integer multiplication", "valu_quarter_clk",
       {ROW(v_mul_lo_u32, b.result(i), b.sources[0], b.sources[1])}},
      {"rate-64", "64-bit shifts and adds", "valu_64_clk",
       {ROW(v_lshlrev_b64, b.result2(i), 1, b.sources.at<2>(0))}},
      {"rate-exp", "transcendental instructions", "trans_clk",
       {ROW(v_exp_f32, b.result(i), b.sources[0]),
        ROW(v_rcp_f32, b.result(i), b.sources[0])}},
      {"rate-packed", "packed FP32 and dot products", "packed_clk",
       {ROW(v_pk_fma_f32, b.result2(i), b.sources.at<2>(0), b.sources.at<2>(2), b.sources.at<2>(4)),
        ROW(v_pk_mul_f32, b.result2(i), b.sources.at<2>(0), b.sources.at<2>(2)),
        ROW(v_dot2_f32_f16, b.result(i), b.sources[0], b.sources[1], b.sources[2])}},
      {"rate-cvt-int", "conversions of fp32 to integers", "cvt_int_clk",
       {ROW(v_cvt_u32_f32, b.result(i), b.sources[0]),
        ROW(v_cvt_i32_f32, b.result(i), b.sources[0]),
        ROW(v_cvt_pk_u8_f32, b.result(i), b.sources[0], 0, b.sources[1])}},
      {"rate-cvt-fp8", "conversions of fp32 to FP8", "cvt_fp8_clk",
       {ROW(v_cvt_pk_fp8_f32, b.result(i), b.sources[0], b.sources[1]),
        ROW(v_cvt_scalef32_pk_fp8_f32, b.result(i), b.sources[0], b.sources[1], b.sources[2])}},
      {"rate-pack-int", "packing of shifted integers", "pack_int_clk",
       {ROW(v_ashr_pk_u8_i32, b.result(i), b.sources[0], b.sources[1], 16),
        ROW(v_ashr_pk_i8_i32, b.result(i), b.sources[0], b.sources[1], 16)}},
  };
}
#undef ROW
// clang-format on

constexpr int under = 16;  // vector instructions for each matrix instruction: more than hide under any

std::string two_waves(const Row& row) { return fmt::format("{}, two waves", row.mnemonic); }
std::string under_matrix(const Row& row, const MatrixRow& matrix) {
  return fmt::format("{} under {}", row.mnemonic, matrix.name);
}

TimedProbe make(const Rate& rate) {
  TimedProbe probe{.name = rate.probe,
                   .question = rate.question,
                   .parameters = {rate.parameter},
                   .measurements = {},
                   .evaluate = {}};
  const std::vector<int> few{16, 48}, few_matrix{4, 12};
  for (const MatrixRow& matrix : matrix_rows())
    probe.measurements.push_back({std::string(matrix.name), few_matrix, one_wave, repeat(matrix.emit)});
  for (const Row& row : rate.rows) {
    probe.measurements.push_back({std::string(row.mnemonic), few, one_wave, repeat(row.emit)});
    probe.measurements.push_back({two_waves(row), few, two_on_a_simd, repeat(row.emit)});
    for (const MatrixRow& matrix : matrix_rows())
      probe.measurements.push_back(
          {under_matrix(row, matrix), few_matrix, one_wave, repeat([row, matrix](Bench& b, int i) {
             matrix.emit(b, i);
             for (int j = 0; j < under; ++j) row.emit(b, j);
           })});
  }
  // The slowest row is the parameter. Two waves share the port, so that no wave's own pace hides its rate.
  probe.evaluate = [rate](const Readings& r) {
    Findings found;
    double slowest = 0;
    for (const Row& row : rate.rows) {
      const double clk = r.slope(two_waves(row)) / 2, alone = r.slope(row.mnemonic);
      slowest = std::max(slowest, clk);
      std::string text = fmt::format("{:g} clk; hidden under", clk);
      for (const MatrixRow& matrix : matrix_rows()) {
        const double hidden = r.slope(matrix.name) + under * alone - r.slope(under_matrix(row, matrix));
        text += fmt::format("{} {} {:g}", &matrix == matrix_rows().data() ? "" : ",", matrix.name,
                            std::max(0.0, std::floor(hidden / alone)));
      }
      found.facts.push_back({std::string(row.mnemonic), text, ""});
    }
    found.answers.push_back({rate.parameter, slowest});
    return found;
  };
  return probe;
}

}  // namespace

std::vector<Probe> rate_probes() {
  std::vector<Probe> probes;
  for (const Rate& rate : rates()) probes.push_back(make_probe(make(rate)));
  return probes;
}

}  // namespace zyfa::schedules
