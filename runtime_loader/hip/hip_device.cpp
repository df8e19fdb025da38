#include "runtime_loader/hip/hip_device.h"

#include "runtime_loader/hip/hip_library.h"

#include <array>
#include <utility>

namespace zyfa::runtime {
namespace {

// Makes a device the thread's current one for as long as this lives.
class OnDevice {
 public:
  explicit OnDevice(const HipDevice& device) : library_(device.library()) {
    library_.check(library_.hipGetDevice(&before_), "hipGetDevice");
    changed_ = before_ != device.info().ordinal;
    if (changed_) library_.check(library_.hipSetDevice(device.info().ordinal), "hipSetDevice");
  }
  ~OnDevice() {
    if (changed_) library_.succeeded(library_.hipSetDevice(before_));
  }
  OnDevice(const OnDevice&) = delete;

 private:
  const HipLibrary& library_;
  int before_ = 0;
  bool changed_ = false;
};

int attribute(const HipLibrary& hip, int number, int ordinal, const char* name) {
  int value = 0;
  hip.check(hip.hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(number), ordinal),
            "hipDeviceGetAttribute", name);
  return value;
}

// hipDeviceAttributeNumberOfXccs, of ROCm 7 (hip_runtime_api.h); older ones refuse the number.
int count_dies(const HipLibrary& hip, int ordinal) {
  constexpr int number_of_xccs = 10018;
  int value = 0;
  const bool known =
      hip.succeeded(hip.hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(number_of_xccs), ordinal));
  return known ? value : 0;
}

std::string describe_runtime(const HipLibrary& hip) {
  int version = 0;  // major * 10,000,000 + minor * 100,000 + patch
  hip.check(hip.hipRuntimeGetVersion(&version), "hipRuntimeGetVersion");
  return fmt::format("HIP {}.{}.{} ({})", version / 10'000'000, version / 100'000 % 100, version % 100'000, hip.file);
}

}  // namespace

std::shared_ptr<const HipDevice> HipDevice::open(int ordinal) {
  const auto device = std::make_shared<HipDevice>();
  device->library_ = HipLibrary::open();
  const HipLibrary& hip = *device->library_;
  int count = 0;
  const hipError_t error = hip.hipGetDeviceCount(&count);
  if (!hip.succeeded(error) && error != hipErrorNoDevice) hip.check(error, "hipGetDeviceCount");
  if (count == 0)
    throw Failure(ZYFA_NO_DEVICE, "{} sees no GPU ({}); is the amdgpu driver loaded, and may you open /dev/kfd?",
                  hip.file, hip.hipGetErrorString(hipErrorNoDevice));
  if (ordinal < 0 || ordinal >= count)
    throw Failure(ZYFA_NO_DEVICE, "there is no GPU {}; the {} that HIP sees are numbered from 0", ordinal, count);
  const HipLibrary::Names names = hip.names(ordinal);
  if (names.arch.substr(0, names.arch.find(':')) != "gfx950")
    throw Failure(ZYFA_WRONG_DEVICE, "GPU {} ({}) is a {}; the kernels are for gfx950 (MI350X, MI355X)", ordinal,
                  names.device, names.arch);
  std::array<char, 64> pci{};
  hip.check(hip.hipDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), ordinal), "hipDeviceGetPCIBusId");
  device->info_ = {
      .ordinal = ordinal,
      .name = names.device,
      .emulated = names.device.ends_with("(zyfa emulated)"),
      .arch = names.arch,
      .runtime = describe_runtime(hip),
      .pci = pci.data(),
      .compute_units = attribute(hip, hipDeviceAttributeMultiprocessorCount, ordinal, "MultiprocessorCount"),
      .dies = count_dies(hip, ordinal),
      .lds_bytes = attribute(hip, hipDeviceAttributeMaxSharedMemoryPerBlock, ordinal, "MaxSharedMemoryPerBlock")};
  return device;
}

void HipDevice::synchronize() const {
  const OnDevice current(*this);
  library_->check(library_->hipDeviceSynchronize(), "hipDeviceSynchronize");
}

HipKernel::HipKernel(std::shared_ptr<const HipDevice> device, std::span<const std::byte> code_object,
                     const std::string& symbol, std::int64_t lds_bytes, const std::string& name)
    : device_(std::move(device)), symbol_(symbol) {
  if (lds_bytes > device_->info().lds_bytes)
    throw Failure(ZYFA_WRONG_DEVICE, "{} declares {} bytes of LDS; a workgroup of {} has {}", name, lds_bytes,
                  device_->info().name, device_->info().lds_bytes);
  const OnDevice current(*device_);
  const HipLibrary& hip = device_->library();
  hipModule_t module = nullptr;
  hip.check(hip.hipModuleLoadData(&module, code_object.data()), "hipModuleLoadData", name);
  module_ = module;
  hipFunction_t function = nullptr;
  if (const hipError_t error = hip.hipModuleGetFunction(&function, module, symbol.c_str()); error != hipSuccess) {
    hip.succeeded(hip.hipModuleUnload(module));
    hip.check(error, "hipModuleGetFunction", symbol + " of " + name);
  }
  function_ = function;
}

HipKernel::~HipKernel() {
  device_->library().succeeded(device_->library().hipModuleUnload(static_cast<hipModule_t>(module_)));
}

void HipKernel::launch(const LaunchGrid& grid, std::span<const std::byte> kernargs, void* stream) const {
  const auto& [x, y, z] = grid.workgroups;
  if (x == 0 || y == 0 || z == 0) return;
  const OnDevice current(*device_);
  const HipLibrary& hip = device_->library();
  std::size_t bytes = kernargs.size();
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(kernargs.data()),
                   HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
  hip.check(hip.hipModuleLaunchKernel(static_cast<hipFunction_t>(function_), x, y, z, grid.workgroup_size[0],
                                      grid.workgroup_size[1], grid.workgroup_size[2], 0,
                                      static_cast<hipStream_t>(stream), nullptr, extra),
            "launch", symbol_);
}

HipMemory::HipMemory(std::shared_ptr<const HipDevice> device, std::size_t bytes)
    : device_(std::move(device)), bytes_(bytes) {
  const OnDevice current(*device_);
  // An empty tensor has an address too.
  const std::size_t some = bytes == 0 ? 1 : bytes;
  device_->library().check(device_->library().hipMalloc(&data_, some), "hipMalloc", fmt::format("{} bytes", some));
}

HipMemory::HipMemory(std::shared_ptr<const HipDevice> device, std::span<const std::byte> contents)
    : HipMemory(std::move(device), contents.size()) {
  upload(contents);
}

HipMemory::HipMemory(HipMemory&& other) noexcept
    : device_(other.device_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

HipMemory::~HipMemory() {
  if (data_) device_->library().succeeded(device_->library().hipFree(data_));
}

void HipMemory::upload(std::span<const std::byte> from) {
  if (from.empty()) return;
  const OnDevice current(*device_);
  device_->library().check(device_->library().hipMemcpy(data_, from.data(), from.size(), hipMemcpyHostToDevice),
                           "hipMemcpy", fmt::format("{} bytes to the device", from.size()));
}

void HipMemory::fill(std::byte value) const {
  if (bytes_ == 0) return;
  const OnDevice current(*device_);
  device_->library().check(device_->library().hipMemset(data_, std::to_integer<int>(value), bytes_), "hipMemset",
                           fmt::format("{} bytes", bytes_));
}

void HipMemory::download(std::span<std::byte> to) const {
  if (to.empty()) return;
  const OnDevice current(*device_);
  device_->library().check(device_->library().hipMemcpy(to.data(), data_, to.size(), hipMemcpyDeviceToHost),
                           "hipMemcpy", fmt::format("{} bytes from the device", to.size()));
}

HipEvent::HipEvent(std::shared_ptr<const HipDevice> device) : device_(std::move(device)) {
  const OnDevice current(*device_);
  hipEvent_t event = nullptr;
  device_->library().check(device_->library().hipEventCreate(&event), "hipEventCreate");
  event_ = event;
}

HipEvent::~HipEvent() {
  device_->library().succeeded(device_->library().hipEventDestroy(static_cast<hipEvent_t>(event_)));
}

void HipEvent::record(void* stream) {
  // The null stream is the current device's, and an event takes streams of its own device alone.
  const OnDevice current(*device_);
  const HipLibrary& hip = device_->library();
  hip.check(hip.hipEventRecord(static_cast<hipEvent_t>(event_), static_cast<hipStream_t>(stream)), "hipEventRecord");
}

void HipEvent::wait() const {
  device_->library().check(device_->library().hipEventSynchronize(static_cast<hipEvent_t>(event_)),
                           "hipEventSynchronize");
}

double HipEvent::seconds_since(const HipEvent& earlier) const {
  earlier.wait();
  wait();
  float milliseconds = 0;
  const HipLibrary& hip = device_->library();
  hip.check(
      hip.hipEventElapsedTime(&milliseconds, static_cast<hipEvent_t>(earlier.event_), static_cast<hipEvent_t>(event_)),
      "hipEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace zyfa::runtime
