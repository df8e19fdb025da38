#include "runtime_loader/hip_emulated/modules.h"

#include "isa/error.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/hip_emulated/bundle.h"
#include "runtime_loader/hip_emulated/settings.h"

#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>

namespace zyfa::hip_emulated {
namespace {

constexpr std::uint64_t most_image_bytes = std::uint64_t{1} << 32;

LoadedModule refused(hipError_t error, std::string problem) { return {error, std::move(problem), nullptr, {}}; }

std::string targets(const std::vector<BundleEntry>& entries) {
  std::string all;
  for (const BundleEntry& entry : entries)
    if (const std::string_view target = bundle_target(entry); !target.empty())
      all += fmt::format("{}{}", all.empty() ? "" : ", ", target);
  return all.empty() ? "none" : all;
}

std::shared_ptr<const Function> make_function(const std::shared_ptr<Module>& module,
                                              const generator::KernelImage& image) {
  Function function{module, &image, {}, {}};
  try {
    function.code = generator::decode(module->object, image);
    runtime::initial_state(image.descriptor);
  } catch (const Error& error) {
    function.lack = error.what();
  }
  return std::make_shared<const Function>(std::move(function));
}

// Reads this process' memory where there may be none.
bool read_memory(const void* from, std::span<std::byte> into) {
  const iovec local{into.data(), into.size()};
  const iovec remote{const_cast<void*>(from), into.size()};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(into.size());
}

}  // namespace

Module::Module(generator::CodeObject code_object, std::string file_name)
    : name(std::move(file_name)), object(std::move(code_object)), loaded(object) {}

LoadedModule load_module(std::span<const std::byte> file, const std::string& name, const Settings& settings) {
  if (is_compressed_bundle(file))
    return refused(hipErrorInvalidImage,
                   name + " is a compressed bundle, which this library does not read (hipcc --no-offload-compress)");
  if (is_bundle(file)) {
    const auto entries = bundle_entries(file);
    if (!entries) return refused(hipErrorInvalidImage, name + " is a bundle that is cut short");
    const auto fit = std::ranges::find_if(
        *entries, [&](const BundleEntry& entry) { return runs_on(bundle_target(entry), settings.arch); });
    if (fit == entries->end())
      return refused(hipErrorNoBinaryForGpu,
                     fmt::format("{} holds code for {}, the device is {}", name, targets(*entries), settings.arch));
    return load_module(file.subspan(fit->offset, fit->size), name, settings);
  }
  const std::optional<std::string> target = elf_target(file);
  if (!target) return refused(hipErrorInvalidImage, name + " is neither a code object for AMD's GPUs nor a bundle");
  if (!runs_on(*target, settings.arch))
    return refused(hipErrorNoBinaryForGpu, fmt::format("{} is for {}, the device is {}", name, *target, settings.arch));
  if (settings.processor() != "gfx950")
    return refused(hipErrorNoBinaryForGpu,
                   fmt::format("{} is for {}; the device is one by name alone, what runs is gfx950", name, *target));
  try {
    LoadedModule loaded;
    loaded.module = std::make_shared<Module>(generator::read_code_object(file, name), name);
    for (const generator::KernelImage& image : loaded.module->object.kernels)
      loaded.functions.push_back(make_function(loaded.module, image));
    return loaded;
  } catch (const Error& error) {
    return refused(hipErrorInvalidImage, error.what());
  }
}

LoadedModule load_module(const void* image, const Settings& settings) {
  const auto* at = static_cast<const std::byte*>(image);
  const std::uint64_t bytes = image_bytes([&](std::uint64_t offset, std::span<std::byte> into) {
    return offset < most_image_bytes && read_memory(at + offset, into);
  });
  if (bytes == 0 || bytes > most_image_bytes)
    return refused(hipErrorInvalidImage, "the image is neither a code object for AMD's GPUs nor a bundle");
  std::vector<std::byte> copy(bytes);
  if (!read_memory(image, copy)) return refused(hipErrorInvalidImage, "the image is cut short");
  return load_module(copy, "the image", settings);
}

}  // namespace zyfa::hip_emulated
