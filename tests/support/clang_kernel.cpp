#include "tests/support/clang_kernel.h"

#include "generator/decode.h"
#include "generator/link.h"
#include "isa/error.h"
#include "isa/isa.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/hsa_launch.h"
#include "runtime_loader/kernel.h"
#include "runtime_loader/load_code.h"
#include "tests/support/process.h"

#include <cstring>

namespace zyfa::tests {
namespace {

// The one beside the LLVM we link, else from the PATH. Empty if there is none.
std::string find_clang() {
  std::vector<std::string> names = {ZYFA_LLVM_TOOLS_DIR "/clang"};
  for (int version = 30; version >= 20; --version) names.push_back(fmt::format("clang-{}", version));
  for (const std::string& name : names) try {
      const ProcessResult cpus = run_process({name, "--target=amdgcn-amd-amdhsa", "--print-supported-cpus"});
      if ((cpus.out + cpus.err).find("gfx950") != std::string::npos) return name;
    } catch (const Error&) {  // not there
    }
  return {};
}

const std::string& clang() {
  static const std::string found = find_clang();
  return found;
}

void write(std::vector<std::byte>& segment, std::size_t offset, const void* from, std::size_t size) {
  segment.resize(std::max(segment.size(), offset + size));
  std::memcpy(segment.data() + offset, from, size);
}

std::string summary(emulator::Result result, const Grid& grid) {
  if (result.trap) return result.trap->message;
  if (grid.makes_infinities)
    std::erase_if(result.findings, [](const emulator::Finding& finding) {
      return finding.rule == emulator::StrictRule::nan_born || finding.rule == emulator::StrictRule::infinity_born;
    });
  if (result.findings.empty()) return {};
  return fmt::format("{} (and {} more)", result.findings[0].message,
                     result.findings.size() - 1 + result.findings_left_out);
}

}  // namespace

bool have_clang() { return !clang().empty(); }

// Without contraction, as the host's code: a fused product is another number. No library and no headers but clang's.
std::vector<std::byte> compile_kernels(const std::string& file, const std::vector<std::string>& defines) {
  const TemporaryDirectory directory;
  const std::string object = directory.file("kernel.o");
  std::vector<std::string> command = {
      clang(), "--target=amdgcn-amd-amdhsa", "-mcpu=gfx950", "-nogpulib", "-ffreestanding",     "-std=gnu17",
      "-O3",   "-ffp-contract=off",          "-Wall",        "-Werror",   "-I" ZYFA_SOURCE_DIR, "-c"};
  command.insert(command.end(), defines.begin(), defines.end());
  command.insert(command.end(), {ZYFA_SOURCE_DIR "/tests/differential/kernels/" + file, "-o", object});
  const ProcessResult result = run_process(command);
  if (result.exit_code != 0) throw Error("clang does not compile {}: {}", file, result.err);
  return generator::link(runtime::read_file(object));
}

ClangKernels::ClangKernels(const std::string& file, const std::vector<std::string>& defines)
    : file_(file), object_(generator::read_code_object(compile_kernels(file, defines), file)) {}

std::set<std::string, std::less<>> ClangKernels::mnemonics(const std::string& symbol) const {
  std::set<std::string, std::less<>> names;
  for (const isa::Inst& inst : generator::decode(object_, generator::find_kernel(object_, symbol, file_)).program.code)
    names.emplace(isa::desc(inst.op).name);
  return names;
}

std::string ClangKernels::launch(const std::string& symbol, Grid grid, KernelArguments& arguments) const {
  const generator::KernelImage& image = generator::find_kernel(object_, symbol, file_);
  const generator::DecodedKernel kernel = generator::decode(object_, image);

  emulator::GlobalMemory memory;
  std::vector<std::byte> segment;
  for (std::size_t i = 0; i < arguments.arguments_.size(); ++i) {
    auto& [is_buffer, alignment, bytes] = arguments.arguments_[i];
    const std::size_t offset = (segment.size() + alignment - 1) / alignment * alignment;
    if (is_buffer) {
      const std::uint64_t address = memory.place(fmt::format("argument {}", i), bytes);
      write(segment, offset, &address, sizeof address);
    } else {
      write(segment, offset, bytes.data(), bytes.size());
    }
  }
  const std::size_t passed = segment.size();
  const runtime::LaunchShape shape{.grid = {grid.workgroups, 1, 1}, .block = {grid.workgroup_size, 1, 1}};
  std::size_t taken = 0;
  for (const generator::KernelArgument& argument : image.arguments) {
    if (argument.kind.starts_with("hidden_"))
      runtime::write_hidden_argument(segment, argument, shape);
    else
      taken = argument.offset + argument.size;
  }
  if (taken > passed) throw Error("kernel {} takes {} bytes of arguments, the test passes {}", symbol, taken, passed);
  segment.resize(std::max<std::size_t>(segment.size(), image.descriptor.kernarg_bytes));

  const runtime::LoadedCode loaded(object_, memory);
  emulator::Launch launch = runtime::initial_state(image.descriptor);
  launch.entry = kernel.entry;
  launch.code_address = runtime::code_address(object_);
  launch.grid = shape.grid;
  launch.workgroup_size = shape.block;
  launch.unaligned_access = true;  // the HSA's mode, which clang counts on for packed data
  launch.kernarg_address = memory.place_read_only("kernel arguments", segment);
  const std::vector<std::byte> packet = runtime::dispatch_packet(shape);
  launch.dispatch_address = memory.place_read_only("dispatch packet", packet);
  emulator::Options options;
  options.strict = true;
  options.threads = 1;
  options.max_instructions = 10'000'000;
  return summary(emulator::run(kernel.program, launch, memory, options), grid);
}

std::string bit_difference(const std::string& name, std::span<const std::byte> expected, std::span<const std::byte> got,
                           std::size_t element_bytes) {
  if (expected.size() != got.size())
    return fmt::format("{}: expected {} bytes, got {}", name, expected.size(), got.size());
  for (std::size_t at = 0; at < got.size(); at += element_bytes) {
    std::uint64_t e = 0, g = 0;
    std::memcpy(&e, expected.data() + at, element_bytes);
    std::memcpy(&g, got.data() + at, element_bytes);
    if (e != g)
      return fmt::format("{} element {}: expected {:#0{}x}, got {:#0{}x}", name, at / element_bytes, e,
                         2 + 2 * element_bytes, g, 2 + 2 * element_bytes);
  }
  return {};
}

}  // namespace zyfa::tests
