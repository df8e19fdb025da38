// libzyfa's C interface on the emulator: the same bits as the emulator called directly, and an error of its own for
// whatever can be wrong.
#include "runtime_loader/library/zyfa.hpp"
#include "runtime_loader/quantise_inputs.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"
#include "tests/support/library_call.h"
#include "tests/support/process.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>

using namespace zyfa;
using namespace zyfa::runtime;

namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// A folder of kernels and the emulator.
class Library {
 public:
  explicit Library(std::initializer_list<generator::AttentionConfig> configs) {
    for (const generator::AttentionConfig& config : configs)
      files_.push_back(generator::write_kernel(generator::generate(config, isa::Machine{}), folder_.path()));
  }
  std::string folder() const { return folder_.path().string(); }
  std::string code_object(std::size_t i = 0) const { return files_.at(i).code_object.string(); }
  std::string manifest(std::size_t i = 0) const { return files_.at(i).manifest.string(); }

  const zyfa::Device device{ZYFA_EMULATOR};

 private:
  TemporaryDirectory folder_;
  std::vector<generator::KernelFiles> files_;
};

void check_failed(zyfa_status status, zyfa_status expected, const std::string& words) {
  CAPTURE(std::string(zyfa_status_name(status)), std::string(zyfa_last_error()), words);
  CHECK(status == expected);
  const std::string message = zyfa_last_error();
  CHECK(message.find(words) != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
}

std::string text_of(const std::string& file) {
  const std::vector<std::byte> bytes = read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

zyfa_kernel_traits traits(bool causal, bool lse) {
  return {.kind = ZYFA_ATTENTION,
          .head_dim = 128,
          .v_head_dim = 128,
          .causal = causal,
          .lse = lse,
          .q_type = ZYFA_QUERY_FP8,
          .softmax = ZYFA_SOFTMAX_ANY,
          .folded = 0,
          .hadamard = 0};
}

constexpr AttentionShape small{.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 70, .seqlen_k = 70, .causal = true};

}  // namespace

TEST_CASE("Library: the bits of the emulator, for all configurations and layouts", "[library]") {
  for (const generator::AttentionConfig& config : every_shape(true, true)) {
    CAPTURE(config.head_dim, std::string(name(config.softmax)));
    const Library library{config};
    const zyfa::Kernel kernel(library.device, library.code_object());
    const runtime::Kernel direct = load_kernel(library.code_object());
    AttentionShape shape = small;
    shape.head_dim = config.head_dim;
    for (const Layout layout : {Layout::bshd, Layout::bhsd, Layout::fused_qkv}) {
      if (layout == Layout::fused_qkv && shape.head_dim != shape.v_head_dim) continue;
      CAPTURE(std::string(to_string(layout)));
      const AttentionInputs inputs =
          make_inputs(shape, InputKind::gaussian, 1.5, 3, suited(config, {.distinct_descales = true}));
      HostCall call(inputs, layout);
      kernel(call.arguments);
      const EmulatedRun expected = run_on_emulator(direct, inputs, {.layout = layout, .emulator = {}});
      CHECK(call.o == expected.o);
      CHECK(call.lse == expected.lse);
      call.arguments.k_descale.batch_stride = 0;  // another batch entry's
      kernel(call.arguments);
      CHECK(call.o != expected.o);
    }
  }
}

TEST_CASE("Library: BF16 queries, no queries, no keys", "[library]") {
  const Library library{{.q_dtype = generator::QueryType::bf16, .causal = true, .lse = true}};
  const zyfa::Kernel kernel(library.device, library.code_object());
  CHECK(kernel.info().traits.q_type == ZYFA_QUERY_BF16);
  const AttentionInputs inputs = make_inputs(small, InputKind::gaussian, 1, 3, {.q_bf16 = true});
  HostCall call(inputs, Layout::bshd);
  call.arguments.q_descale.data = nullptr;
  kernel(call.arguments);
  CHECK(call.o == run_on_emulator(load_kernel(library.code_object()), inputs).o);

  HostCall without_keys(inputs, Layout::bshd);
  without_keys.arguments.seqlen_k = 0;
  without_keys.arguments.k.data = without_keys.arguments.v.data = nullptr;
  kernel(without_keys.arguments);
  CHECK(std::ranges::all_of(without_keys.o, [](std::uint16_t bits) { return bits == 0; }));
  CHECK(std::ranges::all_of(without_keys.lse, [](float lse) { return std::isinf(lse) && lse < 0; }));

  without_keys.arguments.v_descale.data = nullptr;
  check_failed(zyfa_attention_launch(kernel.get(), &without_keys.arguments, nullptr), ZYFA_INVALID_ARGUMENT,
               "v_descale is null");

  HostCall without_queries(inputs, Layout::bshd);
  without_queries.arguments.seqlen_q = 0;
  without_queries.arguments.q.data = without_queries.arguments.o.data = nullptr;
  kernel(without_queries.arguments);
  CHECK(std::ranges::all_of(without_queries.o, [](std::uint16_t bits) { return bits == 0xffff; }));
}

TEST_CASE("Library: kernels are found by what they compute", "[library]") {
  const Library library{{.causal = true, .lse = true}, {.causal = false, .softmax = generator::Softmax::exact}};
  const zyfa::Kernel causal(library.device, library.folder(), traits(true, true));
  CHECK(causal.info().symbol == load_kernel(library.code_object(0)).manifest.symbol);
  const zyfa::Kernel full(library.device, library.folder(), traits(false, false));
  CHECK(full.info().symbol == load_kernel(library.code_object(1)).manifest.symbol);
  CHECK(full.info().traits.softmax == ZYFA_SOFTMAX_EXACT);

  zyfa_kernel* kernel = nullptr;
  const auto find = [&](const std::string& folder, zyfa_kernel_traits asked) {
    return zyfa_kernel_find(library.device.get(), folder.c_str(), &asked, &kernel);
  };
  check_failed(find(library.folder(), traits(true, false)), ZYFA_NO_KERNEL, "head dims 128 and 128, causal, fp8");
  zyfa_kernel_traits lean = traits(false, false);
  lean.softmax = ZYFA_SOFTMAX_LEAN;
  check_failed(find(library.folder(), lean), ZYFA_NO_KERNEL, "softmax lean");
  check_failed(find(library.folder() + "/nowhere", lean), ZYFA_FILE_NOT_FOUND, "nowhere is no folder");
  lean.lse = 2;
  check_failed(find(library.folder(), lean), ZYFA_INVALID_ARGUMENT, "traits.lse is 2");
  auto foreign = nlohmann::ordered_json::parse(text_of(library.manifest(0)));
  foreign["manifest_version"] = 7;  // another version, and no manifest: passed over
  std::ofstream(library.folder() + "/a.json") << foreign;
  std::ofstream(library.folder() + "/b.json") << "{\"waves\": 1}";
  for (const char* file : {"/a.co", "/b.co"}) std::ofstream(library.folder() + file) << "";
  CHECK(std::string(zyfa::Kernel(library.device, library.folder(), traits(true, true)).info().symbol) ==
        causal.info().symbol);
  check_failed(find(library.folder(), traits(true, false)), ZYFA_NO_KERNEL, "none of the 2 kernels");
  std::ofstream(library.manifest(1)) << "{";
  check_failed(find(library.folder(), traits(false, false)), ZYFA_BAD_CODE_OBJECT, "is not JSON");
  CHECK(kernel == nullptr);
}

TEST_CASE("Library: what opening refuses", "[quick][library]") {
  const Library library{{.causal = true}};
  zyfa_device* device = nullptr;
  check_failed(zyfa_device_open(ZYFA_ABI_VERSION + 1, ZYFA_EMULATOR, 0, &device), ZYFA_ABI_MISMATCH,
               "built for version 2 of zyfa.h, the library has version 1");
  check_failed(zyfa_device_open(ZYFA_ABI_VERSION, static_cast<zyfa_backend>(7), 0, &device), ZYFA_INVALID_ARGUMENT,
               "backend is 7");
  check_failed(zyfa_device_open(ZYFA_ABI_VERSION, ZYFA_EMULATOR, 3, &device), ZYFA_NO_DEVICE, "no emulator 3");
  check_failed(zyfa_device_open(ZYFA_ABI_VERSION, ZYFA_EMULATOR, 0, nullptr), ZYFA_INVALID_ARGUMENT, "device is null");
  CHECK(device == nullptr);

  zyfa_kernel* kernel = nullptr;
  const auto open = [&](const std::string& code_object, const char* manifest = nullptr) {
    return zyfa_kernel_open(library.device.get(), code_object.c_str(), manifest, &kernel);
  };
  check_failed(open(library.folder() + "/none.co"), ZYFA_FILE_NOT_FOUND, "no code object");
  check_failed(open(library.code_object(), "/none.json"), ZYFA_FILE_NOT_FOUND, "no manifest /none.json");
  const std::string whole = text_of(library.code_object()), manifest = text_of(library.manifest());
  const auto open_data = [&](const std::string& code_object, const std::string& json) {
    return zyfa_kernel_open_data(library.device.get(), code_object.data(), code_object.size(), json.c_str(), &kernel);
  };
  check_failed(open_data(whole.substr(0, whole.size() / 2), manifest), ZYFA_BAD_CODE_OBJECT, "the code object");
  std::string changed = whole;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  check_failed(open_data(changed, manifest), ZYFA_BAD_CODE_OBJECT, "sha256");
  auto json = nlohmann::ordered_json::parse(manifest);
  json["manifest_version"] = 99;
  check_failed(open_data(whole, json.dump()), ZYFA_ABI_MISMATCH, "version 99; this library reads 1");
  check_failed(open_data(whole, "{}"), ZYFA_BAD_CODE_OBJECT, "manifest_version");
  CHECK(kernel == nullptr);
  REQUIRE(open_data(whole, manifest) == ZYFA_OK);
  zyfa_kernel_close(kernel);
  zyfa_kernel_close(nullptr);
  zyfa_device_close(nullptr);
}

TEST_CASE("Library: what a launch refuses", "[library]") {
  const Library library{{.causal = true, .lse = true}};
  const zyfa::Kernel kernel(library.device, library.code_object());
  const AttentionInputs inputs = make_inputs(small, InputKind::gaussian, 1, 3);
  struct Wrong {
    std::function<void(zyfa_attention&)> spoil;
    const char* words;
  };
  const auto byte = [](void* data) { return static_cast<char*>(data) + 1; };
  const Wrong wrongs[] = {
      {[](zyfa_attention& a) { a.q.data = nullptr; }, "q is null"},
      {[](zyfa_attention& a) { a.o.data = nullptr; }, "o is null"},
      {[](zyfa_attention& a) { a.lse.data = nullptr; }, "lse is null"},
      {[](zyfa_attention& a) { a.q_descale.data = nullptr; }, "q_descale is null"},
      {[](zyfa_attention& a) { a.k_descale.data = nullptr; }, "k_descale is null"},
      {[](zyfa_attention& a) { a.v_descale.data = nullptr; }, "v_descale is null"},
      {[&](zyfa_attention& a) { a.k.data = byte(a.k.data); }, "k is at 0x"},
      {[&](zyfa_attention& a) { a.v_descale.data = reinterpret_cast<float*>(byte(a.v_descale.data)); },
       "v_descale is at 0x"},
      {[](zyfa_attention& a) { a.v.head_stride += 8; }, "v has a stride of"},
      {[](zyfa_attention& a) { a.q.row_stride = 64; }, "q has a row stride of 64 bytes; the kernel takes 128"},
      {[](zyfa_attention& a) { a.k_descale.batch_stride = 2; }, "k_descale has a stride of 2"},
      {[](zyfa_attention& a) { a.q.batch_stride = std::int64_t{1} << 62; }, "q at 0x"},
      {[](zyfa_attention& a) { a.o.head_stride = std::numeric_limits<std::int64_t>::min(); }, "o at 0x"},
      {[](zyfa_attention& a) { a.k_descale.batch_stride = -(std::int64_t{1} << 62); }, "past the end of the address"},
      {[](zyfa_attention& a) { a.batch = 70000; }, "70000 batch entries are more than the kernel's limit of 65535"},
      {[](zyfa_attention& a) { a.heads = 70000; }, "70000 query heads are more than"},
      {[](zyfa_attention& a) { a.softmax_scale = -1; }, "softmax_scale is -1"},
      {[](zyfa_attention& a) { a.softmax_scale = nan_value; }, "softmax_scale is nan"},
      {[](zyfa_attention& a) { a.softmax_scale = INFINITY; }, "softmax_scale is inf"},
      {[](zyfa_attention& a) { a.batch = 0; }, "batch is 0"},
      {[](zyfa_attention& a) { a.kv_heads = -2; }, "kv_heads is -2"},
      {[](zyfa_attention& a) { a.heads = 3; }, "heads (3) is no multiple of kv_heads (2)"},
      {[](zyfa_attention& a) { a.seqlen_q = -1; }, "seqlen_q is -1"},
      {[](zyfa_attention& a) { a.seqlen_k = std::int64_t{1} << 40; }, "seqlen_k is 1099511627776"},
  };
  for (const Wrong& wrong : wrongs) {
    HostCall call(inputs, Layout::bshd);
    wrong.spoil(call.arguments);
    check_failed(zyfa_attention_launch(kernel.get(), &call.arguments, nullptr), ZYFA_INVALID_ARGUMENT, wrong.words);
    CHECK(std::ranges::all_of(call.o, [](std::uint16_t bits) { return bits == 0xffff; }));
  }
  HostCall call(inputs, Layout::bshd);
  check_failed(zyfa_attention_launch(kernel.get(), &call.arguments, &call), ZYFA_INVALID_ARGUMENT, "stream");
  check_failed(zyfa_attention_launch(nullptr, &call.arguments, nullptr), ZYFA_INVALID_ARGUMENT, "kernel is null");
}

TEST_CASE("Library: arguments and grid for a runtime of one's own", "[quick][library]") {
  const Library library{{.causal = true}};
  const zyfa::Kernel kernel(library.device, library.code_object());
  const zyfa_kernel_info info = kernel.info();
  CHECK(info.kernarg_bytes == sizeof(generator::AttentionKernargs));
  CHECK(info.rows_per_workgroup == 512);
  CHECK(info.traits.causal == 1);
  const AttentionShape shape{.batch = 3, .heads = 4, .kv_heads = 2, .seqlen_q = 513, .seqlen_k = 20, .causal = true};
  HostCall call(make_inputs(shape, InputKind::gaussian, 1, 1), Layout::bshd);
  generator::AttentionKernargs kernargs{};
  zyfa_grid grid{};
  REQUIRE(zyfa_attention_kernargs(kernel.get(), &call.arguments, &kernargs, sizeof kernargs, &grid) == ZYFA_OK);
  CHECK(kernargs.o == reinterpret_cast<std::uint64_t>(call.o.data()));
  CHECK(kernargs.k_stride.batch == 20 * 2 * 128);
  CHECK(kernargs.heads_per_kv_head == 2);
  CHECK((grid.workgroups[0] == 2 && grid.workgroups[1] == 4 && grid.workgroups[2] == 3));
  CHECK((grid.workgroup_size[0] == 512 && grid.workgroup_size[1] == 1 && grid.dynamic_lds_bytes == 0));
  check_failed(zyfa_attention_kernargs(kernel.get(), &call.arguments, &kernargs, 240, &grid), ZYFA_INVALID_ARGUMENT,
               "kernargs_bytes is 240; the kernel reads 248");
  std::size_t bytes = 1;
  REQUIRE(zyfa_attention_workspace(kernel.get(), &call.arguments, &bytes) == ZYFA_OK);
  CHECK(bytes == 0);
}

TEST_CASE("Library: what quantises", "[library][quantise]") {
  const TemporaryDirectory folder;
  const zyfa::Device device{ZYFA_EMULATOR};
  const generator::QuantiseConfig config{.head_dim = 128, .rotation = generator::Rotation::hadamard};
  const std::string file =
      generator::write_kernel(generator::generate_quantise(config, isa::Machine{}), folder.path()).code_object.string();
  zyfa_kernel_traits traits{};
  traits.kind = ZYFA_QUANTISE;
  traits.head_dim = 128;
  zyfa_kernel* none = nullptr;
  check_failed(zyfa_kernel_find(device.get(), folder.path().c_str(), &traits, &none), ZYFA_NO_KERNEL,
               "quantisation of head dim 128");
  traits.hadamard = 1;
  const zyfa::Kernel kernel(device, folder.path().string(), traits);
  CHECK(kernel.info().symbol == load_quantise_kernel(file).manifest.symbol);
  CHECK(kernel.info().rows_per_workgroup == 128);

  QuantiseInputs inputs =
      make_quantise_inputs({.batch = 2, .rows = 150, .heads = 4, .heads_per_scale = 2, .head_dim = 128}, 1);
  const Quantised expected = reference_quantise(config.rotation, inputs);
  std::vector<std::uint8_t> codes(inputs.x.size(), 0x7f);
  std::vector<float> descales(4, nan_value);
  zyfa_quantise call{.x = {inputs.x.data(), 4 * 256, 256, 150 * 4 * 256},
                     .codes = {codes.data(), 4 * 128, 128, 150 * 4 * 128},
                     .descale = {descales.data(), 4, 8},
                     .workspace = nullptr,
                     .workspace_bytes = 0,
                     .batch = 2,
                     .heads = 4,
                     .kv_heads = 2,
                     .seqlen = 150,
                     .k_descale = {},
                     .softmax_scale = 0};
  REQUIRE(zyfa_quantise_workspace(kernel.get(), &call, &call.workspace_bytes) == ZYFA_OK);
  CHECK(call.workspace_bytes == 2 * 4 * 2 * sizeof(float));
  check_failed(zyfa_quantise_launch(kernel.get(), &call, nullptr), ZYFA_INVALID_ARGUMENT, "workspace is null");
  std::vector<std::byte> workspace(call.workspace_bytes);
  call.workspace = workspace.data();
  REQUIRE(zyfa_quantise_launch(kernel.get(), &call, nullptr) == ZYFA_OK);
  CHECK(codes == expected.codes);
  CHECK(descales == expected.descales);

  const auto refused = [&](auto spoil, const char* words) {
    zyfa_quantise wrong = call;
    spoil(wrong);
    check_failed(zyfa_quantise_launch(kernel.get(), &wrong, nullptr), ZYFA_INVALID_ARGUMENT, words);
  };
  refused([](zyfa_quantise& q) { --q.workspace_bytes; }, "workspace_bytes is 63; the launch needs 64");
  refused([](zyfa_quantise& q) { q.x.data = nullptr; }, "x is null");
  refused([](zyfa_quantise& q) { q.descale.data = nullptr; }, "descale is null");
  refused([](zyfa_quantise& q) { q.codes.row_stride = 64; }, "codes has a row stride of 64 bytes");
  refused([](zyfa_quantise& q) { q.x.head_stride = 8; }, "x has a stride of 8 bytes");
  refused([](zyfa_quantise& q) { q.kv_heads = 3; }, "heads (4) is no multiple of kv_heads (3)");
  refused([](zyfa_quantise& q) { q.seqlen = -1; }, "seqlen is -1");
  const zyfa_attention attention{};
  check_failed(zyfa_attention_launch(kernel.get(), &attention, nullptr), ZYFA_INVALID_ARGUMENT,
               "which quantises; an attention kernel is needed");
  const Library attends{{.causal = true}};
  const zyfa::Kernel other(attends.device, attends.code_object());
  check_failed(zyfa_quantise_launch(other.get(), &call, nullptr), ZYFA_INVALID_ARGUMENT,
               "one that quantises is needed");
}

TEST_CASE("Library: the example in C", "[library]") {
  const Library library{{.causal = true, .lse = true}, {.causal = true}};
  const std::string host = ZYFA_BINARY_DIR "/tests/c_host";
  const ProcessResult right = run_process({host, library.code_object()});
  CAPTURE(right.out, right.err);
  CHECK(right.exit_code == 0);
  CHECK(right.out.starts_with("o 0.00"));
  const ProcessResult wrong = run_process({host, library.folder() + "/none.co"});
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.err.starts_with("ZYFA_FILE_NOT_FOUND: there is no code object"));
}

TEST_CASE("Library: one kernel, many threads", "[library]") {
  const Library library{{.causal = true}};
  const zyfa::Kernel kernel(library.device, library.code_object());
  std::vector<AttentionInputs> inputs;
  std::vector<std::vector<std::uint16_t>> expected;
  const runtime::Kernel direct = load_kernel(library.code_object());
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    inputs.push_back(
        make_inputs({.heads = 2, .seqlen_q = 40, .seqlen_k = 40, .causal = true}, InputKind::gaussian, 1, seed));
    expected.push_back(run_on_emulator(direct, inputs.back()).o);
  }
  std::vector<int> wrong(inputs.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < inputs.size(); ++t)
    threads.emplace_back([&, t] {
      for (int launch = 0; launch < 20; ++launch) {
        HostCall call(inputs[t], Layout::bshd);
        if (zyfa_attention_launch(kernel.get(), &call.arguments, nullptr) != ZYFA_OK || call.o != expected[t])
          ++wrong[t];
        call.arguments.heads = -static_cast<int>(t) - 1;
        const bool refused = zyfa_attention_launch(kernel.get(), &call.arguments, nullptr) != ZYFA_OK;
        if (!refused || zyfa_last_error() != fmt::format("heads is -{}; at least 1 is accepted", t + 1)) ++wrong[t];
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(inputs.size(), 0));
}
