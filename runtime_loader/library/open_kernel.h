// A kernel on a device of either backend.
#pragma once

#include "runtime_loader/hip/hip_device.h"
#include "runtime_loader/kernel.h"
#include "runtime_loader/library/zyfa.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <variant>

namespace zyfa::runtime {

// Where kernels run: a GPU, or the emulator where it is null.
using Device = std::shared_ptr<const HipDevice>;

class OpenKernel {
 public:
  // `manifest` empty: the .json beside the code object. Throws Failure ZYFA_FILE_NOT_FOUND, ZYFA_ABI_MISMATCH,
  // ZYFA_BAD_CODE_OBJECT and what HipKernel throws.
  static OpenKernel from_files(Device device, const std::filesystem::path& code_object,
                               const std::filesystem::path& manifest);
  static OpenKernel from_memory(Device device, std::span<const std::byte> code_object, std::string_view manifest_json);

  // Throw Failure ZYFA_INVALID_ARGUMENT for a kernel of another kind.
  const generator::Manifest& attention_manifest() const { return attention().manifest; }
  const generator::QuantiseManifest& quantise_manifest() const { return quantise().manifest; }
  zyfa_kernel_info info() const;

  // Throw Failure: ZYFA_INVALID_ARGUMENT, ZYFA_KERNEL_TRAPPED, ZYFA_HIP_ERROR.
  void launch(const zyfa_attention& arguments, void* stream) const;
  void launch(const zyfa_quantise& arguments, void* stream) const;

 private:
  OpenKernel(Device device, std::span<const std::byte> code_object, const nlohmann::json& manifest,
             const std::string& source, const std::string& name);

  const Kernel& attention() const;
  const QuantiseKernel& quantise() const;

  std::variant<Kernel, QuantiseKernel> loaded_;
  std::optional<HipKernel> on_gpu_;
};

}  // namespace zyfa::runtime
