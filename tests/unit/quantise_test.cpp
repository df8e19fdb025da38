// The kernel that quantises, apart from running it: its configuration, manifest and launches, and the host's version of
// it against the definition.
#include "generator/generate.h"
#include "generator/manifest_fields.h"
#include "isa/error.h"
#include "isa/numeric.h"
#include "runtime_loader/quantise_inputs.h"
#include "runtime_loader/quantise_launch.h"
#include "runtime_loader/quantise_rows.h"
#include "tests/support/catch.h"
#include "tests/support/quantise_problem.h"

#include <bit>
#include <cmath>

using namespace zyfa;
using namespace zyfa::generator;
using namespace zyfa::runtime;

namespace {

// What an Error says; empty if there is none.
template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string refusal(const char* text) {
  return message_of([text] { make_quantise_plan(quantise_config_from_json(nlohmann::json::parse(text), "q.json")); });
}

bool names(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Quantise: configurations as JSON", "[quick][quantise]") {
  for (const QuantiseConfig& config : supported_quantise_configs()) {
    CHECK(quantise_config_from_json(to_json(config), "x") == config);
    CHECK(make_quantise_plan(config).symbol.starts_with("zyfa_quantise_hd"));
  }
  CHECK(refusal(R"({"head_dim": 192, "rotation": "hadamard", "cov": 6})").empty());
  CHECK(names(refusal(R"({"head_dim": 64})"), "accepted: 128, 192"));
  CHECK(names(refusal(R"({"rotation": "random"})"), "accepted: none, hadamard"));
  CHECK(names(refusal(R"({"cov": 4})"), "accepted: 5, 6"));
  CHECK(names(refusal(R"({"softmax": "lean"})"), "unknown key 'softmax'"));
  CHECK(names(refusal(R"({"kernel": "attention"})"), "'kernel'"));
}

TEST_CASE("Quantise: the manifest agrees with the code object and is read back", "[quick][quantise]") {
  for (const int version : {5, 6}) {
    const QuantiseConfig config{192, Rotation::hadamard, version};
    const GeneratedQuantise kernel = generate_quantise(config, isa::Machine{});
    const CodeObject object = read_code_object(kernel.code_object, "kernel.co");
    const KernelDescriptor descriptor = find_kernel(object, kernel.plan.symbol, "kernel.co").descriptor;
    const QuantiseManifest manifest = quantise_manifest_from_json(kernel.manifest, "m.json");
    CHECK(manifest.symbol == kernel.plan.symbol);
    CHECK(manifest.config == config);
    CHECK(manifest.rows_per_workgroup == 128);
    CHECK(manifest.workgroup_size == 256);
    CHECK(manifest.kernarg_bytes == sizeof(QuantiseKernargs));
    CHECK(manifest.kernarg_bytes == descriptor.kernarg_bytes);
    CHECK(manifest.lds_bytes == descriptor.group_segment_bytes);
    CHECK(manifest.register_map.size() == kernel.body.registers.size());
    CHECK(kernel.manifest.at("kernargs").at("fields").size() == quantise_kernarg_fields().size());
    CHECK(make_kernel(kernel.code_object, manifest, "k.co").manifest.symbol == manifest.symbol);
  }
}

TEST_CASE("Quantise: every key the loader needs is missed, and kinds are told apart", "[quick][quantise]") {
  const nlohmann::json good = generate_quantise({}, isa::Machine{}).manifest;
  for (const char* path : {"/manifest_version", "/kind", "/symbol", "/config", "/launch/rows_per_workgroup",
                           "/launch/workgroup_size", "/launch/workspace/bytes_per_workgroup", "/kernargs/size",
                           "/resources/lds_bytes", "/limits/max_row_stride_bytes", "/sha256/code_object"}) {
    const nlohmann::json::json_pointer pointer(path);
    CAPTURE(path);
    nlohmann::json json = good;
    json.at(pointer.parent_pointer()).erase(pointer.back());
    REQUIRE_THROWS_AS(quantise_manifest_from_json(json, "m.json"), Error);
    json = good;
    json[pointer] = nlohmann::json::array({"wrong"});
    REQUIRE_THROWS_AS(quantise_manifest_from_json(json, "m.json"), Error);
  }
  CHECK(manifest_kind(good, "m.json") == "quantise");
  CHECK(names(message_of([&] { manifest_from_json(good, "m.json"); }), "kind 'quantise'"));
  const nlohmann::json attention = generate({}, isa::Machine{}).manifest;
  CHECK(manifest_kind(attention, "m.json") == "attention");
  CHECK(names(message_of([&] { quantise_manifest_from_json(attention, "m.json"); }), "kind 'attention'"));
}

TEST_CASE("Quantise: launches and workspace follow from the manifest", "[quick][quantise]") {
  const QuantiseManifest manifest = quantise_manifest_from_json(generate_quantise({}, isa::Machine{}).manifest, "m");
  const QuantiseProblem good{.batch = 2,
                             .rows = 129,
                             .heads = 6,
                             .heads_per_scale = 3,
                             .x = 0x1000,
                             .codes = 0x2000,
                             .descale = 0x3004,
                             .workspace = 0x4008,
                             .x_stride = {1536, 256, 200000},
                             .codes_stride = {768, 128, 100000}};
  const QuantiseLaunches launches = quantise_launches(manifest, good);
  CHECK(launches.grid.workgroups == std::array<std::uint32_t, 3>{2, 6, 2});
  CHECK(launches.grid.workgroup_size[0] == 256);
  CHECK(quantise_workspace_bytes(manifest, 2, 129, 6) == 4 * 2 * 6 * 2);
  CHECK(launches.phases[0].phase == 0);
  CHECK(launches.phases[1].phase == 1);
  CHECK(launches.phases[1].heads_per_scale == 3);
  CHECK_FALSE(launches.is_empty());
  QuantiseProblem p = good;
  p.rows = 0;
  CHECK(quantise_launches(manifest, p).is_empty());
  CHECK(quantise_workspace_bytes(manifest, 2, 0, 6) == 0);
  p.rows = 1;
  p.x_stride.row = 0;  // of no account
  CHECK(quantise_launches(manifest, p).phases[0].x_stride.row == 256);

  const auto refused = [&](auto change, const char* word) {
    QuantiseProblem wrong = good;
    change(wrong);
    CAPTURE(word);
    CHECK(names(message_of([&] { quantise_launches(manifest, wrong); }), word));
  };
  refused([](QuantiseProblem& w) { w.rows = -1; }, "rows");
  refused([](QuantiseProblem& w) { w.batch = 0; }, "batch");
  refused([](QuantiseProblem& w) { w.heads = 0; }, "heads");
  refused([](QuantiseProblem& w) { w.heads_per_scale = 4; }, "no multiple");
  refused([](QuantiseProblem& w) { w.x += 8; }, "x is at");
  refused([](QuantiseProblem& w) { w.codes_stride.head = 120; }, "codes has a stride");
  refused([](QuantiseProblem& w) { w.x_stride.row = 128; }, "row stride");
  refused([](QuantiseProblem& w) { w.codes_stride.row = std::int64_t{1} << 24; }, "row stride");
  refused([](QuantiseProblem& w) { w.descale += 2; }, "descale");
  refused([](QuantiseProblem& w) { w.workspace += 1; }, "workspace");
  refused([](QuantiseProblem& w) { w.heads = w.heads_per_scale = 65535, w.rows = 1 << 20; }, "share a descale");
  refused(
      [](QuantiseProblem& w) {
        w.k_descale = 0x5000;
        w.softmax_scale = -1;
      },
      "softmax_scale");
}

TEST_CASE("Quantise: the rotation is an orthonormal Hadamard matrix", "[quick][quantise]") {
  for (const int dim : {128, 192}) {
    QuantiseInputs inputs = make_quantise_inputs({.rows = 8, .head_dim = dim, .outlier = 30}, 3);
    for (std::size_t r = 0; r < 8; ++r) {
      std::vector<float> row;
      for (int d = 0; d < dim; ++d)
        row.push_back(isa::bf16_to_float(inputs.x[r * static_cast<std::size_t>(dim) + static_cast<std::size_t>(d)]));
      std::vector<float> rotated = row;
      rotate_row(rotated);
      int first = 0;
      for (const int block : rotation_blocks(dim)) {
        double norm = 0, rotated_norm = 0;
        for (int i = 0; i < block; ++i) {
          double sum = 0;
          for (int j = 0; j < block; ++j) {
            const bool negative = std::popcount(static_cast<unsigned>(i & j)) % 2 != 0;
            sum += static_cast<double>(row[static_cast<std::size_t>(first + j)]) * (negative ? -1 : 1);
          }
          const auto found = static_cast<double>(rotated[static_cast<std::size_t>(first + i)]);
          const double factor = static_cast<double>(rotation_factor(Rotation::hadamard, block));
          CHECK(found == Approx(sum).epsilon(1e-4).margin(1e-3));
          norm += std::pow(static_cast<double>(row[static_cast<std::size_t>(first + i)]), 2);
          rotated_norm += std::pow(found * factor, 2);
        }
        CHECK(rotated_norm == Approx(norm).epsilon(1e-5));
        first += block;
      }
    }
  }
}

TEST_CASE("Quantise: without rotation it rounds as the host quantises its own inputs", "[quick][quantise]") {
  const QuantiseInputs inputs =
      make_quantise_inputs({.batch = 2, .rows = 60, .heads = 4, .heads_per_scale = 2, .outlier = 20}, 4);
  const Quantised found = reference_quantise(Rotation::none, inputs);
  const QuantisedRows host = quantise_rows({2, 60, 4, 2, 128}, 1, [&](int b, int r, int h, std::span<float> values) {
    const auto row = static_cast<std::size_t>((b * 60 + r) * 4 + h);
    for (std::size_t d = 0; d < values.size(); ++d) values[d] = isa::bf16_to_float(inputs.x[row * 128 + d]);
  });
  CHECK(found.descales == host.descales);
  // A product with 1 / descale is rounded once more than a quotient, so a code may be its neighbour.
  std::size_t others = 0;
  for (std::size_t i = 0; i < found.codes.size(); ++i) {
    const int distance = std::abs((found.codes[i] & 0x7f) - (host.codes[i] & 0x7f));
    REQUIRE(distance <= 1);
    others += distance != 0;
  }
  CHECK(others * 10000 < found.codes.size());
}
