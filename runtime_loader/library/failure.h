// An Error that knows the status which the C interface returns for it.
#pragma once

#include "isa/error.h"
#include "runtime_loader/library/zyfa.h"

namespace zyfa::runtime {

class Failure : public Error {
 public:
  template <typename... Args>
  explicit Failure(zyfa_status status, fmt::format_string<Args...> format, Args&&... args)
      : Error(format, std::forward<Args>(args)...), status_(status) {}
  zyfa_status status() const { return status_; }

 private:
  zyfa_status status_;
};

// What `body` returns. An Error of it that knows no status becomes a Failure with this one.
template <class Body>
auto with_status(zyfa_status status, Body body) {
  try {
    return body();
  } catch (const Failure&) {
    throw;
  } catch (const Error& error) {
    throw Failure(status, "{}", error.what());
  }
}

}  // namespace zyfa::runtime
