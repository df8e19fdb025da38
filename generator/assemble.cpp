#include "generator/assemble.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "isa/error.h"

namespace zyfa::generator {
namespace {

constexpr const char* triple_text = "amdgcn-amd-amdhsa";
constexpr const char* processor = "gfx950";

// LLVM 22 takes the triple of its factory functions as a Triple, older versions as text.
#if LLVM_VERSION_MAJOR >= 22
using TripleArgument = llvm::Triple;
#else
using TripleArgument = std::string;
#endif

const llvm::Target& amdgpu_target(const TripleArgument& triple) {
  static const bool registered = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
    return true;
  }();
  std::string reason;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!registered || target == nullptr) {
    throw Error("LLVM {} has no AMDGPU target: {}", LLVM_VERSION_STRING, reason);
  }
  return *target;
}

// Descriptions of the machine that both directions need. Made anew for each call (a fraction of a
// millisecond), because directives in the text change the subtarget and the context, and calls may come from
// several threads.
struct Machine {
  TripleArgument triple{triple_text};
  const llvm::Target& target = amdgpu_target(triple);
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers{target.createMCRegInfo(triple)};
  std::unique_ptr<llvm::MCAsmInfo> asm_info{target.createMCAsmInfo(*registers, triple, options)};
  std::unique_ptr<llvm::MCInstrInfo> instructions{target.createMCInstrInfo()};
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget{target.createMCSubtargetInfo(triple, processor, "")};

  Machine() {
    if (!subtarget->isCPUStringValid(processor))
      throw Error("LLVM {} does not know {}", LLVM_VERSION_STRING, processor);
  }
};

// The first error and how many there were; warnings are dropped. The parser reports through the SourceMgr and
// the context through a handler of its own.
struct Diagnostics {
  std::string first;
  unsigned errors = 0;

  void add(const llvm::SMDiagnostic& diagnostic, std::string_view name) {
    if (diagnostic.getKind() != llvm::SourceMgr::DK_Error || errors++ > 0) return;
    const std::string_view message = diagnostic.getMessage();
    if (diagnostic.getLineNo() <= 0) {
      first = fmt::format("{}: {}", name, message);
      return;
    }
    const std::string_view line = diagnostic.getLineContents().trim();
    first = fmt::format("{}:{}: {}: `{}`", name, diagnostic.getLineNo(), message, line);
  }
  [[noreturn]] void raise(std::string_view name) const {
    if (errors == 0) throw Error("{}: not assembled, and LLVM gives no reason", name);
    if (errors == 1) throw Error("{}", first);
    throw Error("{} (and {} more)", first, errors - 1);
  }
};

std::unique_ptr<llvm::MCStreamer> object_streamer(const Machine& machine, llvm::MCContext& context,
                                                  llvm::raw_pwrite_stream& stream) {
  std::unique_ptr<llvm::MCCodeEmitter> emitter{machine.target.createMCCodeEmitter(*machine.instructions, context)};
  std::unique_ptr<llvm::MCAsmBackend> backend{
      machine.target.createMCAsmBackend(*machine.subtarget, *machine.registers, machine.options)};
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  return std::unique_ptr<llvm::MCStreamer>{
      machine.target.createMCObjectStreamer(llvm::Triple(triple_text), context, std::move(backend), std::move(writer),
                                            std::move(emitter), *machine.subtarget)};
}

// One space between words, none at the ends.
std::string normalised(std::string_view printed) {
  std::string text;
  for (const char c : printed) {
    if (c != ' ' && c != '\t') {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Where LLVM's decoder or printer crashes instead of failing: SDWA (VOP1, VOP2 and VOPC with 0xf9 as first source) with
// a select of 7, which is none, or with a literal as scalar source 0.
bool crashes_llvm(std::uint32_t dword, std::uint32_t sdwa) {
  if (dword >> 31 != 0 || (dword & 0x1ff) != 0xf9) return false;
  const bool is_vopc = dword >> 25 == 0x3e, is_vop1 = dword >> 25 == 0x3f;
  const auto is_seven = [sdwa](int shift) { return (sdwa >> shift & 7) == 7; };
  const bool literal = (sdwa & 0x8000ff) == 0x8000ff;
  return literal || (!is_vopc && is_seven(8)) || is_seven(16) || (!is_vop1 && is_seven(24));
}

// The source operand codes of VOP3P (CDNA4 ISA, "Operands"): 9 bits.
bool is_vector_source(std::uint32_t code) { return code >= 256; }
bool is_inline_constant(std::uint32_t code) { return (code >= 128 && code <= 208) || (code >= 240 && code <= 248); }
bool is_scalar_source(std::uint32_t code) {
  return code < 102 || (code >= 106 && code <= 124) || code == 126 || code == 127;
}

// v_mfma_*_f8f6f4, with or without the 8 bytes that give it scales. LLVM's decoder takes A and B for vector registers
// unseen, and loses count of the operands where another one is a literal or does not exist; with either it reads
// through a null pointer (LLVM 22, AMDGPUDisassembler convertMAIInst). None of these is an instruction.
// `code` goes on for 16 bytes.
bool is_broken_matrix(const std::uint8_t* code) {
  constexpr std::uint32_t mfma_16x16x128 = 0xd3ad, mfma_32x32x64 = 0xd3ae, scales = 0xd3ac;
  const auto dword = [&](int i) { return llvm::support::endian::read32le(code + 4 * i); };
  const auto source = [&](int i, int number) { return dword(i) >> 9 * number & 0x1ff; };
  const auto is_known = [](std::uint32_t c) { return is_vector_source(c) || is_inline_constant(c); };
  const bool scaled = dword(0) >> 16 == scales;
  const int matrix = scaled ? 2 : 0;
  const std::uint32_t opcode = dword(matrix) >> 16;
  if (opcode != mfma_16x16x128 && opcode != mfma_32x32x64) return false;
  if (!is_vector_source(source(matrix + 1, 0)) || !is_vector_source(source(matrix + 1, 1))) return true;
  if (!is_known(source(matrix + 1, 2))) return true;
  const auto is_scale = [&](std::uint32_t c) { return is_known(c) || is_scalar_source(c); };
  return scaled && !(is_scale(source(1, 0)) && is_scale(source(1, 1)));
}

}  // namespace

std::vector<std::byte> assemble(std::string_view text, std::string_view name) {
  Machine machine;
  Diagnostics diagnostics;
  const auto report = [&](const llvm::SMDiagnostic& diagnostic) { diagnostics.add(diagnostic, name); };
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* to) { (*static_cast<decltype(report)*>(to))(diagnostic); },
      const_cast<void*>(static_cast<const void*>(&report)));

  // The context gets no compilation directory, so no line table can hold one.
  llvm::MCContext context(llvm::Triple(triple_text), machine.asm_info.get(), machine.registers.get(),
                          machine.subtarget.get(), &sources, &machine.options);
  context.setDiagnosticHandler([&](const llvm::SMDiagnostic& diagnostic, bool, const llvm::SourceMgr&,
                                   std::vector<const llvm::MDNode*>&) { report(diagnostic); });
  const std::unique_ptr<llvm::MCObjectFileInfo> sections{machine.target.createMCObjectFileInfo(context, /*PIC=*/false)};
  context.setObjectFileInfo(sections.get());

  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  const std::unique_ptr<llvm::MCStreamer> streamer = object_streamer(machine, context, stream);
  const std::unique_ptr<llvm::MCAsmParser> parser{
      llvm::createMCAsmParser(sources, context, *streamer, *machine.asm_info)};
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser{
      machine.target.createMCAsmParser(*machine.subtarget, *parser, *machine.instructions, machine.options)};
  parser->setTargetParser(*target_parser);
  const bool failed = parser->Run(/*NoInitialTextSection=*/false);
  if (failed || diagnostics.errors > 0 || context.hadError()) diagnostics.raise(name);

  const auto bytes = std::as_bytes(std::span(object.data(), object.size()));
  return {bytes.begin(), bytes.end()};
}

std::vector<DisassembledLine> disassemble(std::span<const std::byte> code) {
  if (code.size() % 4 != 0) {
    throw Error("code of {} bytes ends in {} stray bytes; gfx950 instructions are whole dwords", code.size(),
                code.size() % 4);
  }
  Machine machine;
  llvm::MCContext context(llvm::Triple(triple_text), machine.asm_info.get(), machine.registers.get(),
                          machine.subtarget.get());
  const std::unique_ptr<llvm::MCDisassembler> decoder{machine.target.createMCDisassembler(*machine.subtarget, context)};
  const std::unique_ptr<llvm::MCInstPrinter> printer{
      machine.target.createMCInstPrinter(llvm::Triple(triple_text), machine.asm_info->getAssemblerDialect(),
                                         *machine.asm_info, *machine.instructions, *machine.registers)};

  // LLVM's decoder crashes on an instruction whose last dwords are cut off, so it gets to see zeros behind the code.
  constexpr std::size_t longest_instruction = 16;
  std::vector<std::uint8_t> padded(code.size() + longest_instruction);
  std::ranges::transform(code, padded.begin(), [](std::byte b) { return static_cast<std::uint8_t>(b); });
  const llvm::ArrayRef<std::uint8_t> bytes(padded);
  std::vector<DisassembledLine> lines;
  lines.reserve(code.size() / 6);
  llvm::SmallString<128> printed;
  for (std::uint32_t offset = 0; offset < code.size();) {
    const std::uint32_t dword = llvm::support::endian::read32le(padded.data() + offset);
    const std::uint32_t next = llvm::support::endian::read32le(padded.data() + offset + 4);
    llvm::MCInst instruction;
    std::uint64_t size = 0;
    const bool decoded = !crashes_llvm(dword, next) && !is_broken_matrix(padded.data() + offset) &&
                         decoder->getInstruction(instruction, size, bytes.drop_front(offset), offset, llvm::nulls()) !=
                             llvm::MCDisassembler::Fail;
    DisassembledLine& line = lines.emplace_back();
    line.offset = offset;
    if (!decoded || size == 0 || size > code.size() - offset) {
      line.size = 4;
      line.text = fmt::format(".long 0x{:08x}", dword);
    } else {
      printed.clear();
      llvm::raw_svector_ostream stream(printed);
      printer->printInst(&instruction, offset, "", *machine.subtarget, stream);
      line.size = static_cast<std::uint32_t>(size);
      line.text = normalised(printed.str());
    }
    offset += line.size;
  }
  return lines;
}

}  // namespace zyfa::generator
