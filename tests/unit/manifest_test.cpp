// What the manifest says agrees with the code object beside it, and what the loader reads from it.
#include "generator/manifest.h"

#include "generator/code_object.h"
#include "generator/decode.h"
#include "generator/kernargs.h"
#include "generator/sha256.h"
#include "isa/error.h"
#include "runtime_loader/kernel.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"

#include <array>

using namespace zyfa;
using namespace zyfa::generator;

TEST_CASE("Manifest: agrees with the code object", "[quick][manifest]") {
  for (const AttentionConfig& config : all_configurations()) {
    const GeneratedKernel kernel = generate(config, isa::Machine{});
    CAPTURE(kernel.plan.symbol);
    const nlohmann::ordered_json& json = kernel.manifest;
    const CodeObject object = read_code_object(kernel.code_object, "kernel.co");
    const KernelDescriptor descriptor = find_kernel(object, kernel.plan.symbol, "kernel.co").descriptor;
    CHECK(json.at("symbol") == kernel.plan.symbol);
    CHECK(json.at("sha256").at("code_object") == sha256(kernel.code_object));
    CHECK(json.at("resources").at("lds_bytes") == descriptor.group_segment_bytes);
    CHECK(json.at("kernargs").at("size") == descriptor.kernarg_bytes);
    CHECK(json.at("kernargs").at("fields").size() == attention_kernarg_fields().size());
    CHECK(json.at("resources").at("vgprs").get<std::uint32_t>() <= descriptor.vgpr_count());
    CHECK(json.at("resources").at("vgprs").get<std::uint32_t>() <= descriptor.accum_offset());
    CHECK(descriptor.private_segment_bytes == 0);
    CHECK(json.at("resources").at("waves_per_simd") == (config.schedule == "interleaved" ? 1 : 2));
    CHECK(config_from_json(nlohmann::json::parse(json.at("config").dump()), "x") == config);
  }
}

TEST_CASE("Manifest: read back", "[quick][manifest]") {
  const GeneratedKernel kernel = generate({}, isa::Machine{});
  const Manifest manifest = manifest_from_json(kernel.manifest, "m.json");
  CHECK(manifest.symbol == kernel.plan.symbol);
  CHECK(manifest.config == kernel.plan.config);
  CHECK(manifest.queries_per_workgroup == 512);  // causal: two tiles
  CHECK(manifest.workgroup_size == 512);
  CHECK(manifest.kernarg_bytes == sizeof(AttentionKernargs));
  CHECK(manifest.lds_bytes == 99840);
  CHECK(manifest.max_row_stride_bytes == max_row_stride_bytes);
  CHECK(manifest.register_map.size() == kernel.body.registers.size());
  CHECK(manifest.register_map.front().text() == "s[0:1]");
  // K and V of three buffers, one behind the other to the end.
  REQUIRE(manifest.lds_map.size() == 6);
  std::uint32_t end = 0;
  for (const LdsRegion& region : manifest.lds_map) {
    CHECK(region.offset == end);
    end += region.bytes;
  }
  CHECK(end == manifest.lds_bytes);
}

TEST_CASE("Manifest: where blocks of zeros are left out", "[quick][manifest]") {
  CHECK(manifest_from_json(generate({}, isa::Machine{}).manifest, "m.json").skipping_ways.empty());
  const GeneratedKernel kernel = generate({.skip_zero_blocks = true}, isa::Machine{});
  const Manifest manifest = manifest_from_json(kernel.manifest, "m.json");
  // Four ways of each of three phases: whole tiles, edge tiles, the last output.
  std::array<int, 3> ways{};
  for (const SkippingWay& way : manifest.skipping_ways) {
    CHECK(way.instruction < kernel.body.program.code.size());
    ++ways.at(static_cast<std::size_t>(way.skipped));
  }
  CHECK(ways == std::array{3, 6, 3});
}

TEST_CASE("Manifest: maps may be missing but not wrong", "[quick][manifest]") {
  const nlohmann::json good = generate({}, isa::Machine{}).manifest;
  nlohmann::json json = good;
  json.erase("register_map");
  json.erase("lds_map");
  CHECK(manifest_from_json(json, "m.json").register_map.empty());
  for (const char* wrong :
       {R"({"register_map": 3})", R"({"register_map": [{"file": "x", "first": 0, "count": 1, "name": "q"}]})",
        R"({"register_map": [{"file": "v", "first": 250, "count": 7, "name": "q"}]})",
        R"({"lds_map": [{"name": "K", "offset": -1, "bytes": 1}]})",
        R"({"skipping_ways": [{"instruction": -1, "skipped": 1}]})"}) {
    CAPTURE(wrong);
    json = good;
    json.update(nlohmann::json::parse(wrong));
    CHECK_THROWS_AS(manifest_from_json(json, "m.json"), Error);
  }
}

TEST_CASE("Manifest: every key the loader needs is missed", "[quick][manifest]") {
  const nlohmann::json good = generate({}, isa::Machine{}).manifest;
  for (const char* path :
       {"/manifest_version", "/kind", "/symbol", "/config", "/launch/queries_per_workgroup", "/launch/workgroup_size",
        "/kernargs/size", "/resources/lds_bytes", "/limits/max_row_stride_bytes", "/sha256/code_object"}) {
    const nlohmann::json::json_pointer pointer(path);
    CAPTURE(path);
    nlohmann::json json = good;
    json.at(pointer.parent_pointer()).erase(pointer.back());
    REQUIRE_THROWS_AS(manifest_from_json(json, "m.json"), Error);
    json = good;
    json[pointer] = nlohmann::json::array({"wrong"});
    REQUIRE_THROWS_AS(manifest_from_json(json, "m.json"), Error);
  }
}

TEST_CASE("Manifest and code object must belong together", "[quick][manifest]") {
  const GeneratedKernel kernel = generate({}, isa::Machine{});
  const Manifest good = manifest_from_json(kernel.manifest, "m.json");
  CHECK(runtime::make_kernel(kernel.code_object, good, "k.co").manifest.symbol == good.symbol);
  const auto refused = [&](Manifest manifest) {
    REQUIRE_THROWS_AS(runtime::make_kernel(kernel.code_object, std::move(manifest), "k.co"), Error);
  };
  Manifest manifest = good;
  manifest.symbol = "another";
  refused(manifest);
  manifest = good;
  manifest.kernarg_bytes += 8;
  refused(manifest);
  manifest = good;
  manifest.lds_bytes -= 1;
  refused(manifest);
  manifest = good;
  manifest.code_object_sha256.back() = manifest.code_object_sha256.back() == '0' ? '1' : '0';
  refused(manifest);
}
