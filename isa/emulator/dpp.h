// DPP: source 0 comes from another lane (gfx9 DPP control field; LLVM AMDGPU DppCtrl), and the lanes that are written.
#pragma once

#include "isa/emulator/wave.h"
#include "isa/error.h"

namespace zyfa::emulator {

inline constexpr int out_of_bounds = -1;

inline int dpp_source_lane(std::uint32_t control, int lane) {
  const int row = lane & ~15;
  const int in_row = lane & 15;
  const int count = static_cast<int>(control & 15);
  if (control < 0x100) return (lane & ~3) + static_cast<int>(control >> (2 * (lane & 3)) & 3);  // quad_perm
  switch (control) {
    case 0x130:
      return lane < 63 ? lane + 1 : out_of_bounds;  // wave_shl:1
    case 0x134:
      return (lane + 1) & 63;  // wave_rol:1
    case 0x138:
      return lane - 1;  // wave_shr:1, lane 0 out of bounds
    case 0x13c:
      return (lane - 1) & 63;  // wave_ror:1
    case 0x140:
      return row + 15 - in_row;  // row_mirror
    case 0x141:
      return (lane & ~7) + 7 - (lane & 7);  // row_half_mirror
    case 0x142:
      return row == 0 ? out_of_bounds : row - 1;  // row_bcast:15
    case 0x143:
      return lane < 32 ? out_of_bounds : 31;  // row_bcast:31
    default:
      break;
  }
  switch (control >> 4) {
    case 0x10:
      return in_row + count < 16 ? lane + count : out_of_bounds;  // row_shl
    case 0x11:
      return in_row >= count ? lane - count : out_of_bounds;  // row_shr
    case 0x12:
      return row + ((in_row - count) & 15);  // row_ror
    case 0x15:
      return row + count;  // row_newbcast
    default:
      throw Error("DPP control {:#x} is not one of gfx950", control);
  }
}

// The lane read, or out_of_bounds; a lane that EXEC disables is not read either.
inline int dpp_valid_lane(const Wave& wave, const isa::Inst& inst, int lane) {
  const int from = dpp_source_lane(inst.mods.dpp_ctrl, lane);
  return from >= 0 && (wave.exec() >> from & 1) ? from : out_of_bounds;
}

inline void permute_dpp(const Wave& wave, const isa::Inst& inst, const Lanes& from, Lanes& to) {
  for (int lane = 0; lane < lanes; ++lane) {
    const int source = dpp_valid_lane(wave, inst, lane);
    to[static_cast<std::size_t>(lane)] = source < 0 ? 0 : from[static_cast<std::size_t>(source)];
  }
}

// Lanes that the instruction writes: EXEC, and under DPP the enabled rows and banks (bank = lane / 4 % 4)
// without the lanes that read out of bounds, unless bound_ctrl lets those read zero.
inline std::uint64_t written_lanes(const Wave& wave, const isa::Inst& inst) {
  std::uint64_t mask = wave.exec();
  if (inst.form != isa::Form::dpp) return mask;
  for (int lane = 0; lane < lanes; ++lane) {
    const bool enabled = (inst.mods.dpp_row_mask >> (lane / 16) & 1) && (inst.mods.dpp_bank_mask >> (lane / 4 % 4) & 1);
    const bool readable = inst.mods.dpp_bound_ctrl || dpp_valid_lane(wave, inst, lane) >= 0;
    if (!enabled || !readable) mask &= ~(std::uint64_t{1} << lane);
  }
  return mask;
}

}  // namespace zyfa::emulator
