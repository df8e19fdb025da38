// Linear, explicit allocation of registers with names. Hand-made schedules need stable numbers, so there is no register
// allocation beyond first fit; a scope gives back what was taken inside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace zyfa::generator {

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
  // Every range ever taken, in order of first use: "v[0:15]  q".
  struct Range {
    int first, count;
    std::string name;
  };
  const std::vector<Range>& history() const { return history_; }
  std::string name(const Range& range) const;
  std::string map() const;

 private:
  void take(int first, int count, std::string_view name);

  char kind_;
  std::vector<bool> taken_;
  std::vector<Range> live_, history_;
  int peak_ = 0;
};

}  // namespace zyfa::generator
