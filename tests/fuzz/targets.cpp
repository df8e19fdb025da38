#include "tests/fuzz/targets.h"

#include "generator/assemble.h"
#include "generator/config.h"
#include "generator/decode.h"
#include "generator/json_file.h"
#include "generator/machine_file.h"
#include "generator/manifest.h"
#include "generator/quantise_manifest.h"
#include "isa/isa.h"
#include "isa/text.h"
#include "runtime_loader/aiter_run.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/tensor_file.h"
#include "tests/fuzz/seeds.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace zyfa::fuzz {
namespace {

void require(bool holds, std::string_view property, std::string_view subject) {
  if (!holds) throw Broken(fmt::format("{}: `{}`", property, subject));
}

// Runs what must end well or in an Error.
template <class Step>
Outcome outcome_of(Step step) {
  try {
    return step();
  } catch (const Error& error) {
    const std::string_view text = error.what();
    require(!text.empty() && text.find('\n') == text.npos, "an error is one line", text);
    return Outcome::refused;
  }
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Two waves for a few hundred instructions: plain, as hardware does it, strict, and with random timing. Every quadword
// of the arguments is the address of the same writable buffer, so that loads and stores get somewhere.
Outcome run_briefly(const isa::Program& program, emulator::Launch launch) {
  constexpr std::size_t argument_bytes = 4096, buffer_bytes = 16384;
  std::vector<std::byte> buffer(buffer_bytes);
  std::vector<std::uint64_t> arguments(argument_bytes / sizeof(std::uint64_t));
  emulator::GlobalMemory memory;
  std::ranges::fill(arguments, memory.place("buffer", buffer));
  launch.kernarg_address = memory.place_read_only("arguments", std::as_bytes(std::span(arguments)));
  launch.workgroup_size = {128, 1, 1};
  bool trapped = false;
  for (const int mode : {0, 1, 2, 3}) {
    launch.memory_model = mode == 1 ? emulator::MemoryModel::hardware : emulator::MemoryModel::architecture;
    emulator::Options options;
    options.threads = 1;
    options.max_instructions = 300;
    options.strict = mode >= 2;
    if (mode == 3) options.shuffle_seed = 1;
    const emulator::Result result = emulator::run(program, launch, memory, options);
    require(!result.trap || result.trap->message.find('\n') == std::string::npos, "a trap is one line", "");
    trapped = trapped || result.trap;
  }
  return trapped ? Outcome::trapped : Outcome::accepted;
}

// text.h: parse(print(i)) == i for whatever validate() accepts. What it doesn't accept prints all the same.
bool is_sound(const isa::Inst& inst) {
  const std::string text = isa::print(inst);
  if (!isa::validate(inst).empty()) return false;
  require(isa::parse(text) == inst, "printed text parses to the same instruction", text);
  return true;
}

Outcome take_code(std::span<const std::byte> input) {
  constexpr std::size_t most_bytes = 4096;
  const auto code = input.first(std::min(input.size(), most_bytes) / 4 * 4);
  isa::Program program;
  std::size_t offset = 0;
  for (const generator::DisassembledLine& line : generator::disassemble(code)) {
    require(line.offset == offset && line.size >= 4, "instructions follow each other without gaps", line.text);
    offset += line.size;
    outcome_of([&] {
      const isa::Inst inst = isa::parse(line.text);
      if (is_sound(inst)) program.code.push_back(inst);
      return Outcome::accepted;
    });
  }
  require(offset == code.size(), "all code is decoded", "");
  if (program.code.empty()) return Outcome::refused;
  emulator::Launch launch;
  launch.lds_bytes = 4096;
  return outcome_of([&] { return run_briefly(program, launch); });
}

// One query and one key on one of AITER's objects, whose symbol says what the arguments are; also from given inputs, as
// zyfa-sim makes them.
Outcome run_as_aiter(std::span<const std::byte> input, runtime::AiterAbi abi) {
  const runtime::AiterKernel kernel = runtime::read_aiter_kernel(input, "input.co", abi);
  const runtime::AiterProblem problem{.sequences = {{1, 1}}};
  if (kernel.format.plain)
    runtime::encode_aiter_inputs(
        kernel, runtime::make_inputs(runtime::shape_of(kernel, problem, 0), runtime::InputKind::gaussian, 1, 1));
  emulator::Options options;
  options.threads = 1;
  options.max_instructions = 300;
  const runtime::AiterRun run =
      runtime::run_aiter(kernel, problem, runtime::make_aiter_inputs(kernel, problem), options);
  require(!run.result.trap || run.result.trap->message.find('\n') == std::string::npos, "a trap is one line", "");
  return run.result.trap ? Outcome::trapped : Outcome::accepted;
}

Outcome take_code_object(std::span<const std::byte> input) {
  constexpr std::size_t most_kernels = 3;
  Outcome best = Outcome::refused;
  outcome_of([&] {
    const generator::CodeObject object = generator::read_code_object(input, "input.co");
    for (const generator::KernelImage& image :
         std::span(object.kernels).first(std::min(most_kernels, object.kernels.size())))
      best = std::max(best, outcome_of([&] {
                        const generator::DecodedKernel kernel = generator::decode(object, image);
                        return run_briefly(kernel.program, runtime::initial_state(image.descriptor));
                      }));
    return best;
  });
  for (const auto abi : {runtime::AiterAbi::v3, runtime::AiterAbi::v3_group, runtime::AiterAbi::v4})
    best = std::max(best, outcome_of([&] { return run_as_aiter(input, abi); }));
  return best;
}

Outcome take_text(std::span<const std::byte> input) {
  constexpr std::size_t most_bytes = 16384;
  const std::string_view text = as_text(input).substr(0, most_bytes);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    outcome_of([&] {
      is_sound(isa::parse(text.substr(start, end - start)));
      return Outcome::accepted;
    });
    start = end + 1;
  }
  emulator::Launch launch;
  launch.lds_bytes = 4096;
  return outcome_of([&] { return run_briefly(isa::parse_program(text), launch); });
}

// The readers under test open files themselves.
class InputFile {
 public:
  InputFile(std::span<const std::byte> bytes, std::string_view suffix)
      : path_(std::filesystem::temp_directory_path() / fmt::format("zyfa_fuzz_{}{}", ::getpid(), suffix)) {
    std::ofstream(path_, std::ios::binary).write(as_text(bytes).data(), static_cast<std::streamsize>(bytes.size()));
  }
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Outcome take_json(std::span<const std::byte> input) {
  const InputFile file(input, ".json");
  const auto config = outcome_of([&] {
    generator::to_json(generator::config_from_json(generator::read_json_file(file.path()), "input.json")).dump();
    return Outcome::accepted;
  });
  const auto machine = outcome_of([&] {
    generator::changed_values(generator::load_machine(file.path())).dump();
    return Outcome::accepted;
  });
  const auto manifest = outcome_of([&] {
    generator::read_manifest(file.path());
    return Outcome::accepted;
  });
  const auto quantise = outcome_of([&] {
    generator::quantise_manifest_from_json(generator::read_json_file(file.path()), "input.json");
    return Outcome::accepted;
  });
  return std::max({config, machine, manifest, quantise});
}

Outcome take_tensor(std::span<const std::byte> input) {
  Outcome best = Outcome::refused;
  for (const std::string_view suffix : {".npy", ".safetensors"})
    best = std::max(best, outcome_of([&] {
                      const InputFile file(input, suffix);
                      const runtime::Tensor tensor = runtime::load_tensor(file.path().string());
                      const auto elements = static_cast<std::size_t>(runtime::element_count(tensor.shape));
                      require(tensor.bytes.size() == elements * runtime::element_bytes(tensor.type),
                              "a tensor is as large as its shape", runtime::shape_text(tensor.shape));
                      runtime::to_floats(tensor);
                      return Outcome::accepted;
                    }));
  return best;
}

constexpr Target all_targets[] = {{"decoder", take_code, code_seeds},
                                  {"code_object", take_code_object, code_object_seeds},
                                  {"text", take_text, text_seeds},
                                  {"json", take_json, json_seeds},
                                  {"tensor", take_tensor, tensor_seeds}};

}  // namespace

std::span<const Target> targets() { return all_targets; }

const Target& find_target(std::string_view name) {
  std::string names;
  for (const Target& target : all_targets) {
    if (target.name == name) return target;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", target.name);
  }
  throw Error("there is no fuzz target '{}'; there are {}", name, names);
}

}  // namespace zyfa::fuzz
