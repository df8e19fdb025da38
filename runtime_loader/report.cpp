#include "runtime_loader/report.h"

#include <cmath>

namespace zyfa::runtime {
namespace {

nlohmann::ordered_json party_json(const emulator::Party& party) {
  return {{"instruction", party.instruction}, {"wave", party.wave}, {"source", to_string(party.where)}};
}

double gflops(double seconds, double flops) { return seconds > 0 ? flops / seconds * 1e-9 : 0; }

}  // namespace

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(fmt::format("{}", value));
}

nlohmann::ordered_json findings_json(const emulator::Result& result) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const emulator::Finding& f : result.findings) {
    nlohmann::ordered_json& json = list.emplace_back(nlohmann::ordered_json{
        {"rule", name(f.rule)}, {"message", f.message}, {"workgroup", f.workgroup}, {"at", party_json(f.at)}});
    if (f.other) json["other"] = party_json(*f.other);
  }
  return list;
}

void print_findings(const emulator::Result& result) {
  for (const emulator::Finding& f : result.findings) fmt::print("finding    {}\n", f.message);
  if (result.findings_left_out > 0) fmt::print("findings   {} more\n", result.findings_left_out);
  for (const auto& [kind, count] : result.finding_counts) fmt::print("findings   {:4} {}\n", count, kind);
}

void print_errors(const Comparison& c, bool has_lse) {
  fmt::print("error      relative {:.3g}, maximum {:.3g}{}\n", c.relative_error, c.max_abs_error,
             has_lse ? fmt::format(", LSE {:.3g}", c.lse_max_error) : "");
}

void print_verdict(const Comparison* c, const Tolerances& tolerances, bool failed) {
  if (c)
    for (const std::string& reason : failures(*c, tolerances)) fmt::print("failed     {}\n", reason);
  fmt::print("{}\n", failed || (c && !c->passed) ? "FAILED" : c ? "PASSED" : "NOT CHECKED");
}

void add_errors(nlohmann::ordered_json& json, const Comparison& c, bool failed) {
  json["relative_error"] = number(c.relative_error);
  json["max_abs_error"] = number(c.max_abs_error);
  json["lse_max_error"] = number(c.lse_max_error);
  json["passed"] = c.passed && !failed;
}

void print_outcome(const emulator::Result& result, double seconds, double flops, const Comparison* c,
                   const Tolerances& tolerances, bool has_lse) {
  if (c) print_errors(*c, has_lse);
  fmt::print("emulation  {:.2f} s, {:.1f} GFLOP/s, {} instructions\n", seconds, gflops(seconds, flops),
             result.instructions);
  print_findings(result);
  print_verdict(c, tolerances, !result.findings.empty());
}

void add_outcome(nlohmann::ordered_json& json, const emulator::Result& result, double seconds, double flops,
                 const Comparison* c, bool strict) {
  if (c) add_errors(json, *c, !result.findings.empty());
  if (strict) {
    json["findings"] = findings_json(result);
    json["findings_left_out"] = result.findings_left_out;
    json["finding_counts"] = result.finding_counts;
  }
  json["seconds"] = seconds;
  json["emulated_gflops"] = gflops(seconds, flops);
  json["flop_convention"] = "2 * (head_dim + v_head_dim) per query and visible key";
  json["instructions"] = result.instructions;
}

void stop_at_trap(const emulator::Result& result, std::string_view kernel, bool json) {
  if (!result.trap) return;
  const emulator::Trap& trap = *result.trap;
  if (json) {
    const nlohmann::ordered_json object = {{"kernel", kernel},
                                           {"passed", false},
                                           {"trap",
                                            {{"message", trap.message},
                                             {"instruction", trap.instruction},
                                             {"source", to_string(trap.where)},
                                             {"workgroup", trap.workgroup},
                                             {"wave", trap.wave},
                                             {"lane", trap.lane}}},
                                           {"findings", findings_json(result)}};
    fmt::print("{}\n", object.dump(2));
  } else {
    print_findings(result);
  }
  throw Error("{}", trap.message);
}

}  // namespace zyfa::runtime
