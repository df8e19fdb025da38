// Linear, explicit allocation of registers with names. Hand-made schedules need stable numbers, so there is no register
// allocation beyond first fit; a scope gives back what was taken inside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zyfa::generator {

// A range of registers and what a schedule keeps there; others may take them over later.
struct NamedRegisters {
  char file = 'v';  // or a, s
  int first = 0, count = 0;
  std::string name;

  std::string text() const;  // "v[0:15]" or "v3"
};

class RegisterFile {
 public:
  // `kind` is the letter of the file, for messages; `size` registers.
  RegisterFile(char kind, int size);

  // The lowest free range of `count` registers that starts at a multiple of `alignment`. Throws Error with the register
  // map if there is none.
  int allocate(int count, int alignment, std::string_view name);
  // Takes exactly [first, first + count). Throws Error if any of it is taken.
  void claim(int first, int count, std::string_view name);
  // Frees everything allocated after `mark`, newest first; mark() gives the present point.
  void release_to(std::size_t mark);
  std::size_t mark() const { return live_.size(); }

  int peak() const { return peak_; }  // one past the highest register ever taken
  // Every range ever taken, in order of first use.
  const std::vector<NamedRegisters>& history() const { return history_; }
  std::string map() const;

 private:
  void take(int first, int count, std::string_view name);

  char kind_;
  std::vector<bool> taken_;
  std::vector<NamedRegisters> live_, history_;
  int peak_ = 0;
};

}  // namespace zyfa::generator
