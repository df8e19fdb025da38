#include "generator/code_object.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/BinaryFormat/MsgPackReader.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "isa/error.h"

namespace zyfa::generator {
namespace {

namespace elf = llvm::ELF;
using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;
using SectionHeader = Elf::Elf_Shdr;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A little-endian field whose bytes the caller has checked to be there.
template <typename Value>
Value load(std::string_view bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct Symbol {
  std::uint64_t address = 0, bytes = 0;
};
using Symbols = std::map<std::string, Symbol, std::less<>>;

// The file's sections and symbols; every fault becomes an Error that names the file.
class Reader {
 public:
  Reader(std::span<const std::byte> file, std::string_view name)
      : name_(name), bytes_(file.begin(), file.end()), elf_(open()), sections_(value(elf_.sections())) {}

  std::uint8_t abi_version() const { return static_cast<std::uint8_t>(bytes_[elf::EI_ABIVERSION]); }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{}: {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename T>
  T value(llvm::Expected<T> expected) const {
    if (!expected) fail("damaged ELF file: {}", llvm::toString(expected.takeError()));
    return *expected;
  }

  const SectionHeader* section(std::string_view wanted) const {
    for (const SectionHeader& section : sections_) {
      if (std::string_view(value(elf_.getSectionName(section))) == wanted) return &section;
    }
    return nullptr;
  }

  std::string_view contents(const SectionHeader& section) const {
    if (section.sh_type == elf::SHT_NOBITS) return {};
    const llvm::ArrayRef<std::uint8_t> bytes = value(elf_.getSectionContents(section));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  llvm::ArrayRef<SectionHeader> sections() const { return sections_; }

  // `size` bytes of the loaded image at `address`.
  std::string_view at_address(std::uint64_t address, std::size_t size, std::string_view what) const {
    for (const SectionHeader& section : sections_) {
      if ((section.sh_flags & elf::SHF_ALLOC) == 0 || address < section.sh_addr) continue;
      const std::string_view bytes = contents(section);
      const std::uint64_t offset = address - section.sh_addr;
      if (offset <= bytes.size() && size <= bytes.size() - offset) return bytes.substr(offset, size);
    }
    fail("{} at address {:#x} is in no section", what, address);
  }

  // What the program headers ask to be loaded.
  std::vector<Segment> segments() const {
    std::vector<Segment> segments;
    std::uint64_t all = 0;
    for (const auto& header : value(elf_.program_headers())) {
      if (header.p_type != elf::PT_LOAD) continue;
      const std::uint64_t size = header.p_memsz, in_file = header.p_filesz, from = header.p_offset;
      if (in_file > size || from > bytes_.size() || in_file > bytes_.size() - from)
        fail("a segment of {} bytes at offset {:#x} is not in the file", in_file, from);
      all += size;
      if (size > most_loaded || all > most_loaded)
        fail("segments of more than {} bytes in all are not loaded", most_loaded);
      Segment segment{header.p_vaddr, (header.p_flags & elf::PF_W) != 0, std::vector<std::byte>(size)};
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(from), in_file, segment.bytes.begin());
      segments.push_back(std::move(segment));
    }
    return segments;
  }

  // Of the loaded tables: addresses of code and data of the object itself.
  std::vector<Relocation> relocations() const {
    std::vector<Relocation> relocations;
    for (const SectionHeader& table : sections_) {
      if (table.sh_type != elf::SHT_RELA || (table.sh_flags & elf::SHF_ALLOC) == 0) continue;
      const SectionHeader* symbols = value(elf_.getSection(table.sh_link));
      for (const auto& entry : value(elf_.relas(table))) {
        auto target = static_cast<std::uint64_t>(entry.r_addend);
        const std::uint32_t type = entry.getType(false);
        if (type == elf::R_AMDGPU_ABS64)
          target += symbol_at(*symbols, entry.getSymbol(false));
        else if (type != elf::R_AMDGPU_RELATIVE64)
          fail("relocation type {} at {:#x} is not known here", type, std::uint64_t{entry.r_offset});
        relocations.push_back({entry.r_offset, target});
      }
    }
    return relocations;
  }

  // Addresses and sizes of the defined symbols. The dynamic table is what a loader sees and survives stripping.
  Symbols symbols() const {
    Symbols symbols;
    for (const SectionHeader& table : sections_) {
      if (table.sh_type != elf::SHT_DYNSYM) continue;
      const llvm::StringRef names = value(elf_.getStringTableForSymtab(table));
      for (const auto& symbol : value(elf_.symbols(&table))) {
        if (symbol.st_shndx == elf::SHN_UNDEF) continue;
        symbols.emplace(value(symbol.getName(names)).str(), Symbol{symbol.st_value, symbol.st_size});
      }
    }
    return symbols;
  }

 private:
  // Everything a file must be before its contents mean anything.
  Elf open() const {
    const std::string_view text = as_text(bytes_);
    if (text.size() < sizeof(elf::Elf64_Ehdr) || !text.starts_with(std::string_view(elf::ElfMagic, 4))) {
      fail("not an ELF file ({} bytes); a gfx950 code object (.co) is accepted", text.size());
    }
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(elf::EI_CLASS) != elf::ELFCLASS64 || byte(elf::EI_DATA) != elf::ELFDATA2LSB) {
      fail("not a 64-bit little-endian ELF file");
    }
    const auto header = load<elf::Elf64_Ehdr>(text, 0);
    if (header.e_machine != elf::EM_AMDGPU) {
      fail("ELF machine {} is not AMDGPU ({})", header.e_machine, unsigned{elf::EM_AMDGPU});
    }
    if (byte(elf::EI_OSABI) != elf::ELFOSABI_AMDGPU_HSA) {
      fail("OS ABI {} is not amdhsa ({})", byte(elf::EI_OSABI), unsigned{elf::ELFOSABI_AMDGPU_HSA});
    }
    if (byte(elf::EI_ABIVERSION) < elf::ELFABIVERSION_AMDGPU_HSA_V4 ||
        byte(elf::EI_ABIVERSION) > elf::ELFABIVERSION_AMDGPU_HSA_V6) {
      fail("code object version {} is not 4, 5 or 6", byte(elf::EI_ABIVERSION) + 2);
    }
    const std::uint32_t processor = header.e_flags & elf::EF_AMDGPU_MACH;
    if (processor != elf::EF_AMDGPU_MACH_AMDGCN_GFX950) {
      fail("for processor {:#x}, not gfx950 ({:#x})", processor, unsigned{elf::EF_AMDGPU_MACH_AMDGCN_GFX950});
    }
    if (header.e_type != elf::ET_DYN)
      fail("ELF type {} is not a linked code object ({})", header.e_type, unsigned{elf::ET_DYN});
    return value(Elf::create(llvm::StringRef(text)));
  }

  std::uint64_t symbol_at(const SectionHeader& table, std::uint32_t index) const {
    const auto symbols = value(elf_.symbols(&table));
    if (index >= symbols.size() || symbols[index].st_shndx == elf::SHN_UNDEF)
      fail("a relocation names symbol {}, which the file does not define", index);
    return symbols[index].st_value;
  }

  static constexpr std::uint64_t most_loaded = std::uint64_t{1} << 28;
  std::string name_;
  std::vector<std::byte> bytes_;  // a copy, because LLVM reads in place and wants alignment
  Elf elf_;
  llvm::ArrayRef<SectionHeader> sections_;
};

// The description of the AMDGPU metadata note: msgpack, or nothing if there is no such note.
std::string_view metadata_note(const Reader& file) {
  constexpr std::size_t header_bytes = 12;  // sizes of name and description, type
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  for (const SectionHeader& section : file.sections()) {
    if (section.sh_type != elf::SHT_NOTE) continue;
    std::string_view notes = file.contents(section);
    while (notes.size() >= header_bytes) {
      const std::uint64_t name_bytes = load<std::uint32_t>(notes, 0);
      const std::uint64_t description_bytes = load<std::uint32_t>(notes, 4);
      const std::uint32_t type = load<std::uint32_t>(notes, 8);
      const std::uint64_t description_at = header_bytes + padded(name_bytes);
      if (description_at + description_bytes > notes.size()) file.fail("a note runs past the end of its section");
      if (type == elf::NT_AMDGPU_METADATA && notes.substr(header_bytes, name_bytes) == std::string_view("AMDGPU", 7)) {
        return notes.substr(description_at, description_bytes);
      }
      notes.remove_prefix(std::min<std::uint64_t>(notes.size(), description_at + padded(description_bytes)));
    }
  }
  return {};
}

// MsgPackDocument orders map entries by key and has no order for keys that are maps or arrays; the format has
// only text keys (AMDGPUUsage, "Code Object V3 Metadata"), so anything else is damage and is refused before.
bool has_text_keys_only(std::string_view blob) {
  struct Level {
    std::uint64_t left;  // objects still to come, keys and values of a map
    bool map;
  };
  llvm::msgpack::Reader reader{llvm::StringRef(blob)};
  std::vector<Level> levels{{1, false}};
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.left == 0) {
      levels.pop_back();
      continue;
    }
    const bool key = level.map && level.left % 2 == 0;
    --level.left;
    llvm::msgpack::Object object;
    llvm::Expected<bool> more = reader.read(object);
    if (!more) {
      llvm::consumeError(more.takeError());
      return false;
    }
    if (!*more || (key && object.Kind != llvm::msgpack::Type::String)) return false;
    if (object.Kind == llvm::msgpack::Type::Map) levels.push_back({std::uint64_t{object.Length} * 2, true});
    if (object.Kind == llvm::msgpack::Type::Array) levels.push_back({object.Length, false});
  }
  return true;
}

// One map of the metadata, with the kernel or place it belongs to for messages.
class Metadata {
 public:
  Metadata(const Reader& file, std::string where, llvm::msgpack::DocNode node)
      : file_(file), where_(std::move(where)), node_(node) {
    if (!node_.isMap()) file_.fail("metadata: {} is not a map", where_);
  }

  std::optional<std::string> text(std::string_view key) const {
    const auto node = find(key);
    if (!node) return std::nullopt;
    if (!node->isString()) file_.fail("metadata: {} of {} is not a text", key, where_);
    const std::string text = node->getString().str();
    // They end up in reports and their JSON.
    if (!llvm::json::isUTF8(text) || one_line(text) != text)
      file_.fail("metadata: {} of {} is not printable UTF-8: {}", key, where_, llvm::json::fixUTF8(text));
    return text;
  }
  std::optional<std::uint32_t> number(std::string_view key) const {
    const auto node = find(key);
    if (!node) return std::nullopt;
    std::uint64_t value = std::numeric_limits<std::uint64_t>::max();
    if (node->getKind() == llvm::msgpack::Type::UInt) value = node->getUInt();
    if (node->getKind() == llvm::msgpack::Type::Int && node->getInt() >= 0)
      value = static_cast<std::uint64_t>(node->getInt());
    if (value > std::numeric_limits<std::uint32_t>::max()) {
      file_.fail("metadata: {} of {} is not a number of 32 bits", key, where_);
    }
    return static_cast<std::uint32_t>(value);
  }
  // The maps of the list under `key`; none if it is absent.
  std::vector<Metadata> list(std::string_view key, const std::string& of) const {
    std::vector<Metadata> maps;
    auto node = find(key);
    if (!node) return maps;
    if (!node->isArray()) file_.fail("metadata: {} of {} is not a list", key, where_);
    for (const llvm::msgpack::DocNode& entry : node->getArray()) {
      maps.emplace_back(file_, fmt::format("{} {}", of, maps.size()), entry);
    }
    return maps;
  }
  template <typename Value>
  Value needed(std::optional<Value> value, std::string_view key) const {
    if (!value) file_.fail("metadata: {} has no {}", where_, key);
    return *std::move(value);
  }

 private:
  std::optional<llvm::msgpack::DocNode> find(std::string_view key) const {
    llvm::msgpack::DocNode map = node_;
    const auto found = map.getMap().find(llvm::StringRef(key));
    if (found == map.getMap().end()) return std::nullopt;
    return found->second;
  }

  const Reader& file_;
  std::string where_;
  llvm::msgpack::DocNode node_;
};

KernelDescriptor descriptor_at(const Reader& file, std::uint64_t address, std::string_view symbol) {
  const std::string_view bytes = file.at_address(address, 64, symbol);
  KernelDescriptor descriptor;
  descriptor.group_segment_bytes = load<std::uint32_t>(bytes, 0);
  descriptor.private_segment_bytes = load<std::uint32_t>(bytes, 4);
  descriptor.kernarg_bytes = load<std::uint32_t>(bytes, 8);
  descriptor.entry_offset = load<std::int64_t>(bytes, 16);
  descriptor.rsrc3 = load<std::uint32_t>(bytes, 44);
  descriptor.rsrc1 = load<std::uint32_t>(bytes, 48);
  descriptor.rsrc2 = load<std::uint32_t>(bytes, 52);
  descriptor.properties = load<std::uint16_t>(bytes, 56);
  descriptor.kernarg_preload = load<std::uint16_t>(bytes, 58);
  return descriptor;
}

// A kernel of the metadata, found again in the symbol table and the code. Fields that AMDGPUUsage calls
// required are.
KernelImage kernel_image(const Reader& file, const Metadata& kernel, const CodeObject& object, const Symbols& symbols) {
  KernelImage image;
  const std::string descriptor_symbol = kernel.needed(kernel.text(".symbol"), ".symbol");
  image.symbol = kernel.needed(kernel.text(".name"), ".name");
  const auto symbol = symbols.find(descriptor_symbol);
  if (symbol == symbols.end()) file.fail("the metadata's kernel {} has no symbol {}", image.symbol, descriptor_symbol);
  image.descriptor = descriptor_at(file, symbol->second.address, descriptor_symbol);
  // Unsigned, so that damage wraps around instead of overflowing.
  image.code_offset =
      symbol->second.address + static_cast<std::uint64_t>(image.descriptor.entry_offset) - object.code_address;
  if (image.code_offset >= object.code.size() || image.code_offset % 4 != 0) {
    file.fail("the entry of kernel {} is not in .text", image.symbol);
  }
  // Up to the end of the section where the function's symbol is missing, elsewhere or without a size.
  const std::uint64_t rest = object.code.size() - image.code_offset;
  const auto function = symbols.find(image.symbol);
  const bool sized = function != symbols.end() && function->second.bytes != 0 &&
                     function->second.address - object.code_address == image.code_offset;
  image.code_bytes = sized ? std::min(function->second.bytes, rest) : rest;
  image.max_workgroup_size = kernel.needed(kernel.number(".max_flat_workgroup_size"), ".max_flat_workgroup_size");
  image.vgpr_count = kernel.needed(kernel.number(".vgpr_count"), ".vgpr_count");
  image.sgpr_count = kernel.needed(kernel.number(".sgpr_count"), ".sgpr_count");
  image.agpr_count = kernel.number(".agpr_count").value_or(0);
  image.vgpr_spill_count = kernel.number(".vgpr_spill_count").value_or(0);
  for (const Metadata& argument : kernel.list(".args", image.symbol + " argument")) {
    image.arguments.push_back({argument.text(".name").value_or(""),
                               argument.needed(argument.number(".offset"), ".offset"),
                               argument.needed(argument.number(".size"), ".size"),
                               argument.needed(argument.text(".value_kind"), ".value_kind")});
  }
  return image;
}

std::vector<KernelImage> kernel_images(const Reader& file, const CodeObject& object) {
  const std::string_view note = metadata_note(file);
  if (note.empty()) file.fail("no AMDGPU metadata note, so no kernels are known");
  llvm::msgpack::Document document;
  if (!has_text_keys_only(note) || !document.readFromBlob(llvm::StringRef(note), /*Multi=*/false)) {
    file.fail("the metadata note is not a msgpack document with text keys");
  }
  const auto symbols = file.symbols();
  std::vector<KernelImage> images;
  for (const Metadata& kernel : Metadata(file, "the document", document.getRoot()).list("amdhsa.kernels", "kernel")) {
    images.push_back(kernel_image(file, kernel, object, symbols));
  }
  return images;
}

std::vector<SourcePoint> source_points(const Reader& file, const CodeObject& object) {
  const auto contents = [&](std::string_view name) -> std::string_view {
    const SectionHeader* section = file.section(name);
    if (section == nullptr || (section->sh_flags & elf::SHF_COMPRESSED) != 0) return {};
    return file.contents(*section);
  };
  return read_debug_lines({contents(".debug_line"), contents(".debug_line_str"), contents(".debug_str")},
                          object.code_address, object.code.size());
}

}  // namespace

CodeObject read_code_object(std::span<const std::byte> bytes, std::string_view name) {
  const Reader file(bytes, name);
  CodeObject object;
  object.code_object_version = file.abi_version() + 2u;
  const SectionHeader* text = file.section(".text");
  if (text == nullptr) file.fail("no section .text");
  const auto code = std::as_bytes(std::span(file.contents(*text)));
  if (code.empty() || code.size() % 4 != 0 || code.size() > std::numeric_limits<std::uint32_t>::max()) {
    file.fail("section .text of {} bytes is not a whole number of dwords below 4 GiB", code.size());
  }
  object.code.assign(code.begin(), code.end());
  object.code_address = text->sh_addr;
  object.kernels = kernel_images(file, object);
  object.segments = file.segments();
  object.relocations = file.relocations();
  object.lines = source_points(file, object);
  return object;
}

}  // namespace zyfa::generator
