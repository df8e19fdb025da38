// Runs the project's programs as a user's shell would.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace zyfa {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string out, err;
};

// command[0] is looked up as execvp does; stdin is empty. Throws Error if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& directory = {});

// A fresh directory, removed with all it holds at the end of its life.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace zyfa
