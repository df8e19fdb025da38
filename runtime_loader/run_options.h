// What zyfa-run takes on its command line.
#pragma once

#include "isa/emulator/emulator.h"
#include "runtime_loader/attention_problem.h"

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace zyfa::runtime {

struct RunArguments {
  std::string kernel, manifest;
  std::optional<std::string> abi, seqlens, seqlens_k;  // of AITER's objects
  bool no_check = false;
  AttentionShape shape{.batch = 1, .heads = 1, .seqlen_q = 512};
  std::optional<int> kv_heads, seqlen_k;  // as heads and seqlen_q if not given
  std::string input = "gaussian", layout = "bshd", q, k, v, file_layout = "bshd", output;
  std::optional<double> sigma;
  std::uint64_t seed = 1;
  std::optional<float> softmax_scale;
  double v_mean = 0;
  bool distinct_descales = false, v_ones = false, p_statistics = false, json = false, strict = false;
  std::optional<std::uint64_t> shuffle_seed;
  std::string machine_file;
  int threads = 0, check_stride = 1;
  std::uint64_t max_instructions = emulator::Options{}.max_instructions;
  std::optional<double> tolerance;
  std::string backend = "emulator", probe_directory;
  int device = 0, repeat = 1, launches = 100;
  double warm_up_seconds = 2;
  bool bench = false;

  bool on_gpu() const { return backend == "hip"; }
  bool has_files() const { return !q.empty() || !k.empty() || !v.empty(); }
};

// Options with their help, which of them exclude or need each other, and examples. `args` must outlive the parsing.
void add_run_options(CLI::App& app, RunArguments& args);

// Throws Error for an option that was given and does not go with the backend, or with --probe.
void check_backend(const CLI::App& app, const RunArguments& args);

// The same for one that does not go with a kernel that quantises, which takes rows and no queries, keys or values.
void check_quantise(const CLI::App& app);

}  // namespace zyfa::runtime
