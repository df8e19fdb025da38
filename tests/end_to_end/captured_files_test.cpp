// zyfa-run on captured activations: files as PyTorch, safetensors and NumPy write them, and what is wrong with them.
#include "isa/numeric.h"
#include "runtime_loader/tensor_file.h"
#include "tests/support/catch.h"
#include "tests/support/refused.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>

using namespace zyfa;
using runtime::ElementType;
using runtime::Tensor;

namespace {

constexpr int batch = 2, heads = 4, kv_heads = 2, queries = 50, keys = 70, dim = 128;
const std::string binaries = ZYFA_BINARY_DIR;

// What a model's q, k or v are, of (batch, row, head, element).
using Values = std::function<float(int, int, int, int)>;
Values waves(float phase) {
  return [phase](int b, int r, int h, int d) {
    return 2 * std::sin(phase + 0.37F * static_cast<float>(d) + 0.91F * static_cast<float>(r * (h + 2)) +
                        1.7F * static_cast<float>(b));
  };
}

void append(std::vector<std::byte>& bytes, const void* from, std::size_t count) {
  const auto* first = static_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), first, first + count);
}

Tensor tensor(ElementType type, int batches, int rows, int of_heads, const Values& value, bool heads_first = false) {
  Tensor t{type, {batches, heads_first ? of_heads : rows, heads_first ? rows : of_heads, dim}, {}};
  for (int b = 0; b < batches; ++b)
    for (int i = 0; i < t.shape[1]; ++i)
      for (int j = 0; j < t.shape[2]; ++j)
        for (int d = 0; d < dim; ++d) {
          const float x = heads_first ? value(b, j, i, d) : value(b, i, j, d);
          const std::uint16_t half = type == ElementType::bf16 ? isa::float_to_bf16(x) : isa::float_to_f16(x);
          const std::uint8_t code = isa::float_to_e4m3(x);
          if (type == ElementType::f32) append(t.bytes, &x, sizeof x);
          if (type == ElementType::bf16 || type == ElementType::f16) append(t.bytes, &half, sizeof half);
          if (type == ElementType::e4m3fn) append(t.bytes, &code, sizeof code);
        }
  return t;
}

const char* safetensors_name(ElementType type) {
  return type == ElementType::f32    ? "F32"
         : type == ElementType::bf16 ? "BF16"
         : type == ElementType::f16  ? "F16"
                                     : "F8_E4M3";
}

void save_safetensors(const std::string& file, const std::vector<std::pair<std::string, Tensor>>& tensors) {
  nlohmann::json header;
  std::size_t at = 0;
  for (const auto& [name, t] : tensors) {
    header[name] = {
        {"dtype", safetensors_name(t.type)}, {"shape", t.shape}, {"data_offsets", {at, at + t.bytes.size()}}};
    at += t.bytes.size();
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(&length), sizeof length) << text;
  for (const auto& [name, t] : tensors)
    stream.write(reinterpret_cast<const char*>(t.bytes.data()), static_cast<std::streamsize>(t.bytes.size()));
}

struct Captured {
  Tensor q, k, v;
};
Captured capture(ElementType type, bool heads_first = false, int batches = batch) {
  return {tensor(type, batches, queries, heads, waves(0), heads_first),
          tensor(type, batches, keys, kv_heads, waves(1), heads_first),
          tensor(type, batches, keys, kv_heads, waves(2), heads_first)};
}

struct Run : TemporaryDirectory {
  explicit Run(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {binaries + "/zyfa-gen", "--head-dim", "128", "--out", path().string(), "--json"});
    const ProcessResult made = run_process(options);
    REQUIRE(made.exit_code == 0);
    kernel = file(nlohmann::json::parse(made.out).at("symbol").get<std::string>() + ".co");
  }

  ProcessResult run(const std::string& q, const std::string& k, const std::string& v,
                    const std::vector<std::string>& options = {}) const {
    std::vector<std::string> command{binaries + "/zyfa-run", kernel, "--q", q, "--k", k, "--v", v};
    command.insert(command.end(), options.begin(), options.end());
    return run_process(command, path());
  }
  ProcessResult run(const Captured& t, const std::vector<std::string>& options = {}) const {
    save_safetensors(file("layer.safetensors"), {{"q", t.q}, {"k", t.k}, {"v", t.v}});
    return run("layer.safetensors:q", "layer.safetensors:k", "layer.safetensors:v", options);
  }
  nlohmann::json report(const Captured& t, std::vector<std::string> options = {}) const {
    options.emplace_back("--json");
    const ProcessResult result = run(t, options);
    CAPTURE(result.out, result.err);
    REQUIRE(result.exit_code == 0);
    return nlohmann::json::parse(result.out);
  }
  Tensor output(const Captured& t, std::vector<std::string> options = {}) const {
    options.insert(options.end(), {"--output", "o.npy"});
    report(t, options);
    return runtime::load_tensor(file("o.npy"));
  }

  std::string kernel;
};

}  // namespace

TEST_CASE("Captured files: shapes, types and orders of extents", "[commands][captured]") {
  const Run run;
  const nlohmann::json report = run.report(capture(ElementType::bf16), {"--p-statistics", "--softmax-scale", "0.1"});
  CHECK(report.at("shape").at("batch") == batch);
  CHECK(report.at("shape").at("heads") == heads);
  CHECK(report.at("shape").at("kv_heads") == kv_heads);
  CHECK(report.at("shape").at("seqlen_q") == queries);
  CHECK(report.at("shape").at("seqlen_k") == keys);
  CHECK(report.at("softmax_scale") == Approx(0.1));
  CHECK(report.at("input").at("kind") == "files");
  CHECK(report.at("p_statistics").at("heads").size() == heads);
  CHECK(report.at("p_statistics").at("all").at("codes") ==
        batch * heads * (queries * (keys - queries) + queries * (queries + 1) / 2));

  const Tensor o = run.output(capture(ElementType::bf16));
  REQUIRE(o.shape == std::vector<std::int64_t>{batch, queries, heads, dim});
  CHECK(run.output(capture(ElementType::bf16, true), {"--file-layout", "bhsd"}).bytes == o.bytes);
  for (const bool heads_first : {false, true}) {
    Captured alone = capture(ElementType::bf16, heads_first, 1);
    for (Tensor* t : {&alone.q, &alone.k, &alone.v}) t->shape.erase(t->shape.begin());
    const Tensor first = run.output(alone, {"--file-layout", heads_first ? "bhsd" : "bshd"});
    CHECK(first.shape == std::vector<std::int64_t>{1, queries, heads, dim});
    CHECK(std::equal(first.bytes.begin(), first.bytes.end(), o.bytes.begin()));
  }
  // In another type the same values are rounded otherwise, by little.
  for (const ElementType type : {ElementType::f16, ElementType::f32})
    CHECK(run.report(capture(type)).at("against_the_files").at("relative_error") ==
          Approx(run.report(capture(ElementType::bf16)).at("against_the_files").at("relative_error").get<double>())
              .epsilon(0.1));
}

TEST_CASE("Captured files: errors against what they hold, and against what the kernel was given",
          "[commands][captured]") {
  const Run run;
  {
    const nlohmann::json json = run.report(capture(ElementType::bf16));
    const double kernel = json.at("relative_error"), all = json.at("against_the_files").at("relative_error"),
                 quantisation = json.at("against_the_files").at("quantisation_relative_error");
    CAPTURE(kernel, all, quantisation);
    CHECK(quantisation > 0.01);
    CHECK(all > kernel);
    CHECK(all <= kernel * (1 + quantisation) + quantisation);
    CHECK(all >= quantisation - kernel * (1 + quantisation));
  }
  // Numbers that e4m3 has, up to its largest: nothing is lost by quantising them.
  const auto exact = [](const Values& value) {
    return [value](int b, int r, int h, int d) {
      return d == 0 && r == 0 ? 448.0F : isa::e4m3_to_float(isa::float_to_e4m3(value(b, r, h, d)));
    };
  };
  const auto in = [&](ElementType type) {
    return Captured{tensor(type, 1, queries, heads, exact(waves(0))), tensor(type, 1, keys, kv_heads, exact(waves(1))),
                    tensor(type, 1, keys, kv_heads, exact(waves(2)))};
  };
  for (const ElementType type : {ElementType::bf16, ElementType::f16, ElementType::e4m3fn}) {
    const nlohmann::json json = run.report(in(type), {"--softmax-scale", "0.01"});
    CHECK(json.at("descales").at("k").at(0) == 1.0);
    CHECK(json.at("against_the_files").at("quantisation_relative_error").get<double>() < 1e-12);
    CHECK(json.at("against_the_files").at("relative_error").get<double>() ==
          Approx(json.at("relative_error").get<double>()).epsilon(1e-9));
  }
  // A kernel of BF16 queries takes them as they are, beside FP8 keys and values.
  const Run bf16({"--q-dtype", "bf16"});
  Captured mixed = in(ElementType::e4m3fn);
  mixed.q = tensor(ElementType::bf16, 1, queries, heads, waves(0));
  const nlohmann::json json = bf16.report(mixed, {"--softmax-scale", "0.01"});
  CHECK(json.at("against_the_files").at("quantisation_relative_error").get<double>() < 1e-12);
}

TEST_CASE("Captured files: what is wrong is said in one line", "[commands][captured]") {
  const Run run;
  const Captured good = capture(ElementType::bf16);
  REQUIRE(run.run(good).exit_code == 0);
  const auto tensor_of = [](const char* name) { return std::string("layer.safetensors:") + name; };
  check_refused(run.run(tensor_of("query"), tensor_of("k"), tensor_of("v")),
                {"layer.safetensors", "no tensor 'query'", "it has: k, q, v"});
  check_refused(run.run("layer.safetensors", tensor_of("k"), tensor_of("v")), {"3 tensors", "k, q, v"});
  check_refused(run.run(tensor_of("q"), tensor_of("k"), tensor_of("v"), {"--file-layout", "sbhd"}),
                {"file layout 'sbhd'", "bshd, bhsd"});
  const ProcessResult no_files = run_process({binaries + "/zyfa-run", run.kernel, "--file-layout", "bhsd"});
  check_refused(no_files, {"--file-layout", "--q"});

  const auto refused = [&](const std::function<void(Captured&)>& damage, const std::vector<std::string>& words) {
    Captured bad = good;
    damage(bad);
    check_refused(run.run(bad), words);
  };
  refused(
      [](Captured& t) {
        t.k.shape = {batch * keys * kv_heads, dim};
      },
      {"k (layer.safetensors:k)", "[280, 128]", "(batch, seq, heads, dim)", "(seq, heads, dim)"});
  refused([](Captured& t) { t.k = tensor(ElementType::bf16, batch, keys, 3, waves(1)); }, {"heads"});
  refused([](Captured& t) { t.v = tensor(ElementType::bf16, batch, keys + 1, kv_heads, waves(2)); },
          {"v is [2, 71, 2, 128]", "[2, 70, 2, 128]"});
  refused([](Captured& t) { t.v = tensor(ElementType::e4m3fn, batch, keys, kv_heads, waves(2)); },
          {"q is bf16, k bf16, v e4m3fn", "do not belong together", "accepted"});
  refused([](Captured& t) { t.q = tensor(ElementType::e4m3fn, batch, queries, heads, waves(0)); },
          {"q is e4m3fn, k bf16, v bf16", "do not belong together"});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    refused(
        [bad](Captured& t) {
          const std::uint16_t code = isa::float_to_bf16(bad);
          std::memcpy(t.v.bytes.data() + 2 * (((1 * keys + 3) * kv_heads + 1) * dim + 5), &code, sizeof code);
        },
        {"v (layer.safetensors:v): [1, 3, 1, 5] is", std::isnan(bad) ? "nan" : "inf", "finite"});
}

TEST_CASE("Captured files: NumPy's files give what the test's own do", "[commands][captured]") {
  if (run_process({"/usr/bin/python3", "-c", "import numpy"}).exit_code != 0) {
    WARN("skipped: no NumPy");
    return;
  }
  const Run run;
  const Tensor o = run.output(capture(ElementType::f16));
  // The same tensors, read from the file that is left, written by NumPy.
  const std::string script = R"(
import json, numpy, struct
raw = open('layer.safetensors', 'rb').read()
length = struct.unpack('<Q', raw[:8])[0]
for name, entry in json.loads(raw[8:8 + length]).items():
    begin, end = (8 + length + at for at in entry['data_offsets'])
    array = numpy.frombuffer(raw[begin:end], '<f2').reshape(entry['shape'])
    numpy.save(name + '.npy', array)
    numpy.save(name + '_bhsd.npy', numpy.ascontiguousarray(array.transpose(0, 2, 1, 3)).astype('f4'))
)";
  const ProcessResult saved = run_process({"/usr/bin/python3", "-c", script}, run.path());
  CAPTURE(saved.err);
  REQUIRE(saved.exit_code == 0);
  REQUIRE(run.run("q.npy", "k.npy", "v.npy", {"--output", "numpy.npy"}).exit_code == 0);
  CHECK(runtime::load_tensor(run.file("numpy.npy")).bytes == o.bytes);
  REQUIRE(run.run("q_bhsd.npy", "k_bhsd.npy", "v_bhsd.npy", {"--file-layout", "bhsd", "--output", "turned.npy"})
              .exit_code == 0);
  CHECK(runtime::load_tensor(run.file("turned.npy")).bytes == o.bytes);
}

TEST_CASE("Captured files: --p-statistics in words, for any input", "[commands][captured]") {
  const Run run;
  const ProcessResult text =
      run_process({binaries + "/zyfa-run", run.kernel, "--heads", "2", "--seqlen", "200", "--p-statistics"});
  CHECK(text.exit_code == 0);
  for (const char* word : {"P          ", "codes: ", "blocks", "shifts", "references", "by head"}) {
    CAPTURE(text.out, word);
    CHECK(text.out.find(word) != std::string::npos);
  }
  const ProcessResult files = run.run(capture(ElementType::bf16));
  CHECK(files.out.find("files      relative error") != std::string::npos);
  CHECK(files.out.find("P          ") == std::string::npos);
  check_refused(run_process({binaries + "/zyfa-run", run.kernel, "--abi", "aiter-v3", "--p-statistics"}),
                {"--p-statistics", "--abi"});
}
