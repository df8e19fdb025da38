#include "generator/waits.h"

#include "isa/hazards.h"
#include "isa/in_flight.h"
#include "tests/support/catch.h"
#include "tests/support/make_inst.h"

#include <random>

using namespace zyfa;
using namespace zyfa::generator;
using namespace zyfa::isa;
using enum Op;

namespace {

const Inst end = make(s_endpgm);
const Inst unrelated = make(s_mov_b32, {s(90), number(0)});
const Inst mfma = make(v_mfma_f32_32x32x64_f8f6f4, {v(0, 16), v(16, 8), v(24, 8), v(32, 16)});
const Inst reader = make(v_add_f32, Form::e32, {v(60), v(0), v(61)});

Inst load(std::uint32_t to) { return make(global_load_dword, {v(to), v(200, 2), off}); }
Inst lds(std::uint32_t to) { return make(ds_read_b32, {v(to), v(202)}); }
Inst scalar(std::uint32_t to) { return make(s_load_dword, {s(to), s(0, 2), no_offset}); }
Inst branch_if(std::uint32_t target) { return make(s_cbranch_scc1, {label(target)}); }

Program waited(std::vector<Inst> code, std::vector<WaitRequest> waits) {
  return insert_waits({std::move(code), {}}, std::move(waits), {}, Machine{});
}

// The one wait of a program with one request.
Modifiers wait_of(std::vector<Inst> code, std::uint32_t position, std::vector<std::uint32_t> producers) {
  const Program program = waited(std::move(code), {{position, std::move(producers), {}}});
  REQUIRE(program.code[position].op == s_waitcnt);
  return program.code[position].mods;
}

constexpr int none = Modifiers::not_waited;

}  // namespace

TEST_CASE("A wait leaves what was issued later", "[quick][waits]") {
  const std::vector<Inst> code{load(0), load(1), unrelated, load(2), end};
  CHECK(wait_of(code, 4, {0}).vmcnt == 2);
  CHECK(wait_of(code, 4, {1}).vmcnt == 1);
  CHECK(wait_of(code, 4, {3}).vmcnt == 0);
  CHECK(wait_of(code, 4, {0, 1}).vmcnt == 1);
  CHECK(wait_of(code, 3, {0}).vmcnt == 1);
  CHECK(wait_of(code, 4, {0}).lgkmcnt == none);
}

TEST_CASE("The counters are separate and meet in one instruction", "[quick][waits]") {
  const std::vector<Inst> code{load(0), lds(1), lds(2), load(3), end};
  const Modifiers both = wait_of(code, 4, {0, 1});
  CHECK(both.vmcnt == 1);
  CHECK(both.lgkmcnt == 1);
  const Modifiers lds_only = wait_of(code, 4, {2});
  CHECK(lds_only.vmcnt == none);
  CHECK(lds_only.lgkmcnt == 0);
}

TEST_CASE("The path with fewest instructions decides", "[quick][waits]") {
  // 0: load, 1: branch to 4, 2: load, 3: load, 4: load
  CHECK(wait_of({load(0), branch_if(4), load(1), load(2), load(3), end}, 5, {0}).vmcnt == 1);
  CHECK(wait_of({load(0), unrelated, load(1), load(2), load(3), end}, 5, {0}).vmcnt == 3);
}

TEST_CASE("A wait may be for the turn before", "[quick][waits]") {
  // 0: (wait) use, 1: load, 2: load, 3: load, 4: back to 0
  const std::vector<Inst> loop{reader, load(0), load(1), load(2), branch_if(0), end};
  const Program program = waited(loop, {{0, {1}, {}}});
  CHECK(program.code[0].mods.vmcnt == 2);
  CHECK(program.code[5].args[0] == label(0));  // the branch lands on the wait
  CHECK(check_in_flight(program).empty());
}

TEST_CASE("Scalar loads are waited for with zero", "[quick][waits]") {
  CHECK(wait_of({scalar(4), scalar(5), end}, 2, {0}).lgkmcnt == 0);
  CHECK(wait_of({lds(0), lds(1), end}, 2, {0}).lgkmcnt == 1);
  CHECK(wait_of({scalar(4), lds(0), lds(1), end}, 3, {1}).lgkmcnt == 0);  // one may be outstanding
  // On one path only: 0: branch to 2, 1: scalar load
  CHECK(wait_of({branch_if(2), scalar(4), lds(0), lds(1), end}, 4, {2}).lgkmcnt == 0);
  const Program twice = waited({scalar(4), lds(0), lds(1), lds(2), end}, {{3, {0}, {}}, {4, {1}, {}}});
  CHECK(twice.code[3].mods.lgkmcnt == 0);
  CHECK(twice.code[5].mods.lgkmcnt == 2);  // the first wait left no scalar load
}

TEST_CASE("Counts stay below the limit of their counter", "[quick][waits]") {
  std::vector<Inst> code(80, load(1));
  code[0] = load(0);
  code.push_back(end);
  CHECK(wait_of(code, 80, {0}).vmcnt == 62);
  std::vector<Inst> reads(20, lds(1));
  reads[0] = lds(0);
  reads.push_back(end);
  CHECK(wait_of(reads, 20, {0}).lgkmcnt == 14);
}

TEST_CASE("Waits that cannot be are errors at their line", "[quick][waits]") {
  const auto problem = [](std::vector<Inst> code, WaitRequest wait) -> std::string {
    wait.where = {"t.cpp", 77};
    try {
      waited(std::move(code), {wait});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  CHECK(problem({unrelated, load(0), end}, {1, {1}, {}}).find("t.cpp:77: no path") == 0);
  CHECK(problem({load(0), end, load(1), end}, {3, {0}, {}}).find("t.cpp:77: no path") == 0);
  CHECK(problem({load(0), end, load(1), end}, {3, {2, 0}, {}}).empty());  // one of them can
  CHECK(problem({unrelated, end}, {1, {0}, {}}).find("t.cpp:77") == 0);
  CHECK(problem({load(0), end}, {1, {9}, {}}).find("t.cpp:77") == 0);
  CHECK(problem({load(0), end}, {1, {}, {}}).find("t.cpp:77") == 0);
  CHECK(problem({load(0), end}, {3, {0}, {}}).find("t.cpp:77") == 0);
  CHECK(problem({load(0), end}, {1, {0}, {}}).empty());
}

TEST_CASE("Branches and labels move with what they name", "[quick][waits]") {
  // 0: load, 1: loop: reader (wait before), 2: branch to 1, 3: branch to 4, 4: done
  Program program{{load(0), reader, branch_if(1), branch_if(4), end}, {{1, "loop"}, {4, "done"}}};
  program = insert_waits(program, {{1, {0}, {"t.cpp", 5}}, {4, {0}, {"t.cpp", 6}}}, {}, Machine{});
  REQUIRE(program.code.size() == 7);
  CHECK(program.code[1].op == s_waitcnt);
  CHECK(program.code[1].where.line == 5);
  CHECK(program.code[3].args[0] == label(1));
  CHECK(program.code[4].args[0] == label(5));
  CHECK(program.code[5].op == s_waitcnt);
  CHECK(program.labels == std::map<std::uint32_t, std::string>{{1, "loop"}, {5, "done"}});
}

TEST_CASE("Settling inserts exactly what is missing", "[quick][waits]") {
  const auto settled = [](std::vector<Inst> code, std::uint32_t position) {
    return insert_waits({std::move(code), {}}, {}, {{position, {"t.cpp", 3}}}, Machine{}).code;
  };
  // 20 wait states: s_nop 15 and s_nop 3.
  const std::vector<Inst> whole = settled({mfma, reader, end}, 1);
  REQUIRE(whole.size() == 5);
  CHECK(whole[1] == nop(16));
  CHECK(whole[2] == nop(4));
  CHECK(whole[2].where.line == 3);
  const std::vector<Inst> rest = settled({mfma, unrelated, nop(12), reader, end}, 3);
  REQUIRE(rest.size() == 6);
  CHECK(rest[3] == nop(7));
  CHECK(settled({mfma, nop(16), nop(4), reader, end}, 3).size() == 5);
  CHECK(settled({mfma, reader, end}, 2).size() == 3);  // s_endpgm needs none
  CHECK(settled({mfma, reader}, 2).size() == 2);       // nor does the end of the text
  CHECK(check_hazards({whole, {}}, Machine{}).empty());
}

TEST_CASE("A wait is a wait state, and stands before the settling", "[quick][waits]") {
  const Program program = insert_waits({{load(61), mfma, reader, end}, {}}, {{2, {0}, {}}}, {{2, {}}}, Machine{});
  REQUIRE(program.code.size() == 7);
  CHECK(program.code[2].op == s_waitcnt);
  CHECK(program.code[3] == nop(16));
  CHECK(program.code[4] == nop(3));
  CHECK(check_hazards(program, Machine{}).empty());
  CHECK(check_in_flight(program).empty());
}

TEST_CASE("Settling points know of those before them", "[quick][waits]") {
  const Inst second = make(v_add_f32, Form::e32, {v(62), v(1), v(61)});
  const Program program = insert_waits({{mfma, reader, second, end}, {}}, {}, {{2, {}}, {1, {}}}, Machine{});
  CHECK(program.code.size() == 6);  // the first makes the second unnecessary
  // Around a loop, the branch leading to what was inserted: 0: reader, 1: mfma, 2: back
  const Program loop = insert_waits({{reader, mfma, branch_if(0), end}, {}}, {}, {{0, {}}}, Machine{});
  REQUIRE(loop.code.size() == 6);
  CHECK(loop.code[1] == nop(3));
  CHECK(loop.code[4].args[0] == label(0));
  CHECK(check_hazards(loop, Machine{}).empty());
}

TEST_CASE("Random programs: the count is right, and one more is too many", "[quick][waits]") {
  std::mt19937 random(2);
  int bitten = 0;
  for (int round = 0; round < 500; ++round) {
    // One load into v0 among others, with branches around; the wait and the use of v0 at the end.
    const std::uint32_t length = 4 + random() % 24;
    const bool in_lds = random() % 2;
    const auto other = [&] { return in_lds ? lds(1 + random() % 50) : load(1 + random() % 50); };
    std::vector<Inst> code;
    for (std::uint32_t i = 0; i < length; ++i) {
      const unsigned kind = random() % 5;
      code.push_back(kind < 2 ? other() : kind == 2 ? branch_if(random() % (length + 1)) : unrelated);
    }
    const std::uint32_t producer = random() % length;
    code[producer] = in_lds ? lds(0) : load(0);
    code.push_back(reader);
    code.push_back(end);
    Program program = waited(code, {{length, {producer}, {}}});
    REQUIRE(program.code[length].op == s_waitcnt);
    CHECK(check_in_flight(program).empty());
    Modifiers& wait = program.code[length].mods;
    ++(in_lds ? wait.lgkmcnt : wait.vmcnt);
    bitten += !check_in_flight(program).empty();
  }
  CHECK(bitten == 500);
}
