#include "generator/debug_lines.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugLine.h>
#include <llvm/Support/DataExtractor.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <map>
#include <utility>

#include "isa/error.h"

namespace zyfa::generator {
namespace {

namespace dwarf = llvm::dwarf;
using Cursor = llvm::DataExtractor::Cursor;

// Moves past one value; false for a form that no directory or file entry has (DWARF 5, 6.2.4.1).
bool skip_form(const llvm::DataExtractor& data, Cursor& at, std::uint64_t form, std::uint8_t offset_bytes) {
  switch (form) {
    case dwarf::DW_FORM_string:
      data.getCStrRef(at);
      return true;
    case dwarf::DW_FORM_line_strp:
    case dwarf::DW_FORM_strp:
      data.skip(at, offset_bytes);
      return true;
    case dwarf::DW_FORM_udata:
      data.getULEB128(at);
      return true;
    case dwarf::DW_FORM_data1:
      data.skip(at, 1);
      return true;
    case dwarf::DW_FORM_data2:
      data.skip(at, 2);
      return true;
    case dwarf::DW_FORM_data4:
      data.skip(at, 4);
      return true;
    case dwarf::DW_FORM_data8:
      data.skip(at, 8);
      return true;
    case dwarf::DW_FORM_data16:
      data.skip(at, 16);
      return true;
    case dwarf::DW_FORM_block:
      data.skip(at, data.getULEB128(at));
      return true;
    default:
      return false;
  }
}

// Moves past a DWARF 5 list of directories or files: the forms of an entry, then the entries.
bool skip_entries(const llvm::DataExtractor& data, Cursor& at, std::uint8_t offset_bytes) {
  std::vector<std::uint64_t> forms(data.getU8(at));
  for (std::uint64_t& form : forms) {
    data.getULEB128(at);  // what the value is: path, directory, time, size, checksum
    form = data.getULEB128(at);
  }
  std::uint64_t entries = data.getULEB128(at);
  if (forms.empty()) return entries == 0;
  for (; at && entries > 0; --entries) {
    for (const std::uint64_t form : forms) {
      if (!skip_form(data, at, form, offset_bytes)) return false;
    }
  }
  return true;
}

// The rest of a DWARF 5 prologue after its version.
bool skip_prologue_5(const llvm::DataExtractor& data, Cursor& at, std::uint8_t offset_bytes) {
  if (data.getU8(at) != 8 || data.getU8(at) != 0) return false;  // bytes of an address, of a segment
  data.skip(at, offset_bytes + 5);  // prologue length, instruction length, operations, is_stmt, line base and range
  const std::uint8_t opcode_base = data.getU8(at);
  if (opcode_base == 0) return false;
  data.skip(at, opcode_base - 1);
  return skip_entries(data, at, offset_bytes) && skip_entries(data, at, offset_bytes);
}

// Bytes of .debug_line before the first damaged table. LLVM's reader ends the process on a DWARF 5 entry of a
// form it does not expect, and makes as many entries of no bytes as the table asks for.
std::size_t readable_bytes(std::string_view section) {
  const llvm::DataExtractor data(llvm::StringRef(section), /*IsLittleEndian=*/true, /*AddressSize=*/8);
  std::uint64_t table = 0;
  while (table < section.size()) {
    Cursor at(table);
    std::uint64_t bytes = data.getU32(at);
    const bool wide = bytes == dwarf::DW_LENGTH_DWARF64;
    if (wide) bytes = data.getU64(at);
    const std::uint64_t body = at.tell();
    const std::uint16_t version = data.getU16(at);
    const bool readable = at && bytes <= section.size() - body && version >= 2 && version <= 5 &&
                          (version < 5 || skip_prologue_5(data, at, wide ? 8 : 4)) && at && at.tell() <= body + bytes;
    llvm::consumeError(at.takeError());
    if (!readable) break;
    table = body + bytes;
  }
  return table;
}

}  // namespace

std::vector<SourcePoint> read_debug_lines(const DebugSections& sections, std::uint64_t code_address,
                                          std::uint64_t code_bytes) {
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  const auto add = [&](const char* name, std::string_view contents) {
    buffers[name] = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(contents), name);
  };
  add("debug_line", sections.debug_line.substr(0, readable_bytes(sections.debug_line)));
  add("debug_line_str", sections.debug_line_str);
  add("debug_str", sections.debug_str);
  const auto ignore = [](llvm::Error fault) { llvm::consumeError(std::move(fault)); };
  const auto context = llvm::DWARFContext::create(buffers, /*AddrSize=*/8, /*isLittleEndian=*/true, ignore, ignore);
  const llvm::DWARFObject& debug = context->getDWARFObj();
  llvm::DWARFDataExtractor data(debug, debug.getLineSection(), /*IsLittleEndian=*/true, /*AddressSize=*/8);
  llvm::DWARFDebugLine::SectionParser parser(data, *context, context->normal_units());

  // A damaged table may give a long name to each of its rows, so names have a limit together.
  constexpr std::size_t most_name_bytes = std::size_t{16} << 20;
  std::size_t name_bytes = 0;

  // The last row at an address holds, but the end of one sequence gives way to the start of the next.
  std::map<std::uint32_t, SourcePoint> points;
  while (!parser.done()) {
    const llvm::DWARFDebugLine::LineTable table = parser.parseNext(ignore, ignore);
    for (const llvm::DWARFDebugLine::Row& row : table.Rows) {
      const std::uint64_t offset = row.Address.Address - code_address;
      if (offset >= code_bytes) continue;
      SourcePoint point{static_cast<std::uint32_t>(offset), "", 0};
      if (row.EndSequence) {
        points.emplace(point.offset, point);
        continue;
      }
      using Kind = llvm::DILineInfoSpecifier::FileLineInfoKind;
      if (row.Line != 0 && table.getFileNameByIndex(row.File, "", Kind::RelativeFilePath, point.file)) {
        point.line = row.Line;
        point.file = one_line(llvm::json::fixUTF8(point.file));  // for reports and their JSON
        name_bytes += point.file.size();
        if (name_bytes > most_name_bytes) return {};
      }
      points.insert_or_assign(point.offset, std::move(point));
    }
  }
  std::vector<SourcePoint> sorted;
  sorted.reserve(points.size());
  for (auto& [offset, point] : points) sorted.push_back(std::move(point));
  return sorted;
}

}  // namespace zyfa::generator
