// Configurations as JSON, the plan they lead to, and the kernel arguments' table.
#include "generator/config.h"

#include "generator/kernargs.h"
#include "generator/plan.h"
#include "isa/error.h"
#include "tests/support/catch.h"
#include "tests/support/kernels.h"

#include <nlohmann/json.hpp>

#include <set>

using namespace zyfa;
using namespace zyfa::generator;

namespace {

AttentionConfig parsed(const char* text) { return config_from_json(nlohmann::json::parse(text), "shape.json"); }

std::string refusal(const char* text) {
  try {
    make_plan(parsed(text));
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("Config: JSON and back", "[quick][config]") {
  CHECK(parsed("{}") == AttentionConfig{});
  AttentionConfig config;
  config.head_dim = 192;
  config.causal = false;
  config.lse = true;
  config.skip_zero_blocks = true;
  config.code_object_version = 6;
  config.q_dtype = QueryType::bf16;
  config.score_scale = ScoreScaling::folded;
  CHECK(config_from_json(to_json(config), "x") == config);
  CHECK(parsed(R"({"head_dim": 64})").v_head_dim == 64);
  CHECK(parsed(R"({"head_dim": 192, "v_head_dim": 128})").v_head_dim == 128);
  CHECK(parsed(R"({"dtype": "e4m3"})") == AttentionConfig{});
}

TEST_CASE("Config: a bad one is named", "[quick][config]") {
  CHECK(refusal(R"({"heads": 2})").starts_with("shape.json: unknown key 'heads'; accepted: dtype, q_dtype, head_dim,"));
  CHECK(refusal(R"({"causal": 1})") == "shape.json: 'causal' is 1, not true or false");
  CHECK(refusal(R"({"head_dim": 1.5})") == "shape.json: 'head_dim' is 1.5, not a whole number");
  CHECK(refusal(R"({"head_dim": 4294967424})") == "shape.json: 'head_dim' is 4294967424, which is too large");
  CHECK(refusal(R"({"dtype": 8})") == "shape.json: 'dtype' is 8, not a string");
  CHECK(refusal(R"({"dtype": "fnuz"})").starts_with("dtype 'fnuz' is not supported; accepted: fp8"));
  CHECK(refusal(R"({"softmax": "hard"})").starts_with("softmax 'hard' is not supported; accepted: lean, exact"));
  CHECK(refusal(R"({"score_scale": "none"})") == "score scale 'none' is not supported; accepted: multiply-add, folded");
  CHECK(refusal(R"({"q_dtype": "f16"})") == "q_dtype 'f16' is not supported; accepted: fp8, bf16");
  CHECK(refusal("[]").starts_with("shape.json: a configuration is a JSON object, this is array"));
}

TEST_CASE("Plan: only what a schedule offers", "[quick][plan]") {
  for (const AttentionConfig& config : all_configurations()) {
    const AttentionPlan plan = make_plan(config);
    CHECK(plan.config == config);
    CHECK(plan.workgroup_size() == (config.schedule == "interleaved" ? 256 : 512));
    CHECK(plan.queries_per_tile() == 256);
    CHECK(plan.queries_per_workgroup() == (config.causal ? 512 : 256));
    CHECK(plan.lds.total_bytes() <= isa::Machine{}.lds_bytes);
  }
  CHECK(refusal(R"({"head_dim": 64})")
            .starts_with("no schedule for head dim 64, value head dim 64, dtype fp8_e4m3fn, softmax lean, score scale "
                         "multiply-add; accepted: "
                         "--dtype fp8 --head-dim 128 --v-head-dim 128 --softmax lean; --dtype fp8 "));
  CHECK(refusal(R"({"score_scale": "folded", "softmax": "exact"})")
            .find("softmax exact, score scale folded; accepted: ") != std::string::npos);
  CHECK(refusal(R"({"score_scale": "folded", "lse": true})").starts_with("score scale folded writes no log-sum-exp"));
  CHECK(make_plan(parsed(R"({"score_scale": "folded", "q_dtype": "bf16"})")).symbol ==
        "zyfa_fwd_hd128_fp8_e4m3fn_qbf16_lean_folded_causal_gfx950");
  CHECK(parsed(R"({"score_scale": "folded"})").needs_power_of_two_factor());
  CHECK_FALSE(parsed(R"({"score_scale": "folded", "q_dtype": "bf16"})").needs_power_of_two_factor());
  CHECK(refusal(R"({"v_head_dim": 64})").starts_with("no schedule for head dim 128, value head dim 64"));
  CHECK(refusal(R"({"cov": 4})") == "code object version 4 is not supported; accepted: 5, 6");
}

TEST_CASE("Plan: what skips blocks of zeros is named so", "[quick][plan]") {
  CHECK(make_plan({.lse = true, .skip_zero_blocks = true}).symbol ==
        "zyfa_fwd_hd128_fp8_e4m3fn_lean_causal_lse_skip_gfx950");
}

TEST_CASE("Plan: the LDS map holds three tiles of K and V with their padding", "[quick][plan]") {
  const LdsPlan lds = make_plan({}).lds;
  CHECK(lds.k_slices == 16);
  CHECK(lds.v_slices == 16);
  CHECK(lds.k_offset == 0);
  CHECK(lds.v_offset == 16 * 1040);
  CHECK(lds.buffer_stride == 32 * 1040);
  CHECK(lds.total_bytes() == 99840);
}

TEST_CASE("Kernargs: the table covers the struct without gaps, every name once", "[quick][kernargs]") {
  std::set<std::string_view> names;
  std::uint32_t next = 0;
  for (const KernargField& field : attention_kernarg_fields()) {
    CAPTURE(std::string(field.name));
    CHECK(names.insert(field.name).second);
    CHECK(field.offset == next);
    CHECK(field.offset % field.size == 0);
    CHECK((field.kind == "global_buffer") == (field.unit == "address"));
    CHECK_FALSE(field.meaning.empty());
    next = field.offset + field.size;
  }
  CHECK((next + 7) / 8 * 8 == sizeof(AttentionKernargs));  // pointers are aligned
}
