// Runs a decoded program as a grid of workgroups. Programs are anybody's: whatever they do wrong ends in a Trap that
// says where, never in a crash of the host.
#pragma once

#include "isa/emulator/finding.h"
#include "isa/emulator/memory.h"
#include "isa/inst.h"
#include "isa/machine.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zyfa::emulator {

struct Wave;

// What memory instructions are held to.
enum class MemoryModel : std::uint8_t {
  // What the architecture promises and no more: loads arrive at the s_waitcnt that covers them; touching LDS bytes that
  // an LDS-DMA in flight will write, and addresses that are no multiple of the element, are traps.
  architecture,
  // What hardware does in practice, for kernels that are right only by it (AITER's: docs/aiter.md): LDS reads arrive at
  // once, LDS-DMA after all that other waves do until they wait themselves, global addresses need no alignment
  // (HSA's alignment mode), and there is no trap for bytes in flight.
  hardware,
};

// What the command processor puts into registers before the first instruction (AMDGPU HSA ABI: "Initial Kernel
// Execution State"). Scalar registers are filled in the order of the members.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};             // workgroups
  std::array<std::uint32_t, 3> workgroup_size{64, 1, 1};  // work-items
  std::uint64_t kernarg_address = 0;
  bool pass_dispatch_ptr = false;
  std::uint64_t dispatch_address = 0;  // of the packet, if the launch made one
  bool pass_queue_ptr = false;         // reads as 0: there is no queue
  bool pass_kernarg_ptr = true;
  bool pass_dispatch_id = false;
  std::array<bool, 3> pass_workgroup_id{true, true, true};
  std::uint32_t user_sgprs = 2;  // workgroup ids start at this scalar register
  std::uint32_t mode = 0x3f0;    // MODE register; the HSA default: denormals on, dx10_clamp and ieee set
  std::uint32_t lds_bytes = 0;
  std::uint32_t private_bytes = 0;  // of a lane
  std::uint32_t entry = 0;          // index of the first instruction
  std::uint64_t code_address = 0;   // where Program::offsets count from, for programs that compute with code addresses
  MemoryModel memory_model = MemoryModel::architecture;
  // The HSA's alignment mode, which compilers make use of for packed data: addresses of LDS, buffer, global and flat
  // accesses (not of atomics or scalar loads) need be no multiple of anything.
  bool unaligned_access = false;
};

enum class TrapKind : std::uint8_t {
  memory_out_of_bounds,
  lds_out_of_bounds,
  misaligned,
  lds_in_flight,  // an LDS access to bytes that a pending LDS-DMA of any wave will write
  bad_branch,     // a branch out of the program, a jump to an address that is no instruction of it
  ran_off_end,    // execution past the last instruction
  too_many_instructions,
  bad_exec,      // an instruction that needs all lanes ran without
  bad_register,  // an index past the last register, or of an instruction that is not indexed here
  bad_mode,      // MODE asks for what the emulator does not do
  trap_handler,  // s_trap
};

struct Trap {
  TrapKind kind{};
  std::string message;  // one line: what, where, instruction text
  std::uint32_t instruction = 0;
  SourceLine where;
  std::array<std::uint32_t, 3> workgroup{};
  std::uint32_t wave = 0;
  int lane = -1;  // -1: the whole wave
};

// Looks at a wave's state before some of its instructions.
struct Observer {
  std::vector<bool> instructions;  // those it is called before; may be shorter than the program
  // `workgroup` counts in grid order. Threads call it at once, each for workgroups of its own.
  std::function<void(std::uint64_t workgroup, const Wave& wave, std::uint32_t instruction)> before;

  bool looks_at(std::uint32_t instruction) const {
    return instruction < instructions.size() && instructions[instruction];
  }
};

struct Options {
  int threads = 0;                                                      // 0: as many as the host has
  std::uint64_t max_instructions = 1'000'000'000;                       // per wave
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;  // workgroups; called by one thread at a time
  bool strict = false;                                                  // look for what docs/strict.md lists
  isa::Machine machine;  // its numerics; strict: its required wait states
  // Adversarial timing: waves take turns at random, and memory instructions take effect at random between their issue
  // and the s_waitcnt that covers them. A program that leaves nothing to chance computes the same for all seeds.
  std::optional<std::uint64_t> shuffle_seed;
  Observer observer = {};  // nobody, if it looks at no instruction
};

struct Result {
  std::optional<Trap> trap;  // of the first workgroup in grid order that trapped
  std::uint64_t instructions = 0;
  std::uint64_t matrix_instructions = 0;
  // Strict: each rule once per pair of instructions, in the first workgroup in grid order that breaks it. At most
  // max_findings of them; the others are only counted.
  std::vector<Finding> findings;
  std::uint64_t findings_left_out = 0;
  std::map<std::string, std::uint64_t> finding_counts;  // of all, by Finding::kind()
};
inline constexpr std::size_t max_findings = 200;

// The grid's workgroups run on host threads; within a workgroup waves take turns at barriers. Loads read memory when
// they issue and arrive in registers or LDS at the latest moment the architecture allows: at the s_waitcnt that covers
// them. Registers and LDS start out as all-ones bits (NaN in every format).
Result run(const isa::Program& program, const Launch& launch, const GlobalMemory& memory, const Options& options = {});

}  // namespace zyfa::emulator
