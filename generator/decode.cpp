#include "generator/decode.h"

#include "generator/assemble.h"
#include "isa/isa.h"
#include "isa/text.h"

#include <algorithm>
#include <map>

namespace zyfa::generator {
namespace {

// What the table lacks, each with its first offset and how often it occurs; of a long list (data for code) only the
// beginning.
std::string unknown_instructions(const std::vector<DisassembledLine>& lines) {
  struct Use {
    std::uint32_t offset;
    int times;
  };
  std::map<std::string, Use> unknown;
  for (const DisassembledLine& line : lines) {
    try {
      isa::parse(line.text);
    } catch (const Error& error) {
      unknown.try_emplace(error.what(), Use{line.offset, 0}).first->second.times++;
    }
  }
  constexpr int most_listed = 100;
  int listed = 0;
  std::string text;
  for (const auto& [what, use] : unknown) {
    if (listed++ == most_listed) return text + fmt::format("; and {} more", unknown.size() - most_listed);
    text += fmt::format("{}{} (at offset {:#x}{})", text.empty() ? "" : "; ", what, use.offset,
                        use.times > 1 ? fmt::format(", {} times", use.times) : "");
  }
  return text;
}

// SOPP branches count dwords from the next instruction, in 16 bits with sign.
std::int64_t branch_target(const DisassembledLine& line, const isa::Inst& inst) {
  const auto distance = static_cast<std::int16_t>(inst.args[0].value);
  return static_cast<std::int64_t>(line.offset) + 4 + 4 * std::int64_t{distance};
}

void resolve_branches(isa::Program& program, const std::vector<DisassembledLine>& lines) {
  std::map<std::int64_t, std::uint32_t> index_at;
  for (std::uint32_t i = 0; i < lines.size(); ++i) index_at[lines[i].offset] = i;
  for (std::uint32_t i = 0; i < lines.size(); ++i) {
    isa::Inst& inst = program.code[i];
    if (!isa::is_branch(inst)) continue;
    const auto target = index_at.find(branch_target(lines[i], inst));
    if (target == index_at.end())
      throw Error("'{}' at offset {:#x} branches out of the kernel or into an instruction", lines[i].text,
                  lines[i].offset);
    inst.args[0] = isa::Operand(isa::OperandKind::label, target->second);
  }
}

void attach_sources(DecodedKernel& kernel, const CodeObject& object, std::uint64_t code_offset,
                    const std::vector<DisassembledLine>& lines) {
  auto point = object.lines.begin();
  SourceLine where;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (; point != object.lines.end() && point->offset <= code_offset + lines[i].offset; ++point)
      where =
          point->file.empty() ? SourceLine{} : SourceLine{kernel.files.insert(point->file).first->c_str(), point->line};
    kernel.program.code[i].where = where;
  }
}

}  // namespace

namespace {

// The instructions of part of the object's code.
DecodedKernel decode_part(const CodeObject& object, const KernelImage& image, std::uint64_t first,
                          std::uint64_t bytes) {
  const auto code = std::span(object.code).subspan(first, bytes);
  const std::vector<DisassembledLine> lines = disassemble(code);
  if (const std::string unknown = unknown_instructions(lines); !unknown.empty())
    throw Error("kernel '{}' cannot be decoded: {}", image.symbol, unknown);
  DecodedKernel kernel;
  for (const DisassembledLine& line : lines) {
    kernel.program.code.push_back(isa::parse(line.text));
    kernel.program.offsets.push_back(static_cast<std::uint32_t>(first) + line.offset);
  }
  resolve_branches(kernel.program, lines);
  attach_sources(kernel, object, first, lines);
  return kernel;
}

bool calls(const isa::Program& program) {
  return std::ranges::any_of(program.code, [](const isa::Inst& inst) { return isa::jumps(isa::desc(inst.op).kind); });
}

}  // namespace

DecodedKernel decode(const CodeObject& object, const KernelImage& image) {
  DecodedKernel kernel = decode_part(object, image, image.code_offset, image.code_bytes);
  if (!calls(kernel.program)) return kernel;
  kernel = decode_part(object, image, 0, object.code.size());
  const auto entry = std::ranges::lower_bound(kernel.program.offsets, image.code_offset);
  if (entry == kernel.program.offsets.end() || *entry != image.code_offset)
    throw Error("kernel '{}' begins within an instruction of the code before it", image.symbol);
  kernel.entry = static_cast<std::uint32_t>(entry - kernel.program.offsets.begin());
  return kernel;
}

const KernelImage& find_kernel(const CodeObject& object, std::string_view symbol, std::string_view file) {
  std::string names;
  for (const KernelImage& kernel : object.kernels) {
    if (kernel.symbol == symbol || (symbol.empty() && object.kernels.size() == 1)) return kernel;
    names += (names.empty() ? "" : ", ") + kernel.symbol;
  }
  throw Error("{} holds no kernel '{}'; it holds: {}", file, symbol, names.empty() ? "none" : names);
}

}  // namespace zyfa::generator
