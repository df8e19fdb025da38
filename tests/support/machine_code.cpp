#include "tests/support/machine_code.h"

#include "generator/assemble.h"
#include "isa/error.h"

#include <elf.h>

#include <cstring>

namespace zyfa::tests {

std::vector<std::byte> machine_code(std::string_view text) {
  const std::vector<std::byte> object = generator::assemble(text, "test.s");
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, object.data() + header.e_shoff + static_cast<std::size_t>(i) * sizeof section,
                sizeof section);
    if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
    const auto first = object.begin() + static_cast<std::ptrdiff_t>(section.sh_offset);
    return {first, first + static_cast<std::ptrdiff_t>(section.sh_size)};
  }
  throw Error("the object has no code section");
}

}  // namespace zyfa::tests
