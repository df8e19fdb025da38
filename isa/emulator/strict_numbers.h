// Finds the instruction at which a NaN or an infinity comes into being: its result has one and none of the numbers that
// it was made of is one. Cheap while results are finite; the inputs are looked at only when they are not.
#pragma once

#include "isa/emulator/strict_log.h"
#include "isa/emulator/strict_program.h"
#include "isa/emulator/wave.h"

namespace zyfa::emulator {

inline constexpr std::size_t largest_matrix_result = 32;  // registers

class StrictNumbers {
 public:
  StrictNumbers(const StrictProgram& program, StrictLog& log) : program_(program), log_(log) {}

  // Around the execution of an instruction whose Facts::numbers says so.
  void before(const Wave& wave, std::uint32_t index);
  void after(const Wave& wave, std::uint32_t index);

 private:
  enum class Sort : std::uint8_t { finite, infinite, nan };
  static Sort sort_f32(std::uint32_t bits);
  static Sort sort_f64(std::uint64_t bits);
  static Sort sort_f16(std::uint32_t half);
  static Sort sort_fp8(std::uint32_t byte);
  static Sort sort_bf8(std::uint32_t byte);

  // What one number of the result was made of, as far as it has been looked at.
  struct Inputs {
    bool has_nan = false, has_infinity = false;
    std::array<std::string, 4> numbers;  // as reports show them; none for a matrix
    std::size_t count = 0;
    void add(Sort sort);
    template <class Number>
    void add(Sort sort, Number number);
    void add_f32(std::uint32_t bits);
    void add_f16(std::uint32_t half);
  };

  const Lanes& old_register(const Wave& wave, const isa::Inst& inst, std::size_t reg) const;
  std::uint32_t source_word(const Wave& wave, const isa::Inst& inst, int arg, int part, std::size_t lane) const;
  void add_source(const Wave& wave, const isa::Inst& inst, int arg, int part, std::size_t lane, Inputs& inputs) const;
  void add_half(const Wave& wave, const isa::Inst& inst, int arg, bool high, std::size_t lane, Inputs& inputs) const;
  void add_operand(const Wave& wave, const isa::Inst& inst, int arg, int part, std::size_t lane, Inputs& inputs) const;
  Inputs lane_inputs(const Wave& wave, const isa::Inst& inst, Numbers numbers, int part, std::size_t lane) const;
  Inputs matrix_inputs(const Wave& wave, const isa::Inst& inst, int reg, std::size_t lane) const;
  void add_matrix_source(const Wave& wave, const isa::Inst& inst, int arg, int row, Inputs& inputs) const;
  static Sort result_sort(const Wave& wave, const isa::Inst& inst, Numbers numbers, int part, std::size_t lane);
  void look(const Wave& wave, std::uint32_t index, int part);
  void judge(const Wave& wave, std::uint32_t index, std::size_t lane, Sort result, const Inputs& inputs);

  const StrictProgram& program_;
  StrictLog& log_;
  std::array<Lanes, largest_matrix_result> old_;  // the destination before, where it overlaps a source
};

}  // namespace zyfa::emulator
