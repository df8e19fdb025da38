// A code object in the memory that its kernels see: constants behind code addresses, tables of functions.
#pragma once

#include "generator/code_object.h"
#include "isa/emulator/emulator.h"

namespace zyfa::runtime {

// Where loaded code objects begin: apart from all that GlobalMemory places.
inline constexpr std::uint64_t load_address = 0x7e0000000000;

class LoadedCode {
 public:
  // The object's segments, relocated. Throws Error naming a relocation outside them.
  explicit LoadedCode(const generator::CodeObject& object);
  // The same, mapped.
  LoadedCode(const generator::CodeObject& object, emulator::GlobalMemory& memory);
  LoadedCode(const LoadedCode&) = delete;

  // Maps the segments, read-only but for those that ask to be written: they keep what kernels write. Must outlive every
  // run in `memory`.
  void map(emulator::GlobalMemory& memory);

 private:
  std::vector<generator::Segment> segments_;
};

// Launch::code_address of kernels of an object loaded so.
std::uint64_t code_address(const generator::CodeObject& object);

}  // namespace zyfa::runtime
