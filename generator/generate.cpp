#include "generator/generate.h"

#include "generator/assemble.h"
#include "generator/emit.h"
#include "generator/link.h"
#include "generator/machine_file.h"
#include "generator/sha256.h"
#include "schedules/catalog.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace zyfa::generator {

namespace fs = std::filesystem;

namespace {

template <class Plan>
Generated<Plan> generate_from(const Plan& plan, const isa::Machine& machine) {
  Generated<Plan> kernel{.plan = plan, .body = {}, .assembly = {}, .code_object = {}, .manifest = {}};
  // Another machine gives other bytes, so it gives another name.
  if (const auto changes = changed_values(machine); !changes.empty()) {
    const std::string text = changes.dump();
    kernel.plan.symbol += "_machine" + sha256(std::as_bytes(std::span(text))).substr(0, 8);
  }
  kernel.body = schedules::build_kernel(kernel.plan, machine);
  kernel.assembly = emit_assembly(kernel.plan, kernel.body);
  kernel.code_object = link(assemble(kernel.assembly, kernel.plan.symbol + ".s"));
  kernel.manifest = make_manifest(kernel.plan, kernel.body, machine, kernel.code_object);
  return kernel;
}

template <class Plan>
KernelFiles write_files(const Generated<Plan>& kernel, const fs::path& directory) {
  make_directory(directory);
  const std::string stem = (directory / kernel.plan.symbol).string();
  KernelFiles files{stem + ".s", stem + ".co", stem + ".json"};
  write_file(files.assembly, std::as_bytes(std::span(kernel.assembly)));
  write_file(files.code_object, kernel.code_object);
  const std::string manifest = kernel.manifest.dump(2) + "\n";
  write_file(files.manifest, std::as_bytes(std::span(manifest)));
  return files;
}

}  // namespace

GeneratedKernel generate(const AttentionConfig& config, const isa::Machine& machine) {
  return generate_plan(make_plan(config), machine);
}

GeneratedKernel generate_plan(const AttentionPlan& plan, const isa::Machine& machine) {
  return generate_from(plan, machine);
}

GeneratedQuantise generate_quantise(const QuantiseConfig& config, const isa::Machine& machine) {
  return generate_from(make_quantise_plan(config), machine);
}

void write_file(const fs::path& file, std::span<const std::byte> bytes) {
  const fs::path partial = file.string() + ".partial";
  {
    std::ofstream stream(partial, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    stream.close();
    if (!stream) {
      const std::string reason = std::strerror(errno);
      std::error_code ignored;
      fs::remove(partial, ignored);
      throw Error("cannot write {}: {}", file.string(), reason);
    }
  }
  std::error_code error;
  fs::rename(partial, file, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(partial, ignored);
  throw Error("cannot write {}: {}", file.string(), error.message());
}

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw Error("cannot create directory {}: {}", directory.string(), error.message());
}

KernelFiles write_kernel(const GeneratedKernel& kernel, const fs::path& directory) {
  return write_files(kernel, directory);
}

KernelFiles write_kernel(const GeneratedQuantise& kernel, const fs::path& directory) {
  return write_files(kernel, directory);
}

}  // namespace zyfa::generator
