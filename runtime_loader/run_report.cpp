#include "runtime_loader/run_report.h"

#include "runtime_loader/probability_report.h"
#include "runtime_loader/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace zyfa::runtime {
namespace {

void print_range(const char* name, const std::vector<float>& descales) {
  const auto [low, high] = std::minmax_element(descales.begin(), descales.end());
  if (low != descales.end()) fmt::print("  {} descale  {:.6g} .. {:.6g}\n", name, *low, *high);
}

}  // namespace

nlohmann::ordered_json to_json(const RunReport& r) {
  const AttentionShape& s = r.inputs.shape;
  nlohmann::ordered_json json = {
      {"kernel", r.kernel.manifest.symbol},
      {"backend", r.args.backend},
      {"shape",
       {{"batch", s.batch},
        {"heads", s.heads},
        {"kv_heads", s.kv_heads},
        {"seqlen_q", s.seqlen_q},
        {"seqlen_k", s.seqlen_k},
        {"head_dim", s.head_dim},
        {"v_head_dim", s.v_head_dim},
        {"causal", s.causal}}},
      {"layout", r.args.layout},
      {"softmax_scale", r.inputs.softmax_scale},
      {"descales", {{"q", r.inputs.q_descale}, {"k", r.inputs.k_descale}, {"v", r.inputs.v_descale}}}};
  if (r.args.has_files())
    json["input"] = {
        {"kind", "files"}, {"q", r.args.q}, {"k", r.args.k}, {"v", r.args.v}, {"file_layout", r.args.file_layout}};
  else
    json["input"] = {{"kind", r.args.input}, {"sigma", r.args.sigma.value_or(1)}, {"seed", r.args.seed}};
  if (r.gpu) {
    add_errors(json, r.comparison, r.gpu->report.different > 0);
    add_gpu_report(json, *r.gpu);
  } else {
    add_outcome(json, r.run.result, r.run.seconds, attention_flops(s), &r.comparison, r.args.strict);
  }
  if (r.captured)
    json["against_the_files"] = {{"relative_error", number(r.captured->relative_error)},
                                 {"max_abs_error", number(r.captured->max_abs_error)},
                                 {"quantisation_relative_error", number(r.captured->quantisation)}};
  if (r.probabilities) json["p_statistics"] = probability_json(*r.probabilities);
  return json;
}

void print(const RunReport& r) {
  const AttentionShape& s = r.inputs.shape;
  fmt::print("kernel     {}\n", r.kernel.manifest.symbol);
  fmt::print("problem    batch {}, heads {} (key/value heads {}), {} queries, {} keys{}, layout {}\n", s.batch, s.heads,
             s.kv_heads, s.seqlen_q, s.seqlen_k, s.causal ? ", causal" : "", r.args.layout);
  if (!r.args.has_files())
    fmt::print("input      {}, sigma {}, seed {}, softmax scale {:.6g}\n", r.args.input, r.args.sigma.value_or(1),
               r.args.seed, r.inputs.softmax_scale);
  else
    fmt::print("input      {}, {}, {}, softmax scale {:.6g}\n", r.args.q, r.args.k, r.args.v, r.inputs.softmax_scale);
  print_range("q", r.inputs.q_descale);
  print_range("k", r.inputs.k_descale);
  print_range("v", r.inputs.v_descale);
  if (r.probabilities) print_probabilities(*r.probabilities);
  if (r.captured)
    fmt::print("files      relative error {:.3g}, maximum {:.3g}, {:.3g} by quantising alone: of their own values\n",
               r.captured->relative_error, r.captured->max_abs_error, r.captured->quantisation);
  if (!r.gpu) {
    print_outcome(r.run.result, r.run.seconds, attention_flops(s), &r.comparison, r.tolerances, !r.run.lse.empty());
    return;
  }
  print_errors(r.comparison, !r.run.lse.empty());
  print_gpu_report(*r.gpu);
  print_verdict(&r.comparison, r.tolerances, r.gpu->report.different > 0);
}

CapturedErrors compare_captured(const AttentionResult& captured, const AttentionResult& dequantised,
                                const AttentionOutput& output) {
  const Comparison comparison = compare(captured, output);
  return {comparison.relative_error, comparison.max_abs_error, relative_error(dequantised.o, captured.o)};
}

}  // namespace zyfa::runtime
