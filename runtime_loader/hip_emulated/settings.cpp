#include "runtime_loader/hip_emulated/settings.h"

#include "isa/error.h"

#include <dlfcn.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace zyfa::hip_emulated {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int number(const char* name, int otherwise, int least, int most) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    throw Error("{} is '{}', not a number from {} to {}", name, text, least, most);
  return value;
}

// Structs and enumerations changed with HIP 6, and a host program finds its version by the library's name.
int api_of_file_name() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&read_settings), &info) == 0 || info.dli_fname == nullptr) return 7;
  const std::string_view name = info.dli_fname;
  for (const int api : {5, 6})
    if (name.ends_with(fmt::format("libamdhip64.so.{}", api))) return api;
  return 7;
}

}  // namespace

Settings read_settings() {
  Settings settings;
  constexpr int most_devices = 16, most_threads = 1024;
  settings.devices = number("ZYFA_HIP_EMULATED_DEVICES", 1, 0, most_devices);
  const int host = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  settings.threads = number("ZYFA_HIP_EMULATED_THREADS", host, 1, most_threads);
  if (const std::string_view arch = variable("ZYFA_HIP_EMULATED_ARCH"); !arch.empty()) {
    if (!arch.starts_with("gfx") || arch.size() >= 256)
      throw Error("ZYFA_HIP_EMULATED_ARCH is '{}', not an architecture such as gfx942:sramecc+:xnack-", arch);
    settings.arch = arch;
  }
  const std::string_view model = variable("ZYFA_HIP_EMULATED_MEMORY_MODEL");
  if (!model.empty() && model != "hardware" && model != "architecture")
    throw Error("ZYFA_HIP_EMULATED_MEMORY_MODEL is '{}'; accepted are hardware, architecture", model);
  settings.memory_model =
      model == "architecture" ? emulator::MemoryModel::architecture : emulator::MemoryModel::hardware;
  settings.api = api_of_file_name();
  return settings;
}

}  // namespace zyfa::hip_emulated
