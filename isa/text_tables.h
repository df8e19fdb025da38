// Spellings that printing and parsing share, so that one cannot drift from the other. Facts: CDNA4 ISA 5.1
// (operand encodings) and 12.x (DPP control); names as LLVM spells them for gfx950.
#pragma once

#include "isa/inst.h"

#include <string_view>

namespace zyfa::isa {

struct SpecialRegister {
  std::string_view name;
  std::uint8_t first, count;
};
inline constexpr std::array<SpecialRegister, 15> special_registers = {{
    {"flat_scratch", 102, 2},
    {"flat_scratch_lo", 102, 1},
    {"flat_scratch_hi", 103, 1},
    {"xnack_mask", 104, 2},
    {"xnack_mask_lo", 104, 1},
    {"xnack_mask_hi", 105, 1},
    {"vcc", 106, 2},
    {"vcc_lo", 106, 1},
    {"vcc_hi", 107, 1},
    {"m0", 124, 1},
    {"exec", 126, 2},
    {"exec_lo", 126, 1},
    {"exec_hi", 127, 1},
    {"src_shared_base", 235, 2},
    {"src_private_base", 237, 2},
}};
inline constexpr std::uint32_t first_trap_register = 108, trap_registers = 16;

// DPP control fields by name:amount, amounts low..high at consecutive codes; high = 0: the name stands alone.
// quad_perm, codes up to last_quad_permutation, has a notation of its own.
struct DppControl {
  std::string_view name;
  std::uint16_t code;  // of amount `low`
  std::uint8_t low, high;
};
inline constexpr std::array<DppControl, 12> dpp_controls = {{
    {"row_shl", 0x101, 1, 15},
    {"row_shr", 0x111, 1, 15},
    {"row_ror", 0x121, 1, 15},
    {"wave_shl", 0x130, 1, 1},
    {"wave_rol", 0x134, 1, 1},
    {"wave_shr", 0x138, 1, 1},
    {"wave_ror", 0x13c, 1, 1},
    {"row_mirror", 0x140, 0, 0},
    {"row_half_mirror", 0x141, 0, 0},
    {"row_bcast", 0x142, 15, 15},
    {"row_bcast", 0x143, 31, 31},
    {"row_newbcast", 0x150, 0, 15},
}};
inline constexpr std::uint16_t last_quad_permutation = 0xff;

// Modifiers that are one word, in the order of the text.
struct Flag {
  std::string_view name;
  bool Modifiers::*field;
};
inline constexpr std::array<Flag, 2> address_flags = {{{"idxen", &Modifiers::idxen}, {"offen", &Modifiers::offen}}};
inline constexpr std::array<Flag, 4> memory_flags = {
    {{"sc0", &Modifiers::sc0}, {"nt", &Modifiers::nt}, {"sc1", &Modifiers::sc1}, {"lds", &Modifiers::lds}}};

// name:[0,1,...]: one bit for each source.
struct BitList {
  std::string_view name;
  std::uint8_t Modifiers::*field;
};
inline constexpr std::array<BitList, 4> bit_lists = {{{"op_sel", &Modifiers::op_sel},
                                                      {"op_sel_hi", &Modifiers::op_sel_hi},
                                                      {"neg_lo", &Modifiers::neg_lo},
                                                      {"neg_hi", &Modifiers::neg_hi}}};

// name:number, not written where zero.
struct Field {
  std::string_view name;
  std::uint8_t Modifiers::*field;
};
inline constexpr std::array<Field, 3> matrix_fields = {
    {{"cbsz", &Modifiers::cbsz}, {"abid", &Modifiers::abid}, {"blgp", &Modifiers::blgp}}};

// Selections and rests of SDWA by their codes.
inline constexpr std::array<std::string_view, 7> sdwa_selections = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                                    "WORD_0", "WORD_1", "DWORD"};
inline constexpr std::array<std::string_view, 3> sdwa_rests = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

inline constexpr std::array<std::string_view, 4> output_modifiers = {"", "mul:2", "mul:4", "div:2"};

// name(number) of s_waitcnt; a counter at its highest value is not waited for.
struct WaitField {
  std::string_view name;
  std::uint8_t Modifiers::*field;
  std::uint8_t highest;
};
inline constexpr std::array<WaitField, 3> wait_fields = {
    {{"vmcnt", &Modifiers::vmcnt, 63}, {"expcnt", &Modifiers::expcnt, 7}, {"lgkmcnt", &Modifiers::lgkmcnt, 15}}};

inline constexpr std::array<std::string_view, 5> form_suffixes = {"", "_e32", "_e64", "_dpp", "_sdwa"};

}  // namespace zyfa::isa
