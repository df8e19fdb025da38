#include "runtime_loader/library/open_kernel.h"

#include "generator/json_file.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/library/arguments.h"
#include "runtime_loader/library/failure.h"
#include "runtime_loader/library/host_memory.h"

#include <utility>

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;

// What `read` returns, its errors as those of a damaged kernel.
template <class Read>
auto undamaged(Read read) {
  try {
    return read();
  } catch (const Failure&) {
    throw;
  } catch (const Error& error) {
    throw Failure(ZYFA_BAD_CODE_OBJECT, "{}", error.what());
  }
}

void check_exists(const fs::path& file, const char* what) {
  std::error_code error;
  if (!fs::exists(file, error)) throw Failure(ZYFA_FILE_NOT_FOUND, "there is no {} {}", what, file.string());
}

generator::Manifest manifest_of(const nlohmann::json& json, const std::string& source) {
  const auto version = json.is_object() ? json.find("manifest_version") : json.end();
  if (json.is_object() && version != json.end() && version->is_number_integer() &&
      *version != generator::manifest_version)
    throw Failure(ZYFA_ABI_MISMATCH, "{} has manifest version {}; this library reads {}", source, version->dump(),
                  generator::manifest_version);
  return generator::manifest_from_json(json, source);
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

}  // namespace

OpenKernel::OpenKernel(Device device, std::span<const std::byte> code_object, generator::Manifest manifest,
                       const std::string& name)
    : loaded_(make_kernel(code_object, std::move(manifest), name)) {
  if (device)
    on_gpu_.emplace(std::move(device), code_object, loaded_.manifest.symbol, loaded_.manifest.lds_bytes, name);
}

OpenKernel OpenKernel::from_files(Device device, const fs::path& code_object, const fs::path& manifest) {
  const fs::path json = manifest.empty() ? fs::path(code_object).replace_extension(".json") : manifest;
  check_exists(code_object, "code object");
  check_exists(json, "manifest");
  return undamaged([&] {
    return OpenKernel(std::move(device), read_file(code_object),
                      manifest_of(generator::read_json_file(json), json.string()), code_object.string());
  });
}

OpenKernel OpenKernel::from_memory(Device device, std::span<const std::byte> code_object,
                                   std::string_view manifest_json) {
  return undamaged([&] {
    return OpenKernel(std::move(device), code_object,
                      manifest_of(generator::parse_json(manifest_json, "the manifest"), "the manifest"),
                      "the code object");
  });
}

void OpenKernel::launch(const zyfa_attention& arguments, void* stream) const {
  const generator::AttentionKernargs kernargs = attention_kernargs(manifest(), arguments);
  if (on_gpu_) {
    on_gpu_->launch(
        attention_grid(manifest(), kernargs.seqlen_q, kernargs.heads, static_cast<std::uint32_t>(arguments.batch)),
        std::as_bytes(std::span(&kernargs, 1)), stream);
    return;
  }
  if (stream) throw Failure(ZYFA_INVALID_ARGUMENT, "stream is not null; the emulator has no streams");
  const emulator::Result result = launch_on_emulator(loaded_, kernargs, arguments.heads, arguments.batch,
                                                     host_memory(manifest(), kernargs, arguments).map());
  if (result.trap) throw Failure(ZYFA_KERNEL_TRAPPED, "{}", result.trap->message);
}

}  // namespace zyfa::runtime
