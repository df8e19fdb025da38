// What a gfx950 code object (.co) holds: machine code, kernel descriptors, the metadata note and the line
// table. Reads anybody's file; nothing in a damaged one leads to a read outside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/debug_lines.h"

namespace zyfa::generator {

// The 64 bytes at <kernel>.kd (AMDGPUUsage, "Kernel Descriptor"). Field positions are those of gfx90a and
// later.
struct KernelDescriptor {
  std::uint32_t group_segment_bytes = 0;    // fixed LDS
  std::uint32_t private_segment_bytes = 0;  // fixed scratch of a lane
  std::uint32_t kernarg_bytes = 0;
  std::int64_t entry_offset = 0;  // bytes from the descriptor to the first instruction
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0;
  std::uint16_t kernarg_preload = 0;

  // Registers: architectural and accumulation VGPRs are one file; AGPRs start at accum_offset().
  std::uint32_t vgpr_count() const { return (bits(rsrc1, 0, 6) + 1) * 8; }
  std::uint32_t accum_offset() const { return (bits(rsrc3, 0, 6) + 1) * 4; }
  std::uint32_t sgpr_count() const { return (bits(rsrc1, 6, 4) / 2 + 1) * 16; }

  // MODE[7:0] at the start: round f32, round f16/f64, denormals f32, denormals f16/f64, two bits each from
  // bit 0.
  std::uint32_t float_mode() const { return bits(rsrc1, 12, 8); }
  bool dx10_clamp() const { return bits(rsrc1, 21, 1) != 0; }
  bool ieee_mode() const { return bits(rsrc1, 23, 1) != 0; }
  bool fp16_overflow() const { return bits(rsrc1, 26, 1) != 0; }

  // System registers that follow the user SGPRs, and v0.
  bool enable_private_segment() const { return bits(rsrc2, 0, 1) != 0; }
  std::uint32_t user_sgpr_count() const { return bits(rsrc2, 1, 5); }
  bool enable_workgroup_id_x() const { return bits(rsrc2, 7, 1) != 0; }
  bool enable_workgroup_id_y() const { return bits(rsrc2, 8, 1) != 0; }
  bool enable_workgroup_id_z() const { return bits(rsrc2, 9, 1) != 0; }
  bool enable_workgroup_info() const { return bits(rsrc2, 10, 1) != 0; }
  std::uint32_t workitem_id_dimensions() const { return bits(rsrc2, 11, 2) + 1; }  // 1: x, 2: x y, 3: x y z
  bool threadgroup_split() const { return bits(rsrc3, 16, 1) != 0; }

  // User SGPRs, in the order they are loaded from s0; SGPRs each takes.
  bool enable_sgpr_private_segment_buffer() const { return bits(properties, 0, 1) != 0; }  // 4
  bool enable_sgpr_dispatch_ptr() const { return bits(properties, 1, 1) != 0; }            // 2
  bool enable_sgpr_queue_ptr() const { return bits(properties, 2, 1) != 0; }               // 2
  bool enable_sgpr_kernarg_segment_ptr() const { return bits(properties, 3, 1) != 0; }     // 2
  bool enable_sgpr_dispatch_id() const { return bits(properties, 4, 1) != 0; }             // 2
  bool enable_sgpr_flat_scratch_init() const { return bits(properties, 5, 1) != 0; }       // 2
  bool enable_sgpr_private_segment_size() const { return bits(properties, 6, 1) != 0; }    // 1
  bool uses_dynamic_stack() const { return bits(properties, 11, 1) != 0; }
  std::uint32_t kernarg_preload_dwords() const { return bits(kernarg_preload, 0, 7); }  // one SGPR each, after those
  std::uint32_t kernarg_preload_offset() const { return bits(kernarg_preload, 7, 9); }  // dwords into the arguments

 private:
  static constexpr std::uint32_t bits(std::uint32_t value, unsigned from, unsigned width) {
    return value >> from & ((1u << width) - 1);
  }
};

struct KernelArgument {
  std::string name;                    // empty where the metadata gives none (hidden arguments)
  std::uint32_t offset = 0, size = 0;  // bytes in the argument segment
  std::string kind;                    // .value_kind, such as global_buffer, by_value, hidden_block_count_x
};

// One kernel: its metadata and its descriptor. Counts are the metadata's; 0 where an optional one is absent.
struct KernelImage {
  std::string symbol;  // the name a kernel is loaded by, without ".kd"
  KernelDescriptor descriptor;
  std::vector<KernelArgument> arguments;
  std::uint32_t max_workgroup_size = 0;  // work items
  std::uint32_t vgpr_count = 0, sgpr_count = 0, agpr_count = 0, vgpr_spill_count = 0;
  std::uint64_t code_offset = 0;  // bytes from the start of CodeObject::code to the first instruction
  std::uint64_t code_bytes = 0;   // of the kernel's function, or to the end of the code if its size is not given
};

// A part of the file that a loader puts into memory, at `address` in the file's own address space.
struct Segment {
  std::uint64_t address = 0;
  bool writable = false;
  std::vector<std::byte> bytes;  // as long as in memory: zeros where the file has none
};

// The 64 bits at an address become a value plus the address that the object is loaded at.
struct Relocation {
  std::uint64_t address = 0;
  std::uint64_t value = 0;
};

struct CodeObject {
  std::vector<std::byte> code;       // section .text
  std::uint64_t code_address = 0;    // its address in the file's own address space
  std::vector<KernelImage> kernels;  // in the metadata's order
  std::vector<Segment> segments;
  std::vector<Relocation> relocations;
  std::vector<SourcePoint> lines;  // sorted by offset, at most one for an offset; empty without debug information
  std::uint32_t code_object_version = 0;  // 4, 5 or 6
};

// `name` stands for the file in messages. Debug sections that are compressed count as absent.
// Throws Error naming the file and the fault: not ELF, cut short, for another machine or processor, not
// linked, metadata that is missing, malformed or names kernels the file does not hold.
CodeObject read_code_object(std::span<const std::byte> file, std::string_view name);

}  // namespace zyfa::generator
