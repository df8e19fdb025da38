#include "runtime_loader/hip_emulated/bundle.h"

#include <elf.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstring>

namespace zyfa::hip_emulated {
namespace {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__", compressed_magic = "CCOB";
constexpr std::uint64_t most_entries = 4096, most_name_bytes = 4096;

bool starts_with(std::span<const std::byte> file, std::string_view magic) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

// LLVM, "AMDGPU ELF Header": machine and flags of code object version 4 and later.
constexpr std::uint16_t machine_amdgpu = 224;
constexpr std::uint32_t processor_bits = 0xff, xnack_bits = 0x300, sramecc_bits = 0xc00;
constexpr std::uint32_t xnack_off = 0x200, xnack_on = 0x300, sramecc_off = 0x800, sramecc_on = 0xc00;

// EF_AMDGPU_MACH of the processors that are likely to be met.
struct Processor {
  std::uint32_t number;
  const char* name;
};
constexpr std::array processors = {Processor{0x2c, "gfx900"},  Processor{0x2f, "gfx906"},  Processor{0x30, "gfx908"},
                                   Processor{0x3f, "gfx90a"},  Processor{0x4c, "gfx942"},  Processor{0x4f, "gfx950"},
                                   Processor{0x36, "gfx1030"}, Processor{0x41, "gfx1100"}, Processor{0x4e, "gfx1201"}};

std::string_view feature(std::string_view target, std::string_view name) {
  const std::size_t at = target.find(name);
  return at == std::string_view::npos ? std::string_view{} : target.substr(at, name.size() + 1);
}

// Reads numbers one after another; false where the file ends.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> file, std::size_t at) : file_(file), at_(at) {}
  bool read(std::uint64_t& value) {
    if (file_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, file_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  bool read(std::string& text, std::uint64_t bytes) {
    if (bytes > most_name_bytes || file_.size() - at_ < bytes) return false;
    text.assign(reinterpret_cast<const char*>(file_.data()) + at_, bytes);
    at_ += bytes;
    return true;
  }

 private:
  std::span<const std::byte> file_;
  std::size_t at_;
};

template <class T>
bool read_value(const std::function<bool(std::uint64_t, std::span<std::byte>)>& read, std::uint64_t at, T& value) {
  return read(at, std::as_writable_bytes(std::span(&value, 1)));
}

}  // namespace

bool is_bundle(std::span<const std::byte> file) { return starts_with(file, bundle_magic); }
bool is_compressed_bundle(std::span<const std::byte> file) { return starts_with(file, compressed_magic); }

std::optional<std::vector<BundleEntry>> bundle_entries(std::span<const std::byte> file) {
  Reader reader(file, bundle_magic.size());
  std::uint64_t count = 0;
  if (!is_bundle(file) || !reader.read(count) || count > most_entries) return {};
  std::vector<BundleEntry> entries(count);
  for (BundleEntry& entry : entries) {
    std::uint64_t name_bytes = 0;
    if (!reader.read(entry.offset) || !reader.read(entry.size) || !reader.read(name_bytes) ||
        !reader.read(entry.id, name_bytes))
      return {};
    if (entry.offset > file.size() || entry.size > file.size() - entry.offset) return {};
  }
  return entries;
}

std::string_view bundle_target(const BundleEntry& entry) {
  const std::size_t at = entry.id.find("gfx");
  return at == std::string::npos ? std::string_view{} : std::string_view(entry.id).substr(at);
}

std::optional<std::string> elf_target(std::span<const std::byte> file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != machine_amdgpu) return {};
  const std::uint32_t number = header.e_flags & processor_bits;
  const auto known = std::ranges::find(processors, number, &Processor::number);
  std::string target = known == processors.end() ? fmt::format("processor {:#x}", number) : known->name;
  if ((header.e_flags & sramecc_bits) == sramecc_on) target += ":sramecc+";
  if ((header.e_flags & sramecc_bits) == sramecc_off) target += ":sramecc-";
  if ((header.e_flags & xnack_bits) == xnack_on) target += ":xnack+";
  if ((header.e_flags & xnack_bits) == xnack_off) target += ":xnack-";
  return target;
}

bool runs_on(std::string_view target, std::string_view device) {
  if (target.substr(0, target.find(':')) != device.substr(0, device.find(':'))) return false;
  return std::ranges::all_of(std::array{"sramecc", "xnack"}, [&](const char* name) {
    const std::string_view wanted = feature(target, name), is = feature(device, name);
    return wanted.empty() || is.empty() || wanted == is;
  });
}

std::uint64_t image_bytes(const std::function<bool(std::uint64_t, std::span<std::byte>)>& read) {
  std::array<std::byte, bundle_magic.size()> start;
  if (!read(0, start)) return 0;
  std::uint64_t end = 0;
  if (is_bundle(start)) {
    std::uint64_t count = 0, at = bundle_magic.size();
    if (!read_value(read, at, count) || count > most_entries) return 0;
    at += sizeof count;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::array<std::uint64_t, 3> entry;  // offset, size, bytes of the name
      if (!read_value(read, at, entry) || entry[2] > most_name_bytes) return 0;
      at += sizeof entry + entry[2];
      end = std::max({end, at, entry[0] + entry[1]});
    }
    return end;
  }
  Elf64_Ehdr header;
  if (!read_value(read, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  end = std::max<std::uint64_t>(sizeof header, header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize);
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_value(read, header.e_phoff + i * sizeof segment, segment)) return 0;
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  for (std::uint64_t i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Elf64_Shdr); ++i) {
    Elf64_Shdr section;
    if (!read_value(read, header.e_shoff + i * sizeof section, section)) return 0;
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace zyfa::hip_emulated
