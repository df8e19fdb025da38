#include "runtime_loader/hip/sensors.h"

#include "isa/error.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>

namespace zyfa::runtime {
namespace {

namespace fs = std::filesystem;

std::optional<double> read_number(const fs::path& file) {
  if (file.empty()) return std::nullopt;
  std::ifstream stream(file);
  double value = 0;
  if (stream >> value) return value;
  return std::nullopt;
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The only folder of a device's hwmon, whose name has a number that the system chose.
fs::path hwmon_of(const fs::path& device) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(device / "hwmon", error))
    if (entry.path().filename().string().starts_with("hwmon")) return entry.path();
  return {};
}

fs::path first_that_exists(const fs::path& folder, std::initializer_list<const char*> names) {
  std::error_code error;
  for (const char* name : names)
    if (fs::exists(folder / name, error)) return folder / name;
  return {};
}

}  // namespace

Sensors::Sensors(const std::string& pci, const fs::path& sysfs) {
  std::string address = pci;
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return std::tolower(c); });
  const fs::path device = sysfs / "bus/pci/devices" / address;
  const fs::path hwmon = hwmon_of(device);
  source_ = hwmon.empty() ? fmt::format("{} has no hwmon", device.string()) : hwmon.string();
  if (hwmon.empty()) return;
  power_ = first_that_exists(hwmon, {"power1_average", "power1_input"});
  clock_ = first_that_exists(hwmon, {"freq1_input"});
}

Sensors::~Sensors() {
  if (thread_.joinable()) static_cast<void>(stop());
}

void Sensors::sample() {
  ++samples_;
  if (const auto microwatts = read_number(power_)) watts_.push_back(*microwatts * 1e-6);
  if (const auto hertz = read_number(clock_)) ghz_.push_back(*hertz * 1e-9);
}

void Sensors::start() {
  constexpr std::chrono::milliseconds period(5);
  watts_.clear();
  ghz_.clear();
  samples_ = 0;
  if (power_.empty() && clock_.empty()) return;
  running_ = true;
  thread_ = std::thread([this, period] {
    do {
      sample();
      std::this_thread::sleep_for(period);
    } while (running_);
  });
}

SensorReadings Sensors::stop() {
  running_ = false;
  if (thread_.joinable()) thread_.join();
  return {mean(watts_), mean(ghz_), samples_, source_};
}

}  // namespace zyfa::runtime
