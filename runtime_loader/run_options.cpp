#include "runtime_loader/run_options.h"

#include "generator/command.h"
#include "isa/error.h"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

namespace zyfa::runtime {
namespace {

constexpr const char* examples = R"(Examples:
  zyfa-run K.co --batch 1 --heads 2 --kv-heads 1 --seqlen 512
  zyfa-run K.co --heads 8 --kv-heads 1 --seqlen 1000 --seqlen-k 3000 --input sink --sigma 2 --json
  zyfa-run fwd_hd128_fp8.co --abi aiter-v3 --seqlen 4096 --input sink --v-mean 1
  zyfa-run zyfa_quantise_hd128_gfx950.co --heads 8 --kv-heads 2 --seqlen 1000   a kernel that quantises
  zyfa-run K.co --q q.npy --k k.npy --v kv.safetensors:v --output o.npy
  zyfa-run K.co --backend hip --heads 16 --seqlen 8192 --bench --json
  zyfa-run --probe probes
  zyfa-run K.co --q layer7.safetensors:q --k layer7.safetensors:k --v layer7.safetensors:v --p-statistics
The manifest (K.json) must lie beside the code object, or be named with --manifest.
The exit code is 0 only if the kernel ran to its end and passed.
)";

void check_accepted(const CLI::App& app, const std::vector<std::string>& accepted, std::string_view beside) {
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && std::ranges::find(accepted, option->get_name()) == accepted.end())
      throw Error("{} does not go with {}; accepted beside it: {}", option->get_name(), beside,
                  fmt::join(accepted, ", "));
}

}  // namespace

void add_run_options(CLI::App& app, RunArguments& args) {
  app.footer(examples);
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return generator::usage_error(error.what()); });
  app.add_option("kernel", args.kernel, "code object (.co)");
  app.add_option("--manifest", args.manifest, "its manifest (default: the .json beside it)");
  app.add_option("--abi", args.abi,
                 "calling convention of an object of AITER's, which has no manifest: aiter-v3, "
                 "aiter-v3-group or aiter-v4");
  app.add_option("--seqlens", args.seqlens, "with --abi aiter-v3-group, queries of each sequence: 100,200");
  app.add_option("--seqlens-k", args.seqlens_k, "keys of each, likewise (default: as --seqlens)");
  app.add_flag("--no-check", args.no_check, "with --abi, run to the end and compare nothing");
  app.add_option("--batch", args.shape.batch, "batch entries")
      ->check(generator::positive_number)
      ->capture_default_str();
  app.add_option("--heads", args.shape.heads, "query heads")->check(generator::positive_number)->capture_default_str();
  app.add_option("--kv-heads", args.kv_heads, "key/value heads, a divisor of --heads (default: as --heads)")
      ->check(generator::positive_number);
  app.add_option("--seqlen", args.shape.seqlen_q, "queries, and keys unless --seqlen-k is given")
      ->check(generator::whole_number)
      ->capture_default_str();
  app.add_option("--seqlen-k", args.seqlen_k, "keys")->check(generator::whole_number);
  app.add_option("--input", args.input, "gaussian, sink, ones or peaked")->capture_default_str();
  app.add_option("--sigma", args.sigma, "standard deviation of the logits (default: 1)");
  app.add_option("--seed", args.seed, "of the random input")->check(generator::whole_number)->capture_default_str();
  app.add_option("--softmax-scale", args.softmax_scale, "default: 1 / sqrt(head dim)");
  app.add_flag("--distinct-descales", args.distinct_descales, "another magnitude for every batch entry and head");
  app.add_flag("--v-ones", args.v_ones, "V all ones with any input kind");
  app.add_option("--v-mean", args.v_mean, "mean of V, whose deviation is 1 (default: 0)");
  app.add_option("--layout", args.layout, "bshd, bhsd or fused_qkv")->capture_default_str();
  app.add_option("--q", args.q,
                 "queries from FILE.npy or FILE.safetensors[:TENSOR], (batch, seq, heads, dim) or (seq, heads, dim); "
                 "BF16, F32, F16 or FP8 (docs/accuracy-on-your-data.md)");
  app.add_option("--k", args.k, "keys, likewise");
  app.add_option("--v", args.v, "values, likewise");
  app.add_option("--file-layout", args.file_layout, "of these files, bshd or bhsd: (batch, heads, seq, dim)")
      ->capture_default_str();
  app.add_flag("--p-statistics", args.p_statistics,
               "also say what became of the probabilities: zeros, shifts, references (docs/accuracy-on-your-data.md)");
  app.add_option("--output", args.output, "save O to this .npy");
  app.add_option("--tolerance", args.tolerance, "largest relative error that passes (default: 0.05)");
  app.add_option("--check-stride", args.check_stride, "compare every Nth query only")
      ->check(generator::positive_number)
      ->capture_default_str();
  app.add_option("--threads", args.threads, "host threads (default: all)")->check(CLI::Range(0, 1024));
  app.add_option("--max-instructions", args.max_instructions, "per wave, before a loop counts as endless")
      ->check(generator::whole_number)
      ->capture_default_str();
  app.add_flag("--strict", args.strict, "report what the architecture leaves undefined (docs/strict.md), and fail");
  app.add_option("--shuffle", args.shuffle_seed, "random order of waves and latencies, from this seed")
      ->check(generator::whole_number);
  app.add_option("--machine", args.machine_file,
                 "as zyfa-gen takes it, nominal, optimistic, pessimistic or a JSON file: arithmetic "
                 "(docs/numerics.md), wait states; with --bench and --probe, what is compared with");
  app.add_option("--backend", args.backend, "emulator, or hip: a GPU (docs/first-run-on-mi355x.md)")
      ->check([](const std::string& name) {
        return name == "emulator" || name == "hip" ? std::string() : "is '" + name + "'; accepted: emulator, hip";
      })
      ->capture_default_str();
  app.add_option("--device", args.device, "number of the GPU, as HIP counts")->check(generator::whole_number);
  app.add_option("--repeat", args.repeat, "launch so often; all outputs must have the same bits")
      ->check(generator::positive_number);
  app.add_flag("--bench", args.bench, "also measure time, clock and power, beside what the model says");
  app.add_option("--warm-up", args.warm_up_seconds, "seconds of launches before those that count (default: 2)")
      ->check(CLI::Range(0.0, 3600.0))
      ->needs("--bench");
  app.add_option("--launches", args.launches, "launches of --bench that count (default: 100)")
      ->check(generator::positive_number)
      ->needs("--bench");
  app.add_option("--probe", args.probe_directory,
                 "run the probes in this directory on a GPU instead of a kernel, and write what they find there as "
                 "machine.json (docs/probes.md)");
  app.add_flag("--json", args.json, "print one JSON object instead of text");
  app.set_version_flag("--version", "zyfa " ZYFA_VERSION);
  for (const char* name : {"--seqlens", "--no-check"}) app.get_option(name)->needs("--abi");
  app.get_option("--seqlens-k")->needs("--seqlens");
  for (const char* name :
       {"--manifest", "--q", "--k", "--v", "--output", "--layout", "--distinct-descales", "--p-statistics"})
    app.get_option(name)->excludes("--abi");
  for (const char* name : {"--batch", "--seqlen", "--seqlen-k"}) app.get_option(name)->excludes("--seqlens");
  app.get_option("--v-mean")->excludes("--v-ones");
  for (const char* name : {"--tolerance", "--check-stride"}) app.get_option(name)->excludes("--no-check");
  for (const char* file : {"--q", "--k", "--v"}) app.get_option("--file-layout")->needs(file);
  for (const char* name : {"--batch", "--heads", "--kv-heads", "--seqlen", "--seqlen-k", "--input", "--sigma", "--seed",
                           "--v-ones", "--v-mean", "--distinct-descales"})
    for (const char* file : {"--q", "--k", "--v"}) app.get_option(name)->excludes(file);
}

void check_backend(const CLI::App& app, const RunArguments& args) {
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  if (!args.probe_directory.empty()) {
    if (given("--backend") && !args.on_gpu())
      throw Error("--probe runs on a GPU; zyfa-sim --probe runs the same probes on the model");
    check_accepted(app, {"--probe", "--device", "--backend", "--machine", "--json"}, "--probe");
    return;
  }
  if (args.kernel.empty()) throw Error("say which kernel to run, or --probe DIR (--help has examples)");
  if (args.on_gpu()) {
    for (const char* option : {"--abi", "--strict", "--shuffle", "--max-instructions", "--p-statistics"})
      if (given(option)) throw Error("{} is for the emulator; it does not go with --backend hip", option);
    if (given("--machine") && !args.bench) throw Error("--machine goes with --backend hip only beside --bench");
    return;
  }
  if (args.bench)
    throw Error("--bench needs --backend hip: emulation says nothing of time on a GPU, which zyfa-sim models");
  for (const char* option : {"--device", "--repeat"})
    if (given(option)) throw Error("{} needs --backend hip", option);
}

void check_quantise(const CLI::App& app) {
  check_accepted(
      app,
      {"kernel", "--manifest", "--batch", "--heads", "--kv-heads", "--seqlen", "--seed", "--layout", "--threads",
       "--max-instructions", "--strict", "--shuffle", "--machine", "--backend", "--device", "--json"},
      "a kernel that quantises");
}

}  // namespace zyfa::runtime
