#include "runtime_loader/findings.h"

namespace zyfa::runtime {
namespace {

nlohmann::ordered_json party_json(const emulator::Party& party) {
  return {{"instruction", party.instruction}, {"wave", party.wave}, {"source", to_string(party.where)}};
}

}  // namespace

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
}

}  // namespace zyfa::runtime
