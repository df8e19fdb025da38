// HIP's stand-in, opened in its runtime's place by whatever in this process opens HIP.
#pragma once

#include <cstdlib>
#include <string>

namespace zyfa {

inline const std::string stand_in_library = ZYFA_BINARY_DIR "/hip_emulated/libamdhip64.so.7";

class OnStandIn {
 public:
  OnStandIn() { setenv("ZYFA_HIP_LIBRARY", stand_in_library.c_str(), 1); }
  ~OnStandIn() { unsetenv("ZYFA_HIP_LIBRARY"); }
  OnStandIn(const OnStandIn&) = delete;
  OnStandIn& operator=(const OnStandIn&) = delete;
};

}  // namespace zyfa
