#include "runtime_loader/load_code.h"

#include "isa/error.h"

#include <cstring>

namespace zyfa::runtime {
namespace {

void relocate(std::vector<generator::Segment>& segments, const generator::Relocation& relocation) {
  const std::uint64_t value = relocation.value + load_address;
  for (generator::Segment& segment : segments) {
    const std::uint64_t at = relocation.address - segment.address;
    if (relocation.address < segment.address || at > segment.bytes.size() || segment.bytes.size() - at < sizeof value)
      continue;
    std::memcpy(segment.bytes.data() + at, &value, sizeof value);
    return;
  }
  throw Error("a relocation at address {:#x} is in no segment of the code object", relocation.address);
}

}  // namespace

LoadedCode::LoadedCode(const generator::CodeObject& object) : segments_(object.segments) {
  for (const generator::Relocation& relocation : object.relocations) relocate(segments_, relocation);
}

LoadedCode::LoadedCode(const generator::CodeObject& object, emulator::GlobalMemory& memory) : LoadedCode(object) {
  map(memory);
}

void LoadedCode::map(emulator::GlobalMemory& memory) {
  for (generator::Segment& segment : segments_) {
    const std::string name = fmt::format("code object at {:#x}", segment.address);
    const std::uint64_t address = load_address + segment.address;
    if (segment.writable)
      memory.map(name, address, segment.bytes);
    else
      memory.map_read_only(name, address, segment.bytes);
  }
}

std::uint64_t code_address(const generator::CodeObject& object) { return load_address + object.code_address; }

}  // namespace zyfa::runtime
