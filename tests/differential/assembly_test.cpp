// Two ways from text to bytes and two ways to a program: the distribution's llvm-mc against LLVM inside this process,
// and what decode reads from a code object against what the builder made.
#include "generator/assemble.h"
#include "generator/decode.h"
#include "isa/text.h"
#include "runtime_loader/kernel.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/process.h"

#include <algorithm>

using namespace zyfa;

namespace {

// The file's object bytes as the distribution's assembler makes them.
std::vector<std::byte> llvm_mc(const std::string& assembly) {
  const TemporaryDirectory directory;
  generator::write_file(directory.file("kernel.s"), std::as_bytes(std::span(assembly)));
  const ProcessResult result = run_process({std::string(ZYFA_LLVM_TOOLS_DIR) + "/llvm-mc", "--triple=amdgcn-amd-amdhsa",
                                            "--mcpu=gfx950", "--filetype=obj", "kernel.s", "-o", "kernel.o"},
                                           directory.path());
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return runtime::read_file(directory.file("kernel.o"));
}

// Says so where the distribution's tools are not installed.
bool has_llvm_mc() {
  const std::string tool = std::string(ZYFA_LLVM_TOOLS_DIR) + "/llvm-mc";
  if (std::filesystem::exists(tool)) return true;
  WARN("not compared: there is no " << tool);
  return false;
}

}  // namespace

TEST_CASE("Assembly: llvm-mc gives the same bytes", "[quick][assembly]") {
  if (!has_llvm_mc()) return;
  for (const generator::AttentionConfig& config : all_configurations()) {
    const generator::GeneratedKernel kernel = generator::generate(config, isa::Machine{});
    CAPTURE(kernel.plan.symbol, config.code_object_version);
    CHECK(llvm_mc(kernel.assembly) == generator::assemble(kernel.assembly, kernel.plan.symbol + ".s"));
  }
}

TEST_CASE("Assembly: another text gives other bytes", "[quick][assembly]") {
  if (!has_llvm_mc()) return;
  const generator::GeneratedKernel kernel = generator::generate({}, isa::Machine{});
  std::string changed = kernel.assembly;
  const std::size_t nop = changed.find("  s_nop 0");
  REQUIRE(nop != std::string::npos);
  changed[nop + 8] = '1';
  CHECK(llvm_mc(changed) != generator::assemble(kernel.assembly, kernel.plan.symbol + ".s"));
}

TEST_CASE("Assembly: a code object decodes to the builder's program", "[assembly]") {
  for (const generator::AttentionConfig& config : all_configurations()) {
    const generator::GeneratedKernel kernel = generator::generate(config, isa::Machine{});
    CAPTURE(kernel.plan.symbol, config.code_object_version);
    const generator::CodeObject object = generator::read_code_object(kernel.code_object, "kernel.co");
    const generator::KernelImage& image = generator::find_kernel(object, kernel.plan.symbol, "kernel.co");
    const generator::DecodedKernel decoded = generator::decode(object, image);
    const std::vector<isa::Inst>& built = kernel.body.program.code;
    REQUIRE(decoded.program.code.size() >= built.size());
    for (std::size_t i = 0; i < built.size(); ++i) {
      const isa::Inst& inst = decoded.program.code[i];
      CAPTURE(i, isa::print(built[i]), isa::print(inst));
      REQUIRE(inst == built[i]);
      REQUIRE(to_string(inst.where) == to_string(built[i].where));
    }
    CHECK(decoded.program.code.size() == built.size());
  }
}
