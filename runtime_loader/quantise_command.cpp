#include "runtime_loader/quantise_command.h"

#include "isa/error.h"
#include "runtime_loader/hip/hip_quantise.h"
#include "runtime_loader/progress.h"
#include "runtime_loader/report.h"

#include <cstring>
#include <utility>

namespace zyfa::runtime {
namespace {

template <class Value>
std::size_t differences(const std::vector<Value>& a, const std::vector<Value>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += std::memcmp(&a[i], &b[i], sizeof(Value)) != 0;
  return count;
}

QuantiseRun emulate(const QuantiseCommand& command, const QuantiseKernel& kernel, const QuantiseInputs& inputs) {
  const auto tile = static_cast<std::int64_t>(kernel.manifest.rows_per_workgroup);
  const std::int64_t all = (inputs.rows + tile - 1) / tile * inputs.heads * inputs.batch;
  ProgressBar bar("emulating", static_cast<std::uint64_t>(2 * all));
  EmulationOptions options = command.emulation;
  std::int64_t before = 0;
  options.emulator.progress = [&](std::uint64_t done, std::uint64_t) {
    const auto now = static_cast<std::int64_t>(done);
    if (now < bar.done() - before) before = all;  // the second phase
    bar.done() = before + now;
  };
  return run_quantise_on_emulator(kernel, inputs, options);
}

QuantiseRun run_on_gpu(const QuantiseCommand& command, const QuantiseKernel& kernel, const QuantiseInputs& inputs,
                       const std::shared_ptr<const HipDevice>& device) {
  const HipKernel on_gpu(device, read_file(command.kernel), kernel.manifest.symbol, kernel.manifest.lds_bytes,
                         command.kernel);
  GpuQuantised run = quantise_on_gpu(device, kernel.manifest, on_gpu, inputs, command.emulation.layout);
  return {std::move(run.quantised), {}, run.seconds};
}

}  // namespace

int run_quantise_command(const QuantiseCommand& command) {
  const QuantiseKernel kernel = load_quantise_kernel(command.kernel, command.manifest);
  const generator::QuantiseConfig& config = kernel.manifest.config;
  QuantiseShape shape = command.shape;
  shape.head_dim = config.head_dim;
  quantise_workspace_bytes(kernel.manifest, shape.batch, shape.rows, shape.heads);  // checks the extents
  const QuantiseInputs inputs = make_quantise_inputs(shape, command.seed);
  const std::shared_ptr<const HipDevice> device = command.device ? HipDevice::open(*command.device) : nullptr;
  const QuantiseRun run = device ? run_on_gpu(command, kernel, inputs, device) : emulate(command, kernel, inputs);
  const emulator::Result result = run.result();
  stop_at_trap(result, kernel.manifest.symbol, command.json);
  const Quantised expected = reference_quantise(config.rotation, inputs);
  const std::size_t codes = differences(run.quantised.codes, expected.codes);
  // Without rows no descale is written.
  const std::size_t descales = shape.rows == 0 ? 0 : differences(run.quantised.descales, expected.descales);
  const bool passed = codes == 0 && descales == 0 && result.findings.empty();
  if (command.json) {
    nlohmann::ordered_json json = {{"kernel", kernel.manifest.symbol},
                                   {"backend", device ? "hip" : "emulator"},
                                   {"shape",
                                    {{"batch", shape.batch},
                                     {"rows", shape.rows},
                                     {"heads", shape.heads},
                                     {"heads_per_scale", shape.heads_per_scale},
                                     {"head_dim", shape.head_dim}}},
                                   {"layout", to_string(command.emulation.layout)},
                                   {"input", {{"kind", "gaussian"}, {"seed", command.seed}}},
                                   {"descales", expected.descales},
                                   {"different_codes", codes},
                                   {"different_descales", descales},
                                   {"passed", passed}};
    if (command.emulation.emulator.strict) json["findings"] = findings_json(result);
    if (device) json["device"] = device->info().name;
    json["seconds"] = run.seconds;
    if (!device) json["instructions"] = result.instructions;
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("kernel     {}\n", kernel.manifest.symbol);
    fmt::print("problem    batch {}, {} heads of which {} share a descale, {} rows, layout {}\n", shape.batch,
               shape.heads, shape.heads_per_scale, shape.rows, to_string(command.emulation.layout));
    fmt::print("input      gaussian, seed {}\n", command.seed);
    fmt::print("compared   {} codes, {} of them another than the host's; {} descales, {} of them\n",
               expected.codes.size(), codes, expected.descales.size(), descales);
    if (device)
      fmt::print("device     {}, {:.1f} us\n", device->info().name, run.seconds * 1e6);
    else
      fmt::print("emulation  {:.2f} s, {} instructions\n", run.seconds, result.instructions);
    print_findings(result);
    fmt::print("{}\n", passed ? "PASSED" : "FAILED");
  }
  return passed ? 0 : 1;
}

}  // namespace zyfa::runtime
