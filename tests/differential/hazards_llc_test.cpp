// LLVM's hazard recogniser as a second opinion: whatever wait states it inserts for gfx950, we must ask for
// as many. Sequences of instructions go to llc as machine IR; of each S_NOP that comes back we ask our
// checker whether it would have been missed.

#include "isa/hazards.h"
#include "isa/isa.h"
#include "tests/support/catch.h"
#include "tests/support/hazard_pairs.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

using namespace zyfa;
using namespace zyfa::isa;

namespace {

struct Step {
  Inst inst;
  std::string_view mir;
};
using Sequence = std::vector<Step>;

// An llc that knows gfx950: the one beside the LLVM we link, else from the PATH. Empty if there is none.
std::string find_llc() {
  std::vector<std::string> names;
#ifdef ZYFA_LLVM_TOOLS_DIR
  names.push_back(ZYFA_LLVM_TOOLS_DIR "/llc");
#endif
  for (int version = 30; version >= 20; --version) names.push_back(fmt::format("llc-{}", version));
  names.push_back("llc");
  for (const std::string& name : names) {
    const std::string knows_gfx950 =
        fmt::format("'{}' -mtriple=amdgcn-amd-amdhsa -mcpu=help </dev/null 2>&1 | grep -q gfx950", name);
    if (std::system(knows_gfx950.c_str()) == 0) return name;
  }
  return {};
}

// "$v[0:3]" -> "$vgpr0_vgpr1_vgpr2_vgpr3".
std::string expand_tuples(std::string_view mir) {
  std::string text;
  for (std::size_t i = 0; i < mir.size(); ++i) {
    if (mir[i] != '$' || i + 2 >= mir.size() || mir[i + 2] != '[') {
      text += mir[i];
      continue;
    }
    const std::string file = mir[i + 1] == 'v' ? "vgpr" : mir[i + 1] == 'a' ? "agpr" : "sgpr";
    const std::size_t colon = mir.find(':', i), end = mir.find(']', i);
    const int first = std::stoi(std::string(mir.substr(i + 3, colon - i - 3)));
    const int last = std::stoi(std::string(mir.substr(colon + 1, end - colon - 1)));
    text += '$';
    for (int r = first; r <= last; ++r) text += fmt::format("{}{}{}", r == first ? "" : "_", file, r);
    i = end;
  }
  return text;
}

// A directory of its own that goes away again.
struct Scratch {
  std::filesystem::path path;

  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "zyfa-hazards-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Scratch() { std::filesystem::remove_all(path); }
};

void write_mir(const std::string& path, const std::vector<Sequence>& sequences) {
  std::ofstream file(path);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    file << fmt::format("---\nname: f{}\nbody: |\n  bb.0:\n", i);
    for (const Step& step : sequences[i]) file << "    " << expand_tuples(step.mir) << "\n";
    file << "    S_ENDPGM 0\n...\n";
  }
}

// Of each function the wait states of the S_NOPs before each of its other instructions.
std::vector<std::vector<int>> read_nops(const std::string& path) {
  std::vector<std::vector<int>> inserted;
  std::ifstream file(path);
  bool in_body = false;
  int idle = 0;
  for (std::string line; std::getline(file, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.starts_with("bb.0")) {
      inserted.emplace_back();
      in_body = true;
    } else if (in_body && line.starts_with("S_NOP ")) {
      idle += std::stoi(line.substr(6)) + 1;
    } else if (in_body && line.starts_with("S_ENDPGM")) {
      in_body = false;
      idle = 0;
    } else if (in_body && !line.empty()) {
      inserted.back().push_back(std::exchange(idle, 0));
    }
  }
  return inserted;
}

// The wait states that LLVM puts before each instruction of each sequence.
std::vector<std::vector<int>> ask_llvm(const std::string& llc, const std::vector<Sequence>& sequences) {
  const Scratch scratch;
  const std::string input = (scratch.path / "in.mir").string(), output = (scratch.path / "out.mir").string();
  write_mir(input, sequences);
  const std::string command = fmt::format(
      "'{}' -mtriple=amdgcn-amd-amdhsa -mcpu=gfx950 -run-pass=post-RA-hazard-rec '{}' -o '{}'", llc, input, output);
  REQUIRE(std::system(command.c_str()) == 0);
  std::vector<std::vector<int>> inserted = read_nops(output);
  REQUIRE(inserted.size() == sequences.size());
  for (std::size_t i = 0; i < sequences.size(); ++i) REQUIRE(inserted[i].size() == sequences[i].size());
  return inserted;
}

// What our checker would put before an instruction, the earlier ones having what LLVM gave them.
int our_wait_states(const Sequence& sequence, std::vector<int> idle_before, std::size_t position,
                    const Machine& machine) {
  Program program;
  for (const Step& step : sequence) program.code.push_back(step.inst);
  std::fill(idle_before.begin() + static_cast<std::ptrdiff_t>(position), idle_before.end(), 0);
  idle_before.push_back(0);
  return missing_wait_states(program, Flow(program), idle_before, static_cast<std::uint32_t>(position), machine);
}

std::string describe(const Sequence& sequence) {
  std::string text;
  for (const Step& step : sequence) text += fmt::format("\n  {}", step.mir);
  return text;
}

// Every place where LLVM's wait states are more than ours.
std::vector<std::string> misses(const std::vector<Sequence>& sequences, const std::vector<std::vector<int>>& inserted,
                                const Machine& machine) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < sequences.size(); ++i)
    for (std::size_t position = 0; position < sequences[i].size(); ++position) {
      const int theirs = inserted[i][position];
      const int ours = theirs ? our_wait_states(sequences[i], inserted[i], position, machine) : 0;
      if (ours < theirs)
        list.push_back(
            fmt::format("{} instead of {} before instruction {} of{}", ours, theirs, position, describe(sequences[i])));
    }
  return list;
}

int sum(const std::vector<std::vector<int>>& inserted) {
  int total = 0;
  for (const std::vector<int>& nops : inserted) total = std::accumulate(nops.begin(), nops.end(), total);
  return total;
}

constexpr const char* no_llc = "skipped: no llc that knows gfx950 beside LLVM or in the PATH";
const Step independent{{.op = Op::s_mov_b32, .args = {Operand(S<1>{90}), Operand::constant(0)}},
                       "$sgpr90 = S_MOV_B32 0"};

// Where we ask for more than LLVM 22; docs/hazards.md says why.
bool is_stricter(const HazardPair& pair) {
  return pair.rule == "XDL result as C of another opcode" ||
         (pair.rule == "FP32 MFMA result as C of another FP32 opcode" && pair.required > 2) ||
         pair.rule == "data of a wide store with scalar offset overwritten by VALU" ||
         (pair.rule == "partly written register used by VALU" && pair.producer.form != Form::sdwa &&
          (pair.producer.mods.op_sel & 12) == 0);
}

std::vector<Step> all_steps() {
  std::map<std::string_view, Inst> by_text;
  for (const HazardPair& pair : hazard_pairs()) {
    by_text.emplace(pair.producer_mir, pair.producer);
    by_text.emplace(pair.consumer_mir, pair.consumer);
  }
  std::vector<Step> steps{independent};
  for (const auto& [mir, inst] : by_text) steps.push_back({inst, mir});
  return steps;
}

std::vector<Sequence> direct_pairs() {
  std::vector<Sequence> sequences;
  for (const HazardPair& pair : hazard_pairs())
    sequences.push_back({{pair.producer, pair.producer_mir}, {pair.consumer, pair.consumer_mir}});
  return sequences;
}

void check_against_llvm(const std::vector<Sequence>& sequences) {
  const std::string llc = find_llc();
  if (llc.empty()) {
    WARN(no_llc);
    return;
  }
  const auto inserted = ask_llvm(llc, sequences);
  CHECK(sum(inserted) > 300);  // LLVM saw the hazards at all
  for (const std::string& miss : misses(sequences, inserted, Machine{})) FAIL_CHECK(miss);
}

}  // namespace

TEST_CASE("LLVM asks for the same wait states in each rule's pair", "[hazards][llc]") {
  const std::string llc = find_llc();
  if (llc.empty()) {
    WARN(no_llc);
    return;
  }
  const std::vector<HazardPair> pairs = hazard_pairs();
  const std::vector<Sequence> sequences = direct_pairs();
  const auto inserted = ask_llvm(llc, sequences);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    INFO(pairs[i].rule << describe(sequences[i]));
    if (is_stricter(pairs[i])) {
      CHECK(pairs[i].required > inserted[i][1]);
    } else {
      CHECK(pairs[i].required == inserted[i][1]);
    }
  }
}

TEST_CASE("A machine with one wait state less than LLVM's is noticed", "[hazards][llc]") {
  const std::string llc = find_llc();
  if (llc.empty()) {
    WARN(no_llc);
    return;
  }
  const std::vector<Sequence> sequences = direct_pairs();
  const auto inserted = ask_llvm(llc, sequences);
  const std::set<std::string_view> not_llvm = {"xdl_write_to_c_of_other_op", "offset_store_data_to_valu_write"};
  for (const Parameter& parameter : machine_parameters()) {
    if (parameter.unit != "wait states" || not_llvm.contains(parameter.name)) continue;
    Machine weaker;
    if (const auto* all = std::get_if<int Machine::*>(&parameter.member)) weaker.*(*all) -= 1;
    if (const auto* each = std::get_if<PerPass Machine::*>(&parameter.member)) {
      PerPass& n = weaker.*(*each);
      n = {n.p2 - 1, n.p4 - 1, n.p8 - 1, n.p16 - 1};
    }
    INFO(parameter.name);
    CHECK_FALSE(misses(sequences, inserted, weaker).empty());
  }
}

TEST_CASE("No wait state of LLVM is missed with an instruction in between", "[hazards][llc]") {
  std::vector<Sequence> sequences = direct_pairs();
  for (Sequence& sequence : sequences) sequence.insert(sequence.begin() + 1, independent);
  check_against_llvm(sequences);
}

TEST_CASE("No wait state of LLVM is missed in any pair of the rules' instructions", "[hazards][llc]") {
  const std::vector<Step> steps = all_steps();
  std::vector<Sequence> sequences;
  for (const Step& first : steps)
    for (const Step& second : steps) sequences.push_back({first, second});
  check_against_llvm(sequences);
}

TEST_CASE("No wait state of LLVM is missed in random sequences", "[hazards][llc]") {
  const std::vector<Step> steps = all_steps();
  std::mt19937 random(950);
  std::vector<Sequence> sequences(3000);
  for (Sequence& sequence : sequences) {
    const std::size_t length = 3 + random() % 6;
    while (sequence.size() < length) sequence.push_back(steps[random() % steps.size()]);
  }
  check_against_llvm(sequences);
}
