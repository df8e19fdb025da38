// The C interface: C++ objects behind its handles, exceptions turned into statuses.

#include "runtime_loader/library/arguments.h"
#include "runtime_loader/library/failure.h"
#include "runtime_loader/library/kernel_folder.h"
#include "runtime_loader/library/open_kernel.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

using zyfa::Error;
using zyfa::runtime::Device;
using zyfa::runtime::Failure;
using zyfa::runtime::HipDevice;
using zyfa::runtime::LaunchGrid;
using zyfa::runtime::OpenKernel;

struct zyfa_device {
  Device device;
};

struct zyfa_kernel {
  OpenKernel kernel;
};

namespace {

// zyfa_last_error has no handle to keep the text in: it belongs to the thread, like errno.
thread_local std::string last_error;

zyfa_status failed(zyfa_status status, const char* message) noexcept {
  try {
    last_error = message;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

template <class Body>
zyfa_status status_of(Body body) noexcept {
  try {
    body();
    return ZYFA_OK;
  } catch (const Failure& failure) {
    return failed(failure.status(), failure.what());
  } catch (const std::bad_alloc&) {
    return failed(ZYFA_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception& error) {
    return failed(ZYFA_INTERNAL_ERROR, error.what());
  }
}

template <class Pointer>
void need(Pointer* pointer, const char* name) {
  if (!pointer) throw Failure(ZYFA_INVALID_ARGUMENT, "{} is null", name);
}

template <std::size_t size>
void copy_text(const std::string& from, char (&to)[size]) {
  to[from.copy(to, size - 1)] = '\0';
}

zyfa_device_info describe(const Device& device) {
  zyfa_device_info info{};
  info.backend = device ? ZYFA_HIP : ZYFA_EMULATOR;
  if (!device) {
    const zyfa::isa::Machine machine;
    copy_text("emulator", info.name);
    copy_text("gfx950", info.arch);
    copy_text("emulator", info.runtime);
    info.compute_units = machine.compute_units;
    info.dies = machine.dies;
    info.lds_bytes = machine.lds_bytes;
    return info;
  }
  copy_text(device->info().name, info.name);
  copy_text(device->info().arch, info.arch);
  copy_text(device->info().runtime, info.runtime);
  info.ordinal = device->info().ordinal;
  info.compute_units = device->info().compute_units;
  info.dies = device->info().dies;
  info.lds_bytes = device->info().lds_bytes;
  return info;
}

Device open_device(int abi_version, zyfa_backend backend, int ordinal) {
  if (abi_version != ZYFA_ABI_VERSION)
    throw Failure(ZYFA_ABI_MISMATCH, "the program was built for version {} of zyfa.h, the library has version {}",
                  abi_version, ZYFA_ABI_VERSION);
  if (backend == ZYFA_HIP) return HipDevice::open(ordinal);
  if (backend != ZYFA_EMULATOR)
    throw Failure(ZYFA_INVALID_ARGUMENT, "backend is {}; ZYFA_HIP and ZYFA_EMULATOR are accepted",
                  static_cast<int>(backend));
  if (ordinal != 0) throw Failure(ZYFA_NO_DEVICE, "there is no emulator {}; there is 0", ordinal);
  return nullptr;
}

zyfa_grid grid_of(const LaunchGrid& grid) {
  zyfa_grid result{};
  std::ranges::copy(grid.workgroups, result.workgroups);
  std::ranges::copy(grid.workgroup_size, result.workgroup_size);
  return result;
}

}  // namespace

extern "C" {

const char* zyfa_status_name(zyfa_status status) {
  switch (status) {
    case ZYFA_OK:
      return "ZYFA_OK";
    case ZYFA_INVALID_ARGUMENT:
      return "ZYFA_INVALID_ARGUMENT";
    case ZYFA_FILE_NOT_FOUND:
      return "ZYFA_FILE_NOT_FOUND";
    case ZYFA_BAD_CODE_OBJECT:
      return "ZYFA_BAD_CODE_OBJECT";
    case ZYFA_ABI_MISMATCH:
      return "ZYFA_ABI_MISMATCH";
    case ZYFA_NO_KERNEL:
      return "ZYFA_NO_KERNEL";
    case ZYFA_NO_RUNTIME:
      return "ZYFA_NO_RUNTIME";
    case ZYFA_NO_DEVICE:
      return "ZYFA_NO_DEVICE";
    case ZYFA_WRONG_DEVICE:
      return "ZYFA_WRONG_DEVICE";
    case ZYFA_HIP_ERROR:
      return "ZYFA_HIP_ERROR";
    case ZYFA_KERNEL_TRAPPED:
      return "ZYFA_KERNEL_TRAPPED";
    case ZYFA_OUT_OF_MEMORY:
      return "ZYFA_OUT_OF_MEMORY";
    case ZYFA_INTERNAL_ERROR:
      return "ZYFA_INTERNAL_ERROR";
  }
  return "unknown zyfa_status";
}

const char* zyfa_last_error(void) { return last_error.c_str(); }

const char* zyfa_version(void) { return ZYFA_VERSION; }

int zyfa_abi_version(void) { return ZYFA_ABI_VERSION; }

zyfa_status zyfa_device_open(int abi_version, zyfa_backend backend, int ordinal, zyfa_device** device) {
  return status_of([&] {
    need(device, "device");
    *device = new zyfa_device{open_device(abi_version, backend, ordinal)};
  });
}

void zyfa_device_close(zyfa_device* device) { delete device; }

zyfa_status zyfa_device_get_info(const zyfa_device* device, zyfa_device_info* info) {
  return status_of([&] {
    need(device, "device");
    need(info, "info");
    *info = describe(device->device);
  });
}

zyfa_status zyfa_kernel_open(zyfa_device* device, const char* code_object, const char* manifest, zyfa_kernel** kernel) {
  return status_of([&] {
    need(device, "device");
    need(code_object, "code_object");
    need(kernel, "kernel");
    *kernel = new zyfa_kernel{OpenKernel::from_files(device->device, code_object, manifest ? manifest : "")};
  });
}

zyfa_status zyfa_kernel_open_data(zyfa_device* device, const void* code_object, size_t bytes, const char* manifest_json,
                                  zyfa_kernel** kernel) {
  return status_of([&] {
    need(device, "device");
    need(code_object, "code_object");
    need(manifest_json, "manifest_json");
    need(kernel, "kernel");
    *kernel = new zyfa_kernel{
        OpenKernel::from_memory(device->device, {static_cast<const std::byte*>(code_object), bytes}, manifest_json)};
  });
}

zyfa_status zyfa_kernel_find(zyfa_device* device, const char* folder, const zyfa_kernel_traits* traits,
                             zyfa_kernel** kernel) {
  return status_of([&] {
    need(device, "device");
    need(folder, "folder");
    need(traits, "traits");
    need(kernel, "kernel");
    *kernel =
        new zyfa_kernel{OpenKernel::from_files(device->device, zyfa::runtime::find_kernel_file(folder, *traits), {})};
  });
}

void zyfa_kernel_close(zyfa_kernel* kernel) { delete kernel; }

zyfa_status zyfa_kernel_get_info(const zyfa_kernel* kernel, zyfa_kernel_info* info) {
  return status_of([&] {
    need(kernel, "kernel");
    need(info, "info");
    *info = kernel->kernel.info();
  });
}

zyfa_status zyfa_attention_kernargs(const zyfa_kernel* kernel, const zyfa_attention* arguments, void* kernargs,
                                    size_t kernargs_bytes, zyfa_grid* grid) {
  return status_of([&] {
    need(kernel, "kernel");
    need(arguments, "arguments");
    need(kernargs, "kernargs");
    need(grid, "grid");
    const zyfa::generator::Manifest& manifest = kernel->kernel.attention_manifest();
    const auto filled = zyfa::runtime::attention_kernargs(manifest, *arguments);
    if (kernargs_bytes < sizeof filled)
      throw Failure(ZYFA_INVALID_ARGUMENT, "kernargs_bytes is {}; the kernel reads {}", kernargs_bytes, sizeof filled);
    std::memcpy(kernargs, &filled, sizeof filled);
    *grid = grid_of(zyfa::runtime::attention_grid(manifest, filled.seqlen_q, filled.heads,
                                                  static_cast<std::uint32_t>(arguments->batch)));
  });
}

zyfa_status zyfa_attention_launch(const zyfa_kernel* kernel, const zyfa_attention* arguments, void* stream) {
  return status_of([&] {
    need(kernel, "kernel");
    need(arguments, "arguments");
    kernel->kernel.launch(*arguments, stream);
  });
}

zyfa_status zyfa_attention_workspace(const zyfa_kernel* kernel, const zyfa_attention* arguments, size_t* bytes) {
  return status_of([&] {
    need(kernel, "kernel");
    need(arguments, "arguments");
    need(bytes, "bytes");
    static_cast<void>(zyfa::runtime::attention_kernargs(kernel->kernel.attention_manifest(), *arguments));
    *bytes = 0;
  });
}

zyfa_status zyfa_quantise_workspace(const zyfa_kernel* kernel, const zyfa_quantise* arguments, size_t* bytes) {
  return status_of([&] {
    need(kernel, "kernel");
    need(arguments, "arguments");
    need(bytes, "bytes");
    *bytes = zyfa::runtime::quantise_workspace(kernel->kernel.quantise_manifest(), *arguments);
  });
}

zyfa_status zyfa_quantise_launch(const zyfa_kernel* kernel, const zyfa_quantise* arguments, void* stream) {
  return status_of([&] {
    need(kernel, "kernel");
    need(arguments, "arguments");
    kernel->kernel.launch(*arguments, stream);
  });
}

}  // extern "C"
