// C files compiled by clang for gfx950 while the test runs, executed by the emulator in strict mode, and compared bit
// for bit with what the same C computes on the host. The compiler is a second opinion on what instructions do: it knows
// AMD's hardware, and nothing of this project.
#pragma once

#include "generator/code_object.h"
#include "isa/emulator/emulator.h"
#include "tests/differential/kernels/kernel.h"

#include <concepts>
#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace zyfa::tests {

// Whether there is a clang that compiles for gfx950, beside the LLVM we link or in the PATH. Tests without it say so by
// WARN(no_clang) and pass.
bool have_clang();
inline constexpr const char* no_clang = "skipped: no clang for gfx950 beside LLVM or in the PATH";

// The code object of a C file: a name in tests/differential/kernels/. `defines` are added to the command line
// ("-DN=4"). Throws Error with clang's messages.
std::vector<std::byte> compile_kernels(const std::string& file, const std::vector<std::string>& defines = {});

// The argument segment and the buffers that it points to, which the kernel reads and writes.
class KernelArguments {
 public:
  void buffer(std::span<const std::byte> contents) { arguments_.push_back({true, 8, bytes_of(contents)}); }
  void value(std::span<const std::byte> bytes, std::size_t alignment) {
    arguments_.push_back({false, alignment, bytes_of(bytes)});
  }
  template <class T>
  void add(const std::vector<T>& contents) {
    buffer(std::as_bytes(std::span(contents)));
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T number) { value(std::as_bytes(std::span(&number, 1)), alignof(T)); }
  // Of a buffer; `index` counts all arguments.
  std::span<const std::byte> contents(std::size_t index) const { return arguments_.at(index).bytes; }

 private:
  friend class ClangKernels;
  struct Argument {
    bool is_buffer;
    std::size_t alignment;
    std::vector<std::byte> bytes;
  };
  static std::vector<std::byte> bytes_of(std::span<const std::byte> span) { return {span.begin(), span.end()}; }
  std::vector<Argument> arguments_;
};

struct Grid {
  std::uint32_t workgroups = 1;
  std::uint32_t workgroup_size = workgroup_items;
  bool makes_infinities = false;  // NaN and infinity born in the kernel are no findings
};

// The kernels of one C file.
class ClangKernels {
 public:
  explicit ClangKernels(const std::string& file, const std::vector<std::string>& defines = {});

  // Runs a kernel in strict mode. Returns what went wrong in one line, trap or findings; empty if nothing. Throws Error
  // if an instruction is not in the table, naming it.
  std::string launch(const std::string& symbol, Grid grid, KernelArguments& arguments) const;

  // Of the instructions that a launch of the kernel decodes, without the suffix of the encoding: that clang chose those
  // which a test is about.
  std::set<std::string, std::less<>> mnemonics(const std::string& symbol) const;

  // Machine code, for tests that damage it.
  std::vector<std::byte>& code() { return object_.code; }
  const generator::CodeObject& object() const { return object_; }

 private:
  std::string file_;
  generator::CodeObject object_;
};

// "element 3: expected 0x00000001, got 0x00000002", the first of any, with `name` before it; empty if there is none.
std::string bit_difference(const std::string& name, std::span<const std::byte> expected, std::span<const std::byte> got,
                           std::size_t element_bytes);

template <class T>
std::string bit_difference(const std::string& name, const std::vector<T>& expected, std::span<const std::byte> got) {
  return bit_difference(name, std::as_bytes(std::span(expected)), got, sizeof(T));
}

template <class T>
T* host_argument(std::vector<T>& buffer) {
  return buffer.data();
}
template <class T>
requires std::is_arithmetic_v<T> T host_argument(T number) { return number; }

// Runs a kernel on the emulator and the same C on the host, each with its own copy of the arguments: vectors for
// pointers, numbers. Returns what went wrong or the first bit that differs in any buffer; empty if nothing.
template <class... Parameters, class... Arguments>
std::string compare_with_host(const ClangKernels& kernels, const std::string& symbol,
                              void (*host)(WorkItem, Parameters...), Grid grid, const Arguments&... arguments) {
  KernelArguments device;
  (device.add(arguments), ...);
  if (std::string problem = kernels.launch(symbol, grid, device); !problem.empty()) return problem;
  std::tuple<Arguments...> copies(arguments...);
  for (std::uint32_t workgroup = 0; workgroup < grid.workgroups; ++workgroup)
    for (std::uint32_t item = 0; item < grid.workgroup_size; ++item)
      std::apply([&](auto&... copy) { host({workgroup, item}, host_argument(copy)...); }, copies);
  std::size_t index = 0;
  std::string first;
  const auto compare = [&](const auto& copy) {
    if constexpr (!std::is_arithmetic_v<std::remove_cvref_t<decltype(copy)>>)
      if (first.empty())
        first = bit_difference(symbol + ", argument " + std::to_string(index), copy, device.contents(index));
    ++index;
  };
  std::apply([&](const auto&... copy) { (compare(copy), ...); }, copies);
  return first;
}

}  // namespace zyfa::tests
