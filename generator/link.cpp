#include "generator/link.h"

#include <lld/Common/Driver.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/raw_ostream.h>
#include <stdlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>

#include "isa/error.h"

LLD_HAS_DRIVER(elf)

namespace zyfa::generator {
namespace {

// LLD reads and writes files by name. They live in a directory only this user can enter, gone with this
// object.
class PrivateDirectory {
 public:
  PrivateDirectory() {
    std::error_code fault;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(fault);
    if (fault) throw Error("TMPDIR names no directory to link in: {}", fault.message());
    std::string pattern = (parent / "zyfa-link-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error("cannot make a directory to link in, {}: {}", pattern, std::generic_category().message(errno));
    }
    path_ = pattern;
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  std::string file(const char* name) const { return (path_ / name).string(); }
  std::string prefix() const { return file(""); }

 private:
  std::filesystem::path path_;
};

// LLD ends the process on a fatal error unless LLVM's crash recovery is on; then lldMain returns. The
// handlers of the process are back in place afterwards.
struct CrashRecovery {
  CrashRecovery() { llvm::CrashRecoveryContext::Enable(); }
  ~CrashRecovery() { llvm::CrashRecoveryContext::Disable(); }
};

// An object that LLD ends on costs it the ability to run again, so what is no whole object never gets there.
// The section table is the last thing in an object: whatever is cut short lacks some of it.
void require_relocatable(std::span<const std::byte> object) {
  llvm::ELF::Elf64_Ehdr header;
  if (object.size() < sizeof header) throw Error("link: {} bytes are not an ELF object", object.size());
  std::memcpy(&header, object.data(), sizeof header);
  if (!header.checkMagic() || header.getFileClass() != llvm::ELF::ELFCLASS64 ||
      header.getDataEncoding() != llvm::ELF::ELFDATA2LSB || header.e_machine != llvm::ELF::EM_AMDGPU ||
      header.e_type != llvm::ELF::ET_REL) {
    throw Error("link: not a relocatable 64-bit AMDGPU object");
  }
  const std::uint64_t table_bytes = std::uint64_t{header.e_shnum} * sizeof(llvm::ELF::Elf64_Shdr);
  if (header.e_shoff > object.size() || table_bytes > object.size() - header.e_shoff) {
    throw Error("link: the object is cut short at {} bytes", object.size());
  }
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw Error("cannot write {}", path);
}

std::vector<std::byte> read_file(const std::string& path) {
  std::error_code fault;
  const std::uintmax_t size = std::filesystem::file_size(path, fault);
  if (fault) throw Error("cannot read {}: {}", path, fault.message());
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw Error("cannot read {}", path);
  return bytes;
}

// LLD's messages as one line: without the temporary directory and the "ld.lld: error: " before each.
std::string one_line(std::string text, const std::string& directory) {
  const auto replace_all = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  };
  replace_all(directory, "");
  replace_all("ld.lld: error: ", "");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  replace_all("\n", "; ");
  return text;
}

}  // namespace

std::vector<std::byte> link(std::span<const std::byte> object) {
  static std::mutex one_link;  // LLD keeps its state in one context per process
  static bool usable = true;   // until it fails to clean that up
  require_relocatable(object);
  const PrivateDirectory directory;
  const std::string input = directory.file("object.o");
  const std::string output = directory.file("object.co");
  write_file(input, object);

  // Written in one go rather than through a mapping: LLVM would leave signal handlers behind that remove it.
  const std::array arguments{"ld.lld",
                             "-shared",
                             "--no-undefined",
                             "--build-id=none",
                             "--threads=1",
                             "--color-diagnostics=never",
                             "--no-mmap-output-file",
                             "-o",
                             output.c_str(),
                             input.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  const std::lock_guard lock(one_link);
  if (!usable) throw Error("link: LLD stopped on a damaged object earlier in this process and cannot run again");
  const CrashRecovery recovery;
  const lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  usable = result.canRunAgain;
  if (result.retCode != 0) {
    const std::string reason = one_line(stream.str(), directory.prefix());
    throw Error("link: {}", reason.empty() ? fmt::format("LLD failed with code {}", result.retCode) : reason);
  }
  return read_file(output);
}

}  // namespace zyfa::generator
