// A launch of anybody's gfx950 kernel, described in JSON: docs/timing.md has an example of every field.
#pragma once

#include "generator/decode.h"
#include "runtime_loader/emulate.h"
#include "runtime_loader/hsa_launch.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace zyfa::runtime {

struct LaunchBuffer {
  std::string name;
  std::vector<std::byte> bytes;
};

struct LaunchArgument {
  std::optional<std::uint32_t> offset;  // in the argument segment; none: behind the one before, aligned to its size
  std::vector<std::byte> bytes;         // of the value; of a pointer 8, to be filled in
  std::optional<std::size_t> buffer;    // pointers: which of the buffers
  std::uint64_t plus = 0;               // pointers: bytes behind the buffer's start
  std::string where;                    // "kernargs[2]", for messages
};

struct LaunchFile {
  std::string symbol;  // empty: the code object's only kernel
  LaunchShape shape;
  emulator::MemoryModel memory_model = emulator::MemoryModel::hardware;
  std::vector<LaunchBuffer> buffers;
  std::vector<LaunchArgument> arguments;
};

// Files that it names are looked up beside it. Throws Error "file: what" for anything missing, unknown, out of range or
// unreadable.
LaunchFile load_launch(const std::filesystem::path& file);

struct LaunchedKernel {
  generator::CodeObject object;  // mapped while the kernel runs: constants, tables of functions
  generator::KernelImage image;
  generator::DecodedKernel code;
  LaunchFile launch;
  std::vector<std::byte> segment;  // the arguments, all but the addresses

  std::uint64_t workgroups() const;
  std::uint64_t buffer_bytes() const;
};

// Throws Error where the launch does not suit the kernel: arguments that are missing, overlap or lie beyond the
// segment, more LDS or work-items than there are.
LaunchedKernel load_launched_kernel(const std::filesystem::path& code_object, const std::filesystem::path& launch);

// Buffers start out as the file says each time.
emulator::Result run_launch(const LaunchedKernel& kernel, const Runner& runner);

}  // namespace zyfa::runtime
