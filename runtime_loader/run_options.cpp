#include "runtime_loader/run_options.h"

#include "generator/command.h"

#include <CLI/CLI.hpp>

namespace zyfa::runtime {
namespace {

constexpr const char* examples = R"(Examples:
  zyfa-run K.co --batch 1 --heads 2 --kv-heads 1 --seqlen 512
  zyfa-run K.co --heads 8 --kv-heads 1 --seqlen 1000 --seqlen-k 3000 --input sink --sigma 2 --json
  zyfa-run fwd_hd128_fp8.co --abi aiter-v3 --seqlen 4096 --input sink --v-mean 1
  zyfa-run K.co --q q.npy --k k.npy --v kv.safetensors:v --output o.npy
  zyfa-run K.co --q layer7.safetensors:q --k layer7.safetensors:k --v layer7.safetensors:v --p-statistics
The manifest (K.json) must lie beside the code object, or be named with --manifest.
The exit code is 0 only if the kernel ran to its end and passed.
)";

}  // namespace

void add_run_options(CLI::App& app, RunArguments& args) {
  app.footer(examples);
  app.failure_message([](const CLI::App*, const CLI::Error& error) { return generator::usage_error(error.what()); });
  app.add_option("kernel", args.kernel, "code object (.co)")->required();
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
                 "(docs/numerics.md), wait states");
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

}  // namespace zyfa::runtime
