// Power and clock of a GPU while it works, as the amdgpu driver shows them in sysfs.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace zyfa::runtime {

// Means over the samples; empty where the driver has no such file or none could be read.
struct SensorReadings {
  std::optional<double> watts;  // of the board: power1_average, or power1_input
  std::optional<double> ghz;    // the engine clock: freq1_input
  int samples = 0;
  std::string source;  // the folder, or why there is none
};

class Sensors {
 public:
  // `pci` as HIP names the device, "0000:05:00.0"; `sysfs` is /sys but for tests. Never throws for what is missing.
  explicit Sensors(const std::string& pci, const std::filesystem::path& sysfs = "/sys");
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  void start();           // samples every few ms, in a thread of its own
  SensorReadings stop();  // since start()

 private:
  void sample();

  std::filesystem::path power_, clock_;
  std::string source_;
  std::vector<double> watts_, ghz_;
  int samples_ = 0;
  std::atomic<bool> running_ = false;
  std::thread thread_;
};

}  // namespace zyfa::runtime
