// What hipcc makes of device code: an ELF code object, or a bundle with one for each architecture (LLVM's
// ClangOffloadBundler.rst).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zyfa::hip_emulated {

bool is_bundle(std::span<const std::byte> file);
bool is_compressed_bundle(std::span<const std::byte> file);

struct BundleEntry {
  std::string id;  // "hipv4-amdgcn-amd-amdhsa--gfx950:xnack-"
  std::uint64_t offset = 0, size = 0;
};

// None if the headers do not lie within the file.
std::optional<std::vector<BundleEntry>> bundle_entries(std::span<const std::byte> file);

// The target of an entry, "gfx950:xnack-"; empty for the host's.
std::string_view bundle_target(const BundleEntry& entry);

// The target of an ELF code object for AMD's GPUs in the same form; of an unknown processor its number, "processor
// 0x2c". None if the file is none.
std::optional<std::string> elf_target(std::span<const std::byte> file);

// Whether code for the target runs on a device of this name: the same processor, and no feature set otherwise.
bool runs_on(std::string_view target, std::string_view device);

// Length of the code object or bundle that starts at `image`, by its headers; 0 if it is neither. Reads with `read`,
// which returns false where there is no memory.
std::uint64_t image_bytes(const std::function<bool(std::uint64_t offset, std::span<std::byte> into)>& read);

}  // namespace zyfa::hip_emulated
