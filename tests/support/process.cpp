#include "tests/support/process.h"

#include "isa/error.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace zyfa {

namespace fs = std::filesystem;

namespace {

// In the child, where nothing may allocate: redirects, changes directory, becomes the command. 126 and 127 are the
// shell's codes for what cannot be run.
[[noreturn]] void become(char* const* arguments, const char* directory, const char* out, const char* err) {
  const int input = open("/dev/null", O_RDONLY);
  const int output = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int errors = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (input < 0 || output < 0 || errors < 0) _exit(126);
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) _exit(126);
  if (*directory != '\0' && chdir(directory) != 0) _exit(126);
  execvp(arguments[0], arguments);
  _exit(127);
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const fs::path& directory) {
  const TemporaryDirectory streams;
  const std::string out = streams.file("out"), err = streams.file("err"), where = directory.string();
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw Error("cannot start {}: {}", command.at(0), std::strerror(errno));
  if (child == 0) become(arguments.data(), where.c_str(), out.c_str(), err.c_str());
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Error("cannot wait for {}: {}", command[0], std::strerror(errno));
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 126 || code == 127) throw Error("{} cannot be run in '{}'", command[0], where);
  return {code, text_of(out), text_of(err)};
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "zyfa-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error("cannot create {}: {}", name, std::strerror(errno));
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace zyfa
