// The kernel that quantises: every bit of its codes and descales against the host's, wherever rows lie and however many
// there are.
#include "isa/hazards.h"
#include "isa/numeric.h"
#include "isa/text.h"
#include "runtime_loader/quantise_sim.h"
#include "tests/support/catch.h"
#include "tests/support/quantise_problem.h"
#include "tests/support/removal.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace zyfa;
using namespace zyfa::runtime;
using generator::QuantiseConfig;
using generator::Rotation;

namespace {

constexpr QuantiseShape shapes[] = {
    {.rows = 1},
    {.rows = 15, .heads = 2},
    {.rows = 33, .heads = 3, .outlier = 30},
    {.batch = 2, .rows = 128, .heads = 2},
    {.batch = 2, .rows = 129, .heads = 6, .heads_per_scale = 3, .outlier = 20},
    {.rows = 300, .heads = 2, .heads_per_scale = 2},
};

emulator::Options strict() {
  emulator::Options options;
  options.strict = true;
  return options;
}

// The first difference, for a message; empty if there is none.
std::string difference(const Quantised& found, const Quantised& expected) {
  if (std::memcmp(found.descales.data(), expected.descales.data(), 4 * expected.descales.size()) != 0)
    for (std::size_t i = 0; i < expected.descales.size(); ++i)
      if (found.descales[i] != expected.descales[i])
        return fmt::format("descale {}: {:a}, not {:a}", i, found.descales[i], expected.descales[i]);
  const auto [a, b] = std::ranges::mismatch(found.codes, expected.codes);
  if (a == found.codes.end()) return {};
  return fmt::format("code {}: {:#x}, not {:#x}", a - found.codes.begin(), *a, *b);
}

QuantiseInputs make_inputs(const QuantiseConfig& config, QuantiseShape shape, std::uint64_t seed = 1) {
  shape.head_dim = config.head_dim;
  return make_quantise_inputs(shape, seed);
}

}  // namespace

TEST_CASE("Quantise: codes and descales are the host's, bit by bit", "[quantise]") {
  for (const QuantiseConfig& config : generator::supported_quantise_configs()) {
    const QuantiseKernel kernel = generate_quantise_kernel(config);
    for (const QuantiseShape& shape : shapes)
      for (const Layout layout : {Layout::bshd, Layout::bhsd}) {
        CAPTURE(kernel.manifest.symbol, shape.batch, shape.rows, shape.heads, to_string(layout));
        const QuantiseInputs inputs = make_inputs(config, shape);
        CHECK(difference(run_quantise(kernel, inputs, {.layout = layout, .emulator = {}}),
                         reference_quantise(config.rotation, inputs)) == "");
      }
  }
}

TEST_CASE("Quantise: more partial maxima than one trip reads", "[quantise]") {
  const QuantiseConfig config{.rotation = Rotation::hadamard};
  const QuantiseKernel kernel = generate_quantise_kernel(config);
  for (const int heads : {1024, 1025}) {
    QuantiseInputs inputs = make_inputs(config, {.rows = 1, .heads = heads, .heads_per_scale = heads});
    // The largest in the last head, then in the first.
    for (const int head : {heads - 1, 0}) {
      inputs.x[static_cast<std::size_t>(head) * 128 + 17] = isa::float_to_bf16(1000.0F * static_cast<float>(1 + head));
      CAPTURE(heads, head);
      CHECK(difference(run_quantise(kernel, inputs), reference_quantise(config.rotation, inputs)) == "");
    }
  }
}

TEST_CASE("Quantise: the factor of the logits becomes a power of two", "[quantise]") {
  for (const QuantiseConfig& config : generator::supported_quantise_configs()) {
    const QuantiseKernel kernel = generate_quantise_kernel(config);
    for (const float softmax_scale : {0.08838835F, 1.0F, 0.3F, 1e-30F, 0.0F}) {
      const QuantiseInputs k = make_inputs(config, {.batch = 2, .rows = 40, .heads = 3}, 5);
      QuantiseInputs q = make_inputs(config, {.batch = 2, .rows = 70, .heads = 6, .heads_per_scale = 2}, 6);
      const float plain = run_quantise(kernel, q).descales.front();
      const Quantised keys = run_quantise(kernel, k);
      q.k_descale = keys.descales;
      q.softmax_scale = softmax_scale;
      const Quantised queries = run_quantise(kernel, q);
      CAPTURE(kernel.manifest.symbol, softmax_scale);
      CHECK(difference(queries, reference_quantise(config.rotation, q)) == "");
      AttentionInputs inputs{.shape = {.batch = 2, .heads = 6, .kv_heads = 3, .seqlen_q = 70, .seqlen_k = 40},
                             .q = {},
                             .k = {},
                             .v = {},
                             .q_descale = queries.descales,
                             .k_descale = keys.descales,
                             .v_descale = {},
                             .softmax_scale = softmax_scale};
      CHECK_NOTHROW(check_power_of_two_factors(inputs));
      CHECK(queries.descales.front() >= plain * (1 - 0x1p-22F));
      CHECK(queries.descales.front() < 2 * plain);
      const float host = power_of_two_descale(plain, keys.descales.front(), softmax_scale);
      CHECK(std::abs(queries.descales.front() / host - 1) < 0x1p-21F);
    }
  }
}

TEST_CASE("Quantise: zeros, tiny and huge values, infinities and NaN", "[quantise]") {
  constexpr std::uint16_t infinity = 0x7f80, quiet_nan = 0x7fc1, signalling_nan = 0xff81;
  constexpr std::uint8_t nan_code = 0x7f;
  const auto is_nan = [](std::uint8_t code) { return (code & 0x7f) == nan_code; };
  for (const QuantiseConfig& config : generator::supported_quantise_configs()) {
    const QuantiseKernel kernel = generate_quantise_kernel(config);
    const auto dim = static_cast<std::size_t>(config.head_dim);
    CAPTURE(kernel.manifest.symbol);
    QuantiseInputs zeros = make_inputs(config, {.rows = 3});
    std::ranges::fill(zeros.x, std::uint16_t{0x8000});
    CHECK(run_quantise(kernel, zeros).descales.front() == 1);
    CHECK(difference(run_quantise(kernel, zeros), reference_quantise(config.rotation, zeros)) == "");
    for (const int power : {-140, -125, 100, 118}) {
      QuantiseInputs scaled = make_inputs(config, {.rows = 9});
      for (std::uint16_t& x : scaled.x) x = isa::float_to_bf16(std::ldexp(isa::bf16_to_float(x), power));
      CAPTURE(power);
      const Quantised found = run_quantise(kernel, scaled);
      CHECK(difference(found, reference_quantise(config.rotation, scaled)) == "");
      CHECK(std::ranges::none_of(found.codes, is_nan));
    }
    // What is not finite spoils its own code, or its block's if that is rotated, and no other row's.
    const QuantiseInputs plain = make_inputs(config, {.rows = 20});
    for (const std::uint16_t bits : {infinity, quiet_nan, signalling_nan}) {
      QuantiseInputs inputs = plain;
      inputs.x[7 * dim + 3] = bits;
      const Quantised found = run_quantise_on_emulator(kernel, inputs).quantised;
      Quantised expected = reference_quantise(config.rotation, inputs);
      CAPTURE(bits);
      CHECK(std::ranges::equal(found.descales, expected.descales));
      const std::size_t spoilt = config.rotation == Rotation::hadamard ? 128 : 1;
      for (std::size_t i = 0; i < found.codes.size(); ++i) {
        const bool own = i >= 7 * dim && i < 7 * dim + 128 && (spoilt == 128 || i == 7 * dim + 3);
        if (is_nan(found.codes[i]) != own || (!own && found.codes[i] != expected.codes[i])) {
          FAIL("code " << i);
        }
      }
    }
  }
}

namespace {

// x and codes in buffers of their own, far from dense: rows of all heads padded, heads and batch entries backwards.
class Scattered {
 public:
  Scattered(const QuantiseInputs& inputs, const QuantiseKernel& kernel) : inputs_(inputs) {
    x_.assign(size(2), pattern);
    codes_.assign(size(1), pattern);
    for_each([&](std::size_t i, std::int64_t b, std::int64_t h, std::int64_t r) {
      std::memcpy(&x_[place(2, b, h, r)], &inputs_.x[i], 2 * static_cast<std::size_t>(inputs_.head_dim));
    });
    const std::size_t scales = static_cast<std::size_t>(inputs.batch * inputs.scale_heads());
    descales_.assign(2 * scales, 0);
    workspace_.assign(
        quantise_workspace_bytes(kernel.manifest, inputs.batch, inputs.rows, inputs.heads) / sizeof(float), -1.0F);
  }

  void run(const QuantiseKernel& kernel) {
    QuantiseProblem problem{.batch = inputs_.batch,
                            .rows = inputs_.rows,
                            .heads = inputs_.heads,
                            .heads_per_scale = inputs_.heads_per_scale};
    emulator::GlobalMemory memory;
    problem.x = memory.place_read_only("x", x_) + place(2, 0, 0, 0);
    problem.codes = memory.place("codes", codes_) + place(1, 0, 0, 0);
    problem.x_stride = stride(2);
    problem.codes_stride = stride(1);
    problem.descale = memory.place("descales", std::as_writable_bytes(std::span(descales_)));
    problem.descale_stride = {8, 8 * std::int64_t{inputs_.scale_heads()}};
    problem.workspace = memory.place("workspace", std::as_writable_bytes(std::span(workspace_)));
    for (const emulator::Result& result : launch_quantise_on_emulator(kernel, problem, memory, strict())) {
      REQUIRE_FALSE(result.trap);
      REQUIRE(result.findings.empty());
    }
  }

  Quantised quantised() const {
    Quantised found{std::vector<std::uint8_t>(inputs_.x.size()), {}};
    for_each([&](std::size_t i, std::int64_t b, std::int64_t h, std::int64_t r) {
      std::memcpy(&found.codes[i], &codes_[place(1, b, h, r)], static_cast<std::size_t>(inputs_.head_dim));
    });
    for (std::size_t i = 0; i < descales_.size(); i += 2) found.descales.push_back(descales_[i]);
    return found;
  }

  // Bytes between the rows of codes, and values between the descales, that were written.
  std::ptrdiff_t overwritten() const {
    std::vector<std::byte> rest = codes_;
    for_each([&](std::size_t, std::int64_t b, std::int64_t h, std::int64_t r) {
      std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(place(1, b, h, r)), inputs_.head_dim, pattern);
    });
    std::ptrdiff_t count = static_cast<std::ptrdiff_t>(rest.size()) - std::ranges::count(rest, pattern);
    for (std::size_t i = 1; i < descales_.size(); i += 2) count += descales_[i] != 0;
    return count;
  }

 private:
  static constexpr std::byte pattern{0x7f};  // two of them are a BF16 near its largest
  static constexpr std::int64_t pad_bytes = 48, pad_rows = 140;

  generator::TensorStrides stride(std::int64_t bytes) const {
    const std::int64_t row = bytes * inputs_.head_dim + pad_bytes, head = (inputs_.rows + pad_rows) * row;
    return {row, -head, -inputs_.heads * head};
  }
  std::size_t size(std::int64_t bytes) const {
    return static_cast<std::size_t>(-stride(bytes).batch * inputs_.batch + pad_rows * stride(bytes).row);
  }
  std::size_t place(std::int64_t bytes, std::int64_t b, std::int64_t h, std::int64_t r) const {
    const generator::TensorStrides s = stride(bytes);
    const std::int64_t last = -s.batch * (inputs_.batch - 1) - s.head * (inputs_.heads - 1) + pad_rows * s.row;
    return static_cast<std::size_t>(last + b * s.batch + h * s.head + r * s.row);
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::size_t i = 0;
    for (std::int64_t b = 0; b < inputs_.batch; ++b)
      for (std::int64_t r = 0; r < inputs_.rows; ++r)
        for (std::int64_t h = 0; h < inputs_.heads; ++h, i += static_cast<std::size_t>(inputs_.head_dim))
          visit(i, b, h, r);
  }

  const QuantiseInputs& inputs_;
  std::vector<std::byte> x_, codes_;
  std::vector<float> descales_, workspace_;
};

}  // namespace

TEST_CASE("Quantise: rows anywhere, and nothing else is read or written", "[quantise]") {
  for (const QuantiseConfig& config : generator::supported_quantise_configs()) {
    const QuantiseKernel kernel = generate_quantise_kernel(config);
    for (const QuantiseShape& shape : shapes) {
      const QuantiseInputs inputs = make_inputs(config, shape);
      Scattered scattered(inputs, kernel);
      scattered.run(kernel);
      CAPTURE(kernel.manifest.symbol, shape.rows);
      CHECK(difference(scattered.quantised(), reference_quantise(config.rotation, inputs)) == "");
      CHECK(scattered.overwritten() == 0);
    }
  }
}

TEST_CASE("Quantise: views of one fused tensor", "[quantise]") {
  // (batch, row, query heads + key heads + value heads, dim), as a projection leaves it.
  constexpr int rows = 77, heads = 4, kv_heads = 2, all = heads + 2 * kv_heads, dim = 128;
  const QuantiseConfig config{.rotation = Rotation::hadamard};
  const QuantiseKernel kernel = generate_quantise_kernel(config);
  const QuantiseInputs fused = make_inputs(config, {.batch = 2, .rows = rows, .heads = all});
  std::vector<float> descales(4), workspace(64);
  std::vector<std::byte> codes(fused.x.size());
  emulator::GlobalMemory memory;
  const std::uint64_t x = memory.place_read_only("fused", std::as_bytes(std::span(fused.x)));
  const std::uint64_t to = memory.place("codes", codes);
  const auto row = std::int64_t{all} * dim;
  QuantiseProblem problem{.batch = 2,
                          .rows = rows,
                          .descale = memory.place("descales", std::as_writable_bytes(std::span(descales))),
                          .workspace = memory.place("workspace", std::as_writable_bytes(std::span(workspace))),
                          .x_stride = {2 * row, 2 * dim, 2 * rows * row},
                          .codes_stride = {row, dim, rows * row},
                          .descale_stride = {4, 8}};
  for (const auto& [first, count] : {std::pair{0, heads}, {heads, kv_heads}, {heads + kv_heads, kv_heads}}) {
    problem.heads = count;
    problem.heads_per_scale = count / kv_heads;
    problem.x = x + static_cast<std::uint64_t>(2 * first * dim);
    problem.codes = to + static_cast<std::uint64_t>(first * dim);
    for (const emulator::Result& result : launch_quantise_on_emulator(kernel, problem, memory, strict())) {
      REQUIRE_FALSE(result.trap);
      REQUIRE(result.findings.empty());
    }
    QuantiseInputs part{2, rows, count, count / kv_heads, dim, {}};
    Quantised found{{}, descales};
    for (std::size_t at = 0; at < fused.x.size(); at += static_cast<std::size_t>(row))
      for (std::size_t d = 0; d < static_cast<std::size_t>(count * dim); ++d) {
        const std::size_t element = at + static_cast<std::size_t>(first * dim) + d;
        part.x.push_back(fused.x[element]);
        found.codes.push_back(static_cast<std::uint8_t>(codes[element]));
      }
    CAPTURE(first);
    CHECK(difference(found, reference_quantise(config.rotation, part)) == "");
  }
}

TEST_CASE("Quantise: rows 16 MiB apart", "[quantise]") {
  const QuantiseConfig config;
  const QuantiseKernel kernel = generate_quantise_kernel(config);
  const QuantiseInputs inputs = make_inputs(config, {.rows = 130});
  const std::int64_t distance = kernel.manifest.max_row_stride_bytes;
  constexpr std::uint64_t x_at = std::uint64_t{1} << 40, codes_at = std::uint64_t{1} << 41;
  Quantised found{std::vector<std::uint8_t>(inputs.x.size()), {0}};
  std::vector<float> workspace(2);
  emulator::GlobalMemory memory;
  for (std::size_t r = 0; r < 130; ++r) {
    const std::uint64_t offset = r * static_cast<std::uint64_t>(distance);
    memory.map_read_only("x", x_at + offset, std::as_bytes(std::span(inputs.x).subspan(128 * r, 128)));
    memory.map("codes", codes_at + offset, std::as_writable_bytes(std::span(found.codes).subspan(128 * r, 128)));
  }
  const QuantiseProblem problem{.rows = 130,
                                .x = x_at,
                                .codes = codes_at,
                                .descale = memory.place("d", std::as_writable_bytes(std::span(found.descales))),
                                .workspace = memory.place("w", std::as_writable_bytes(std::span(workspace))),
                                .x_stride = {distance, 256, 0},
                                .codes_stride = {distance, 128, 0}};
  for (const emulator::Result& result : launch_quantise_on_emulator(kernel, problem, memory))
    REQUIRE_FALSE(result.trap);
  CHECK(difference(found, reference_quantise(config.rotation, inputs)) == "");
}

TEST_CASE("Quantise: the same bits whatever the timing", "[quantise]") {
  for (const QuantiseConfig& config : generator::supported_quantise_configs()) {
    const QuantiseKernel kernel = generate_quantise_kernel(config);
    const QuantiseInputs inputs = make_inputs(config, shapes[4]);
    const Quantised expected = run_quantise(kernel, inputs);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      EmulationOptions options;
      options.emulator.shuffle_seed = seed;
      CAPTURE(kernel.manifest.symbol, seed);
      CHECK(difference(run_quantise(kernel, inputs, options), expected) == "");
    }
  }
}

TEST_CASE("Quantise: every wait, nop and barrier is needed", "[quantise]") {
  for (const QuantiseConfig& config : {QuantiseConfig{}, QuantiseConfig{192, Rotation::hadamard}}) {
    QuantiseKernel kernel = generate_quantise_kernel(config);
    QuantiseInputs inputs = make_inputs(config, {.rows = 300, .heads = 4, .heads_per_scale = 2, .outlier = 9});
    inputs.k_descale = std::vector<float>{0.3F, 0.7F};
    QuantiseInputs many = make_inputs(config, {.rows = 1, .heads = 1030, .heads_per_scale = 1030});
    many.x.back() = isa::float_to_bf16(3000);
    const Quantised expected = run_quantise(kernel, inputs), of_many = run_quantise(kernel, many);
    const isa::Program program = kernel.code.program;
    int taken = 0;
    for (std::uint32_t i = 0; i < program.code.size(); ++i) {
      const isa::Op op = program.code[i].op;
      if (op != isa::Op::s_waitcnt && op != isa::Op::s_nop && op != isa::Op::s_barrier) continue;
      ++taken;
      kernel.code.program = without(program, i);
      CAPTURE(kernel.manifest.symbol, i, isa::print(program.code[i]), to_string(program.code[i].where));
      if (!isa::check_hazards(kernel.code.program, isa::Machine{}).empty()) continue;
      const auto notices = [&](const QuantiseInputs& in, const Quantised& right) {
        const QuantiseRun run = run_quantise_on_emulator(kernel, in, {.emulator = strict()});
        const emulator::Result result = run.result();
        return result.trap || !result.findings.empty() || difference(run.quantised, right) != "";
      };
      CHECK((notices(inputs, expected) || notices(many, of_many)));
    }
    CHECK(taken > 20);
  }
}

TEST_CASE("Quantise: by the model memory bounds it, and rotating costs next to nothing", "[quantise]") {
  constexpr double rows = 16384, dim = 128;
  const isa::Machine machine;
  const auto estimate = [&](Rotation rotation, int heads) {
    const QuantiseKernel kernel = generate_quantise_kernel({.rotation = rotation});
    return estimate_quantise(kernel, {.rows = static_cast<int>(rows), .heads = heads}, "nominal", machine,
                             machine.clock_ghz);
  };
  const QuantiseEstimate plain = estimate(Rotation::none, 64), rotated = estimate(Rotation::hadamard, 64);
  for (const QuantiseEstimate& e : {plain, rotated}) {
    CHECK_FALSE(e.second_read_is_cached);
    CHECK(e.phases[0].grid.bound == "hbm");
    CHECK(e.phases[1].grid.bound == "hbm");
    // BF16 twice and codes once, in all: no less can be true of two launches.
    const double bytes = (2 + 2 + 1) * 64 * rows * dim;
    CHECK(e.phases[0].grid.hbm_bytes + e.phases[1].grid.hbm_bytes == bytes);
    CHECK(e.microseconds() >= bytes / machine.hbm_gbps * 1e-3);
    CHECK(e.microseconds() < 1.1 * bytes / machine.hbm_gbps * 1e-3);
  }
  CHECK(rotated.clk() < 1.02 * plain.clk());
  const QuantiseEstimate grouped = estimate(Rotation::none, 8);
  CHECK(grouped.second_read_is_cached);
  CHECK(grouped.phases[1].grid.hbm_bytes == 8 * rows * dim);
  CHECK(grouped.clk() < plain.clk() / 8);
}
