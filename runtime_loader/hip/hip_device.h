// Kernels, memory and time on a gfx950 through HIP. No type of HIP's shows here: a stream is its hipStream_t as void*,
// null for the device's default stream.
#pragma once

#include "runtime_loader/launch_rules.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace zyfa::runtime {

class HipLibrary;

struct HipDeviceInfo {
  int ordinal = 0;
  std::string name;            // "AMD Instinct MI355X"
  bool emulated = false;       // by libzyfa_hip_emulated: no hardware
  std::string arch;            // "gfx950:sramecc+:xnack-"
  std::string runtime;         // "HIP 7.0.2 (libamdhip64.so.7)"
  std::string pci;             // "0000:05:00.0", by which the system knows the device
  int compute_units = 0;       // of the whole device
  int dies = 0;                // XCDs; 0 where the runtime can not tell (before ROCm 7)
  std::int64_t lds_bytes = 0;  // of a workgroup at most
};

class HipDevice {
 public:
  // Throws Failure: ZYFA_NO_RUNTIME, ZYFA_NO_DEVICE, ZYFA_WRONG_DEVICE for another architecture than gfx950.
  static std::shared_ptr<const HipDevice> open(int ordinal);

  const HipDeviceInfo& info() const { return info_; }
  const HipLibrary& library() const { return *library_; }

  // Waits for all streams. Throws Failure for what has gone wrong in one of them.
  void synchronize() const;

 private:
  std::shared_ptr<const HipLibrary> library_;
  HipDeviceInfo info_;
};

class HipKernel {
 public:
  // `name` stands for the code object in messages. Throws Failure: ZYFA_WRONG_DEVICE where the kernel declares more LDS
  // than a workgroup of the device has, ZYFA_BAD_CODE_OBJECT, ZYFA_HIP_ERROR.
  HipKernel(std::shared_ptr<const HipDevice> device, std::span<const std::byte> code_object, const std::string& symbol,
            std::int64_t lds_bytes, const std::string& name);
  ~HipKernel();
  HipKernel(const HipKernel&) = delete;
  HipKernel& operator=(const HipKernel&) = delete;

  // One launch on a stream: HIP copies the arguments; nothing is allocated, nothing waited for. A grid without
  // workgroups is none.
  void launch(const LaunchGrid& grid, std::span<const std::byte> kernargs, void* stream) const;

 private:
  std::shared_ptr<const HipDevice> device_;
  std::string symbol_;
  void* module_ = nullptr;
  void* function_ = nullptr;
};

// Device memory of a size that stays.
class HipMemory {
 public:
  HipMemory(std::shared_ptr<const HipDevice> device, std::size_t bytes);  // contents undefined
  HipMemory(std::shared_ptr<const HipDevice> device, std::span<const std::byte> contents);
  ~HipMemory();
  HipMemory(HipMemory&& other) noexcept;
  HipMemory& operator=(HipMemory&&) = delete;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }
  void upload(std::span<const std::byte> from);  // waits; at most as many bytes as there are
  void fill(std::byte value) const;              // on the default stream
  void download(std::span<std::byte> to) const;  // waits for the default stream

 private:
  std::shared_ptr<const HipDevice> device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A point of a stream.
class HipEvent {
 public:
  explicit HipEvent(std::shared_ptr<const HipDevice> device);
  ~HipEvent();
  HipEvent(const HipEvent&) = delete;
  HipEvent& operator=(const HipEvent&) = delete;

  void record(void* stream);
  void wait() const;                                    // for the stream to have come here
  double seconds_since(const HipEvent& earlier) const;  // by the device's clock; waits for both

 private:
  std::shared_ptr<const HipDevice> device_;
  void* event_ = nullptr;
};

}  // namespace zyfa::runtime
