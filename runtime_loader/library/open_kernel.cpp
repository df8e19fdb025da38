#include "runtime_loader/library/open_kernel.h"

#include "generator/manifest_fields.h"
#include "generator/plan.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/library/arguments.h"
#include "runtime_loader/library/failure.h"
#include "runtime_loader/library/host_memory.h"
#include "runtime_loader/quantise_emulate.h"

#include <utility>

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;

void check_exists(const fs::path& file, const char* what) {
  std::error_code error;
  if (!fs::exists(file, error)) throw Failure(ZYFA_FILE_NOT_FOUND, "there is no {} {}", what, file.string());
}

std::variant<Kernel, QuantiseKernel> load(std::span<const std::byte> code_object, const nlohmann::json& manifest,
                                          const std::string& source, const std::string& name) {
  if (!has_known_version(manifest))
    throw Failure(ZYFA_ABI_MISMATCH, "{} has manifest version {}; this library reads {}", source,
                  manifest.at("manifest_version").dump(), generator::manifest_version);
  if (generator::manifest_kind(manifest, source) == "quantise")
    return make_kernel(code_object, generator::quantise_manifest_from_json(manifest, source), name);
  return make_kernel(code_object, generator::manifest_from_json(manifest, source), name);
}

HostMemory host_memory(const generator::Manifest& manifest, const generator::AttentionKernargs& k,
                       const zyfa_attention& a) {
  using enum HostMemory::Access;
  const generator::AttentionConfig& config = manifest.config;
  HostMemory memory;
  memory.add("q", read, k.q, k.q_stride, a.batch, a.seqlen_q, a.heads, config.head_dim * config.q_element_bytes());
  memory.add("k", read, k.k, k.k_stride, a.batch, a.seqlen_k, a.kv_heads, config.head_dim);
  memory.add("v", read, k.v, k.v_stride, a.batch, a.seqlen_k, a.kv_heads, config.v_head_dim);
  memory.add("o", write, k.o, k.o_stride, a.batch, a.seqlen_q, a.heads, std::int64_t{config.v_head_dim} * 2);
  if (config.lse) memory.add("lse", write, k.lse, k.lse_stride, a.batch, a.heads, a.seqlen_q * 4);
  if (k.q_descale != 0) memory.add("q_descale", read, k.q_descale, k.q_descale_stride, a.batch, a.kv_heads, 4);
  if (k.k_descale != 0) memory.add("k_descale", read, k.k_descale, k.k_descale_stride, a.batch, a.kv_heads, 4);
  if (k.v_descale != 0) memory.add("v_descale", read, k.v_descale, k.v_descale_stride, a.batch, a.kv_heads, 4);
  return memory;
}

HostMemory host_memory(const generator::QuantiseManifest& manifest, const QuantiseProblem& p,
                       std::size_t workspace_bytes) {
  using enum HostMemory::Access;
  const std::int64_t dim = manifest.config.head_dim, scales = p.heads / p.heads_per_scale;
  HostMemory memory;
  memory.add("x", read, p.x, p.x_stride, p.batch, p.rows, p.heads, 2 * dim);
  memory.add("codes", write, p.codes, p.codes_stride, p.batch, p.rows, p.heads, dim);
  memory.add("descale", write, p.descale, p.descale_stride, p.batch, scales, 4);
  memory.add("workspace", write, p.workspace, {}, 1, 1, static_cast<std::int64_t>(workspace_bytes));
  if (p.k_descale != 0) memory.add("k_descale", read, p.k_descale, p.k_descale_stride, p.batch, scales, 4);
  return memory;
}

void check_emulated(void* stream) {
  if (stream) throw Failure(ZYFA_INVALID_ARGUMENT, "stream is not null; the emulator has no streams");
}

void check_ran(const emulator::Result& result) {
  if (result.trap) throw Failure(ZYFA_KERNEL_TRAPPED, "{}", result.trap->message);
}

}  // namespace

OpenKernel::OpenKernel(Device device, std::span<const std::byte> code_object, const nlohmann::json& manifest,
                       const std::string& source, const std::string& name)
    : loaded_(load(code_object, manifest, source, name)) {
  if (!device) return;
  const zyfa_kernel_info read = info();
  on_gpu_.emplace(std::move(device), code_object, read.symbol, read.lds_bytes, name);
}

OpenKernel OpenKernel::from_files(Device device, const fs::path& code_object, const fs::path& manifest) {
  const fs::path json = manifest.empty() ? fs::path(code_object).replace_extension(".json") : manifest;
  check_exists(code_object, "code object");
  check_exists(json, "manifest");
  return with_status(ZYFA_BAD_CODE_OBJECT, [&] {
    return OpenKernel(std::move(device), read_file(code_object), generator::read_json_file(json), json.string(),
                      code_object.string());
  });
}

OpenKernel OpenKernel::from_memory(Device device, std::span<const std::byte> code_object,
                                   std::string_view manifest_json) {
  return with_status(ZYFA_BAD_CODE_OBJECT, [&] {
    return OpenKernel(std::move(device), code_object, generator::parse_json(manifest_json, "the manifest"),
                      "the manifest", "the code object");
  });
}

zyfa_kernel_info OpenKernel::info() const {
  zyfa_kernel_info info{};
  std::visit(
      [&](const auto& kernel) {
        info.symbol = kernel.manifest.symbol.c_str();
        info.traits = traits_of(kernel.manifest);
        info.workgroup_size = static_cast<std::int32_t>(kernel.manifest.workgroup_size);
        info.lds_bytes = static_cast<std::int32_t>(kernel.manifest.lds_bytes);
        info.kernarg_bytes = static_cast<std::int32_t>(kernel.manifest.kernarg_bytes);
        info.max_row_stride_bytes = kernel.manifest.max_row_stride_bytes;
      },
      loaded_);
  const auto* attention = std::get_if<Kernel>(&loaded_);
  info.rows_per_workgroup = static_cast<std::int32_t>(attention ? attention->manifest.queries_per_workgroup
                                                                : quantise_manifest().rows_per_workgroup);
  info.alignment_bytes = tensor_alignment_bytes;
  info.max_heads = generator::max_heads;
  info.max_batch = generator::max_batch;
  info.max_seqlen = generator::max_seqlen;
  return info;
}

const Kernel& OpenKernel::attention() const {
  if (const auto* kernel = std::get_if<Kernel>(&loaded_)) return *kernel;
  throw Failure(ZYFA_INVALID_ARGUMENT, "kernel is {}, which quantises; an attention kernel is needed", info().symbol);
}

const QuantiseKernel& OpenKernel::quantise() const {
  if (const auto* kernel = std::get_if<QuantiseKernel>(&loaded_)) return *kernel;
  throw Failure(ZYFA_INVALID_ARGUMENT, "kernel is {}, of attention; one that quantises is needed", info().symbol);
}

void OpenKernel::launch(const zyfa_attention& arguments, void* stream) const {
  const Kernel& kernel = attention();
  const generator::AttentionKernargs kernargs = attention_kernargs(kernel.manifest, arguments);
  if (on_gpu_) {
    on_gpu_->launch(
        attention_grid(kernel.manifest, kernargs.seqlen_q, kernargs.heads, static_cast<std::uint32_t>(arguments.batch)),
        std::as_bytes(std::span(&kernargs, 1)), stream);
    return;
  }
  check_emulated(stream);
  check_ran(launch_on_emulator(kernel, kernargs, arguments.heads, arguments.batch,
                               host_memory(kernel.manifest, kernargs, arguments).map()));
}

void OpenKernel::launch(const zyfa_quantise& arguments, void* stream) const {
  const QuantiseKernel& kernel = quantise();
  const QuantiseLaunches launches = quantise_launches(kernel.manifest, arguments);
  if (on_gpu_) {
    for (const generator::QuantiseKernargs& phase : launches.phases)
      on_gpu_->launch(launches.grid, std::as_bytes(std::span(&phase, 1)), stream);
    return;
  }
  check_emulated(stream);
  const QuantiseProblem problem = quantise_problem(arguments);
  const HostMemory memory = host_memory(kernel.manifest, problem, quantise_workspace(kernel.manifest, arguments));
  for (const emulator::Result& phase : launch_quantise_on_emulator(kernel, problem, memory.map())) check_ran(phase);
}

}  // namespace zyfa::runtime
