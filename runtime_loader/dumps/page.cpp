// The data of the HTML page; page.html draws it.
#include "runtime_loader/dumps/writers.h"
#include "runtime_loader/sim_report.h"

#include <algorithm>
#include <numeric>

namespace zyfa::runtime {

extern const char* const page_template;  // page.html, by way of page_template.cpp.in

namespace {

using nlohmann::ordered_json;
using pipes::Clk;

ordered_json program_json(const DumpSource& source) {
  ordered_json program = ordered_json::array();
  for (std::uint32_t i = 0; i < source.program().code.size(); ++i)
    program.push_back({source.text(i), source.source(i), static_cast<int>(pipe_of(source.program().code[i]))});
  return program;
}

ordered_json wave_json(const WaveRecord& record, const Window& window) {
  ordered_json executed = ordered_json::array(), waits = ordered_json::array();
  for (const Executed& one : record.executed)
    if (window.contains(one.clk))
      executed.push_back({one.clk, one.instruction, one.service.start, one.service.end, one.service.done});
  for (const Wait& wait : record.waits)
    if (window.meets(wait.clk, wait.end()))
      waits.push_back({wait.clk, wait.clocks, static_cast<int>(wait.reason), wait.instruction});
  return {{"executed", std::move(executed)}, {"waits", std::move(waits)}};
}

// Source lines by the clocks that their instructions waited, in the whole run. Instructions of unknown source stand for
// themselves.
ordered_json lines_json(const DumpSource& source) {
  std::map<std::string, pipes::StallClk> lines;
  for (std::uint32_t i = 0; i < source.program().code.size(); ++i) {
    const bool is_known{source.program().code[i].where};
    pipes::StallClk& line = lines[is_known ? source.source(i) : fmt::format("{} {}", i, source.text(i))];
    for (std::size_t s = 0; s < pipes::stalls; ++s) line[s] += source.run.result.instructions[i].stalls[s];
  }
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [where, clk] : lines)
    if (const auto sum = std::accumulate(clk.begin(), clk.end(), std::uint64_t{0}); sum > 0)
      order.emplace_back(sum, where);
  std::ranges::stable_sort(order, std::greater{}, &std::pair<std::uint64_t, std::string>::first);
  ordered_json json = ordered_json::array();
  for (const auto& [sum, where] : order) {
    ordered_json reasons = ordered_json::object();
    for (std::size_t s = 0; s < pipes::stalls; ++s)
      if (const std::uint64_t clk = lines[where][s]; clk > 0)
        reasons[std::string(name(static_cast<pipes::Stall>(s)))] = clk;
    json.push_back({{"source", where}, {"clk", sum}, {"reasons", std::move(reasons)}});
  }
  return json;
}

// What the code does with each register of a file: l in the part that is shown, c elsewhere in the code, u nothing.
class RegisterUse {
 public:
  void add(const isa::Inst& inst, char use) {
    for (const isa::Access& access : isa::accesses(inst))
      if (std::string* of = file(access.file))
        for (std::size_t r = access.first; r < std::min<std::size_t>(of->size(), access.first + access.count); ++r)
          (*of)[r] = use;
  }

  explicit RegisterUse(const generator::KernelDescriptor& descriptor)
      : v(std::min(descriptor.accum_offset(), descriptor.vgpr_count()), 'u'),
        a(descriptor.vgpr_count() - v.size(), 'u'),
        s(descriptor.sgpr_count(), 'u') {}

  std::string v, a, s;

 private:
  std::string* file(isa::OperandKind kind) {
    switch (kind) {
      case isa::OperandKind::vgpr:
        return &v;
      case isa::OperandKind::agpr:
        return &a;
      default:
        return &s;
    }
  }
};

ordered_json registers_json(const DumpSource& source, const Window& window) {
  RegisterUse use(source.simulation.descriptor());
  const auto& code = source.program().code;
  for (const isa::Inst& inst : code) use.add(inst, 'c');
  for (const WaveRecord& record : source.recording.waves)
    for (const Executed& executed : record.executed)
      if (window.contains(executed.clk)) use.add(code[executed.instruction], 'l');
  ordered_json names = ordered_json::array();
  if (const generator::Manifest* manifest = source.simulation.manifest())
    for (const generator::NamedRegisters& range : manifest->register_map)
      names.push_back({std::string(1, range.file), range.first, range.count, range.name});
  return {{"v", use.v}, {"a", use.a}, {"s", use.s}, {"names", std::move(names)}};
}

ordered_json lds_json(const DumpSource& source) {
  ordered_json regions = ordered_json::array();
  if (const generator::Manifest* manifest = source.simulation.manifest())
    for (const generator::LdsRegion& region : manifest->lds_map)
      regions.push_back({{"name", region.name}, {"offset", region.offset}, {"bytes", region.bytes}});
  return {{"allocated", source.simulation.descriptor().group_segment_bytes},
          {"capacity", source.run.machine.lds_bytes},
          {"regions", std::move(regions)}};
}

// No text in the data may end the script element that holds it.
std::string for_script(std::string json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string for_html(const std::string& plain) {
  std::string text;
  for (const char c : plain) {
    if (c == '<')
      text += "&lt;";
    else if (c == '&')
      text += "&amp;";
    else
      text += c;
  }
  return text;
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

}  // namespace

std::string page_html(const DumpSource& source, const Window& window) {
  ordered_json report = simulation_json(source.simulation, source.run);
  report.erase("instructions");
  ordered_json pipe_names = ordered_json::array(), reasons = ordered_json::array(), waves = ordered_json::array();
  for (std::size_t i = 0; i < static_cast<std::size_t>(Pipe::count); ++i)
    pipe_names.push_back(name(static_cast<Pipe>(i)));
  for (std::size_t i = 0; i < pipes::stalls; ++i) reasons.push_back(name(static_cast<pipes::Stall>(i)));
  for (const WaveRecord& record : source.recording.waves) waves.push_back(wave_json(record, window));
  const isa::Machine& machine = source.run.machine;
  const ordered_json data = {{"kernel", source.simulation.symbol()},
                             {"problem", source.problem},
                             {"report", std::move(report)},
                             {"window", {window.first, window.last}},
                             {"turn", machine.turn_clk},
                             {"simds", pipes::simds},
                             {"pipes", std::move(pipe_names)},
                             {"reasons", std::move(reasons)},
                             {"program", program_json(source)},
                             {"waves", std::move(waves)},
                             {"lines", lines_json(source)},
                             {"registers", registers_json(source, window)},
                             {"lds", lds_json(source)},
                             {"peaks",
                              {{"lds_bytes_per_clk", 2 * machine.lds_pair_bytes_per_clk},
                               {"vmem_bytes_per_clk", machine.vmem_bytes_per_clk}}}};
  return replaced(replaced(page_template, "{{title}}", for_html(source.simulation.symbol())), "{{data}}",
                  for_script(data.dump()));
}

}  // namespace zyfa::runtime
