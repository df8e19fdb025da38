// zyfa.h for C++: handles that close themselves, errors as exceptions. Header only.
#pragma once

#include "zyfa.h"

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace zyfa {

class Exception : public std::runtime_error {
 public:
  Exception(zyfa_status status, const char* message) : std::runtime_error(message), status_(status) {}
  zyfa_status status() const { return status_; }

 private:
  zyfa_status status_;
};

inline void check(zyfa_status status) {
  if (status != ZYFA_OK) throw Exception(status, zyfa_last_error());
}

class Device {
 public:
  explicit Device(zyfa_backend backend, int ordinal = 0) {
    zyfa_device* handle = nullptr;
    check(zyfa_device_open(ZYFA_ABI_VERSION, backend, ordinal, &handle));
    handle_.reset(handle);
  }
  zyfa_device_info info() const {
    zyfa_device_info info{};
    check(zyfa_device_get_info(handle_.get(), &info));
    return info;
  }
  zyfa_device* get() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(zyfa_device* device) const { zyfa_device_close(device); }
  };
  std::unique_ptr<zyfa_device, Close> handle_;
};

class Kernel {
 public:
  // The manifest is the .json beside the code object.
  Kernel(const Device& device, const std::string& code_object) {
    zyfa_kernel* handle = nullptr;
    check(zyfa_kernel_open(device.get(), code_object.c_str(), nullptr, &handle));
    handle_.reset(handle);
  }
  // From memory, with the manifest's JSON text.
  Kernel(const Device& device, const void* code_object, std::size_t bytes, const std::string& manifest_json) {
    zyfa_kernel* handle = nullptr;
    check(zyfa_kernel_open_data(device.get(), code_object, bytes, manifest_json.c_str(), &handle));
    handle_.reset(handle);
  }
  // The one for these traits in a folder.
  Kernel(const Device& device, const std::string& folder, const zyfa_kernel_traits& traits) {
    zyfa_kernel* handle = nullptr;
    check(zyfa_kernel_find(device.get(), folder.c_str(), &traits, &handle));
    handle_.reset(handle);
  }
  zyfa_kernel_info info() const {
    zyfa_kernel_info info{};
    check(zyfa_kernel_get_info(handle_.get(), &info));
    return info;
  }
  void operator()(const zyfa_attention& arguments, void* stream = nullptr) const {
    check(zyfa_attention_launch(handle_.get(), &arguments, stream));
  }
  void operator()(const zyfa_quantise& arguments, void* stream = nullptr) const {
    check(zyfa_quantise_launch(handle_.get(), &arguments, stream));
  }
  // Bytes of device memory.
  std::size_t workspace(const zyfa_attention& arguments) const {
    std::size_t bytes = 0;
    check(zyfa_attention_workspace(handle_.get(), &arguments, &bytes));
    return bytes;
  }
  std::size_t workspace(const zyfa_quantise& arguments) const {
    std::size_t bytes = 0;
    check(zyfa_quantise_workspace(handle_.get(), &arguments, &bytes));
    return bytes;
  }
  // Fills an argument block of info().kernarg_bytes.
  zyfa_grid kernargs(const zyfa_attention& arguments, void* block, std::size_t bytes) const {
    zyfa_grid grid{};
    check(zyfa_attention_kernargs(handle_.get(), &arguments, block, bytes, &grid));
    return grid;
  }
  zyfa_kernel* get() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(zyfa_kernel* kernel) const { zyfa_kernel_close(kernel); }
  };
  std::unique_ptr<zyfa_kernel, Close> handle_;
};

}  // namespace zyfa
