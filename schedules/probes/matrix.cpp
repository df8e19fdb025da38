// What a matrix instruction holds, and what waits for it.
#include "schedules/probes/groups.h"
#include "schedules/probes/matrix_rows.h"

namespace zyfa::schedules {
namespace {

constexpr std::uint8_t fp4 = static_cast<std::uint8_t>(isa::MatrixFormat::e2m1);
constexpr std::uint8_t fp6 = static_cast<std::uint8_t>(isa::MatrixFormat::e2m3);
constexpr std::string_view fp8_name = "FP8 32x32x64";

constexpr MatrixRow rows[] = {
    {fp8_name, 32, fp8_matrix},
    {"FP8 16x16x128", 32,
     [](Bench& b, int i) { b.k.v_mfma_f32_16x16x128_f8f6f4(b.small_tile(i), b.a, b.b, b.small_tile(i)); }},
    {"FP6 32x32x64", 24,
     [](Bench& b, int i) {
       b.k.v_mfma_f32_32x32x64_f8f6f4(b.tile(i), b.a.at<6>(0), b.b.at<6>(0), b.tile(i), {.cbsz = fp6, .blgp = fp6});
     }},
    {"FP4 32x32x64", 16,
     [](Bench& b, int i) {
       b.k.v_mfma_f32_32x32x64_f8f6f4(b.tile(i), b.a.at<4>(0), b.b.at<4>(0), b.tile(i), {.cbsz = fp4, .blgp = fp4});
     }},
    {"BF16 32x32x16", 16,
     [](Bench& b, int i) { b.k.v_mfma_f32_32x32x16_bf16(b.tile(i), b.a.at<4>(0), b.b.at<4>(0), b.tile(i)); }},
    {"BF16 16x16x16", 8,
     [](Bench& b, int i) {
       b.k.v_mfma_f32_16x16x16_bf16(b.small_tile(i), b.a.at<2>(0), b.b.at<2>(0), b.small_tile(i));
     }},
};

void add(Bench& b, int i) { b.k.v_add_u32(b.result(i), b.sources[0], b.sources[1]); }
void packed(Bench& b, int i) {
  b.k.v_pk_fma_f32(b.result2(i), b.sources.at<2>(0), b.sources.at<2>(2), b.sources.at<2>(4));
}
void to_fp8(Bench& b, int i) { b.k.v_cvt_pk_fp8_f32(b.result(i), b.sources[0], b.sources[1]); }

const std::vector<int> few{16, 48}, few_matrix{4, 12};

constexpr int under = 16;  // additions for each matrix instruction

// The port is free again when the first of many additions issues.
Probe port_hold() {
  const auto with_adds = [](const MatrixRow& row) { return fmt::format("{} and {} additions", row.name, under); };
  const auto two_waves = [](const MatrixRow& row) {
    return fmt::format("{} of one wave, additions of another", row.name);
  };
  TimedProbe probe{.name = "port-hold",
                   .question = "how long a matrix instruction keeps the vector port, by the size of its sources",
                   .parameters = {"matrix_read_clk"},
                   .measurements = {{"addition", few, one_wave, repeat(add)}},
                   .evaluate = {}};
  for (const MatrixRow& row : rows) {
    probe.measurements.push_back({std::string(row.name), few_matrix, one_wave, repeat(row.emit)});
    probe.measurements.push_back({with_adds(row), few_matrix, one_wave, repeat([row](Bench& b, int i) {
                                    row.emit(b, i);
                                    for (int j = 0; j < under; ++j) add(b, j);
                                  })});
    probe.measurements.push_back({two_waves(row), few_matrix, two_on_a_simd, [row](Bench& b, int repetitions) {
                                    Builder& k = b.k;
                                    const auto other = k.label("other_wave"), end = k.label("end_of_block");
                                    k.s_cmp_lg_u32(b.wave, 0);
                                    k.s_cbranch_scc1(other);
                                    for (int i = 0; i < repetitions; ++i) row.emit(b, i);
                                    k.s_branch(end);
                                    k.bind(other);
                                    for (int i = 0; i < repetitions * under; ++i) add(b, i);
                                    k.bind(end);
                                  }});
  }
  probe.evaluate = [=](const Readings& r) {
    Findings found;
    const double additions = under * r.slope("addition");
    for (const MatrixRow& row : rows) {
      const double held = r.slope(with_adds(row)) - additions;
      found.facts.push_back(
          {fmt::format("{}, clk", row.name),
           fmt::format("{:g} in a stream; holds the port {:g} ({} bytes of a lane), against another wave {:g}",
                       r.slope(row.name), held, row.source_bytes, r.slope(two_waves(row)) - additions),
           ""});
    }
    // machine.def: this and 4 clk for each 16 bytes of the wider source.
    constexpr int slot_clk = 4, slot_bytes = 16;
    const double fp8 = r.slope(with_adds(rows[0])) - additions;
    found.answers.push_back({"matrix_read_clk", fp8 - slot_clk * (rows[0].source_bytes / slot_bytes)});
    return found;
  };
  return make_probe(probe);
}

Block matrix_and_one(void (*emit)(Bench&, int)) {
  return repeat([emit](Bench& b, int i) {
    fp8_matrix(b, i);
    emit(b, i);
  });
}

Probe after_matrix() {
  return make_probe({.name = "after-matrix",
                     .question = "which vector instructions wait for the matrix pipe to drain, and how long",
                     .parameters = {"packed_after_matrix_clk", "cvt_fp8_after_matrix"},
                     .measurements = {{"matrix", few_matrix, one_wave, repeat(fp8_matrix)},
                                      {"packed", few, one_wave, repeat(packed)},
                                      {"matrix and packed", few_matrix, one_wave, matrix_and_one(packed)},
                                      {"matrix and FP8 conversion", few_matrix, one_wave, matrix_and_one(to_fp8)}},
                     .evaluate = [](const Readings& r) {
                       const double matrix = r.slope("matrix");
                       const bool waits = r.slope("matrix and FP8 conversion") > matrix;
                       return Findings{
                           {{"packed_after_matrix_clk", r.slope("matrix and packed") - matrix - r.slope("packed")},
                            {"cvt_fp8_after_matrix", waits ? 1.0 : 0.0}},
                           {}};
                     }});
}

Probe matrix_chain() {
  return make_probe(
      {.name = "matrix-chain",
       .question = "what a matrix instruction that accumulates on the one before waits beyond its passes",
       .parameters = {"matrix_chain_clk"},
       .measurements = {{"independent", few_matrix, one_wave, repeat(fp8_matrix)},
                        {"dependent", few_matrix, one_wave, repeat([](Bench& b, int) { fp8_matrix(b, 0); })}},
       .evaluate = [](const Readings& r) {
         return Findings{{{"matrix_chain_clk", r.slope("dependent") - r.slope("independent")}}, {}};
       }});
}

// Into an idle pipe the slot that loads the scales shows; in a stream it hides under the instruction before.
Probe load_scales() {
  const auto scaled = [](Bench& b, int i) {
    b.k.v_mfma_scale_f32_32x32x64_f8f6f4(b.tile(i), b.a, b.b, b.tile(i), b.sources[0], b.sources[1]);
  };
  const auto in_idle_pipe = [](auto first) {
    return repeat([first](Bench& b, int) {
      first(b, 0);
      fp8_matrix(b, 1);
      b.k.s_nop(15);
      b.k.s_nop(15);
    });
  };
  return make_probe({.name = "load-scales",
                     .question = "how much later a scaled matrix instruction starts",
                     .parameters = {"ld_scale_clk"},
                     .measurements = {{"plain", few_matrix, one_wave, in_idle_pipe(fp8_matrix)},
                                      {"scaled", few_matrix, one_wave, in_idle_pipe(scaled)},
                                      {"plain stream", few_matrix, one_wave, repeat(fp8_matrix)},
                                      {"scaled stream", few_matrix, one_wave, repeat(scaled)}},
                     .evaluate = [](const Readings& r) {
                       return Findings{{{"ld_scale_clk", r.slope("scaled") - r.slope("plain")}},
                                       {{"a stream of scaled FP8 32x32x64, clk each",
                                         fmt::format("{:g}", r.slope("scaled stream")), ""},
                                        {"the same unscaled", fmt::format("{:g}", r.slope("plain stream")), ""}}};
                     }});
}

}  // namespace

void fp8_matrix(Bench& b, int tile) { b.k.v_mfma_f32_32x32x64_f8f6f4(b.tile(tile), b.a, b.b, b.tile(tile)); }

std::span<const MatrixRow> matrix_rows() { return rows; }

std::vector<Probe> matrix_probes() { return {port_hold(), after_matrix(), matrix_chain(), load_scales()}; }

}  // namespace zyfa::schedules
