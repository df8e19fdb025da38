// The dumps of a run agree with the run, and with each other's formats.
#include "runtime_loader/dumps/dumps.h"

#include "generator/generate.h"
#include "runtime_loader/dumps/writers.h"
#include "tests/support/catch.h"
#include "tests/support/clang_kernel.h"
#include "tests/support/process.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

using namespace zyfa;
using namespace zyfa::runtime;
using json = nlohmann::ordered_json;

namespace {

// A workgroup of our kernel without a mask, 8 tiles of keys.
struct Run {
  TemporaryDirectory directory;
  Simulation simulation;
  SimulatedMachine run;
  Recording recording;
  DumpSource source{simulation, run, recording, "a problem"};

  Run() : simulation(kernel(directory), problem()), run(simulated()) { recording = record(simulation, run); }
  Window whole() const { return {0, run.result.cycles}; }

 private:
  static SimulatedProblem problem() {
    SimulatedProblem problem;
    problem.seqlen_q = 256;
    problem.seqlen_k = 1024;
    return problem;
  }
  static std::filesystem::path kernel(const TemporaryDirectory& directory) {
    generator::AttentionConfig config;
    config.causal = false;
    return generator::write_kernel(generator::generate(config, isa::Machine{}), directory.path()).code_object;
  }
  SimulatedMachine simulated() const {
    std::atomic<std::int64_t> done;
    return simulate(simulation, "nominal", isa::Machine{}, {}, done);
  }
};

// What is wrong with a trace; empty if nothing is.
std::string trace_problem(const json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> tracks;
  std::map<int, std::vector<json>> flows;
  for (const json& event : trace.at("traceEvents")) {
    const auto phase = event.at("ph").get<std::string>();
    if (phase == "X")
      tracks[{event.at("pid"), event.at("tid")}].emplace_back(event.at("ts"), event.at("dur"));
    else if (phase == "s" || phase == "f")
      flows[event.at("id")].push_back(event);
    else if (phase == "C" && event.at("args").at("outstanding").get<int>() < 0)
      return "fewer than none outstanding";
  }
  for (auto& [track, slices] : tracks) {
    std::ranges::sort(slices);
    for (std::size_t i = 1; i < slices.size(); ++i)
      if (slices[i - 1].first + slices[i - 1].second > slices[i].first) return "slices of a track overlap";
  }
  for (const auto& [id, ends] : flows) {
    if (ends.size() != 2 || ends[0].at("ph") != "s" || ends[1].at("ph") != "f") return "a flow lacks an end";
    if (ends[0].at("ts").get<int>() >= ends[1].at("ts").get<int>()) return "a flow goes back in time";
  }
  return "";
}

json dump_of(const std::string& text) { return json::parse(text); }

// What is wrong with a viewer's directory of a whole run; empty if nothing is.
std::string viewer_problem(const std::map<std::string, std::string>& files, const pipes::Result& result,
                           const isa::Machine& machine) {
  const json code = dump_of(files.at("code.json")).at("code");
  if (code.size() != result.instructions.size() + 1) return "not a line for each instruction";
  std::map<int, std::array<std::uint64_t, 3>> seen;
  const json names = dump_of(files.at("filenames.json")).at("wave_filenames").at("0");
  for (const auto& [simd_name, simd] : names.items())
    for (const auto& [slot_name, slot] : simd.items()) {
      const json wave = dump_of(files.at(slot.at("0").at(0))).at("wave");
      std::uint64_t clk = wave.at("begin");
      for (const json& one : wave.at("instructions")) {
        if (one.at(0) != clk) return "a wave's time has a gap";
        clk += one.at(3).get<std::uint64_t>();
        auto& line = seen[one.at(4)];
        line[0] += 1;
        line[1] += one.at(3).get<std::uint64_t>();
        line[2] += one.at(2).get<std::uint64_t>();
      }
      if (wave.at("end") != clk) return "a wave does not end with its last instruction";
      for (const json& state : wave.at("timeline")) clk -= state.at(1).get<std::uint64_t>();
      if (wave.at("begin") != clk) return "states do not fill a wave's time";
    }
  for (std::size_t i = 0; i < result.instructions.size(); ++i) {
    const json& line = code.at(i + 1);
    const pipes::InstructionClk& counted = result.instructions[i];
    const std::uint64_t stalls = std::accumulate(counted.stalls.begin(), counted.stalls.end(), std::uint64_t{0});
    if (line.at(6) != counted.issues) return "hits are not the issues";
    if (line.at(7) != counted.issues * static_cast<std::uint64_t>(machine.turn_clk) + stalls)
      return "latency is not the clocks of issues and stalls";
    const auto at = seen[static_cast<int>(i) + 1];
    if (at != std::array<std::uint64_t, 3>{line.at(6), line.at(7), line.at(8)})
      return "code.json and the waves' instructions differ";
  }
  return "";
}

}  // namespace

TEST_CASE("Dumps: a recording fills each wave's time and counts as the run does", "[quick][dumps][timing]") {
  const Run made;
  const pipes::Result& result = made.run.result;
  REQUIRE(made.recording.waves.size() == 8);
  for (std::size_t w = 0; w < 8; ++w) {
    const WaveRecord& wave = made.recording.waves[w];
    pipes::StallClk stalls{};
    for (const Wait& wait : wave.waits) stalls[static_cast<std::size_t>(wait.reason)] += wait.clocks;
    CHECK(stalls == result.waves[w]);
    pipes::Clk clk = w % 4;  // a SIMD's first turn
    bool fills = true;
    for (std::size_t i = 0; i < wave.executed.size(); ++i) {
      for (const Wait& wait : wave.waits_before(i)) {
        fills = fills && wait.clk == clk;
        clk = wait.end();
      }
      fills = fills && wave.executed[i].clk == clk;
      clk += 4;
    }
    CHECK(fills);
    CHECK(clk == result.wave_ends[w]);
  }
}

TEST_CASE("Dumps: what an s_waitcnt asked for is there when it issues", "[quick][dumps][timing]") {
  const Run made;
  std::size_t waited = 0, just_in_time = 0;
  for (const WaveRecord& wave : made.recording.waves)
    for (std::size_t i = 0; i < wave.executed.size(); ++i) {
      const Executed& waiter = wave.executed[i];
      pipes::Clk last = 0;
      for (const std::int32_t producer : waiter.asks_for)
        if (producer >= 0) last = std::max(last, wave.executed[static_cast<std::size_t>(producer)].service.done);
      if (last == 0) continue;
      CHECK(last <= waiter.clk);
      // One that waited issues in the first turn after the data came.
      const auto waits = wave.waits_before(i);
      if (waits.empty() ||
          (waits.back().reason != pipes::Stall::wait_vm && waits.back().reason != pipes::Stall::wait_lgkm))
        continue;
      ++waited;
      just_in_time += waiter.clk - last < 4;
    }
  CHECK(waited > 20);
  CHECK(just_in_time == waited);
}

TEST_CASE("Dumps: the trace is well-formed and holds the run's clocks", "[dumps][timing]") {
  const Run made;
  const json whole = trace_json(made.source, made.whole());
  CHECK(trace_problem(whole) == "");
  std::uint64_t matrix = 0;
  std::size_t arrows = 0;
  for (const json& event : whole.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("cat") == "pipe" && event.at("tid") == 1 && event.at("pid") < 4)
      matrix += event.at("dur").get<std::uint64_t>();
    arrows += event.at("ph") == "s";
  }
  CHECK(matrix == made.run.result.counts.all().matrix);
  CHECK(arrows > 100);

  // An iteration of it as it stands in the file.
  REQUIRE(made.run.loop);
  const json trace = json::parse(trace_json(made.source, loop_window(made.run, 1)).dump());
  CHECK(trace_problem(trace) == "");
  CHECK(trace.at("otherData").at("time").get<std::string>().find("1 us in this file is 1 engine clock") == 0);

  // The checks bite.
  const auto first = [&trace](const char* phase) {
    const auto& events = trace.at("traceEvents");
    return static_cast<std::size_t>(
        std::ranges::find_if(events, [phase](const json& event) { return event.at("ph") == phase; }) - events.begin());
  };
  json broken = trace;
  broken.at("traceEvents").erase(first("f"));
  CHECK(trace_problem(broken) == "a flow lacks an end");
  broken = trace;
  broken.at("traceEvents").at(first("X")).at("dur") = 1000000;
  CHECK(trace_problem(broken) == "slices of a track overlap");
  broken = trace;
  broken.at("traceEvents").at(first("C")).at("args").at("outstanding") = -1;
  CHECK(trace_problem(broken) == "fewer than none outstanding");
}

TEST_CASE("Dumps: the viewer's directory agrees with the run", "[quick][dumps][timing]") {
  const Run made;
  const auto files = viewer_files(made.source, made.whole());
  CHECK(viewer_problem(files, made.run.result, made.run.machine) == "");
  CHECK(dump_of(files.at("occupancy.json")).at("dispatches").at("1") == made.simulation.symbol() + " [model]");
  CHECK(dump_of(files.at("occupancy.json")).at("0").size() == 16);
  CHECK(dump_of(files.at("code.json")).at("code").at(0).at(0) == "; " + made.simulation.symbol() + " [model]");
  CHECK(dump_of(files.at("filenames.json")).at("gfxip") == 9);
  CHECK(!dump_of(files.at("se0_sm1_sl0_wv0.json")).at("wave").at("waitcnt").empty());
  CHECK(files.contains("snapshots.json"));

  auto broken = files;
  json wave = dump_of(files.at("se0_sm0_sl0_wv0.json"));
  wave.at("wave").at("instructions").erase(100);
  broken.at("se0_sm0_sl0_wv0.json") = wave.dump();
  CHECK(viewer_problem(broken, made.run.result, made.run.machine) == "a wave's time has a gap");
  broken = files;
  json code = dump_of(files.at("code.json"));
  code.at("code").at(5).at(6) = 0;
  broken.at("code.json") = code.dump();
  CHECK(viewer_problem(broken, made.run.result, made.run.machine) == "hits are not the issues");
}

TEST_CASE("Dumps: of a launch description", "[dumps][launch]") {
  if (!tests::have_clang()) {
    WARN(tests::no_clang);
    return;
  }
  const TemporaryDirectory directory;
  generator::write_file(directory.file("k.co"), tests::compile_kernels("calls.c"));
  std::ofstream(directory.file("l.json")) << R"({"symbol": "call", "grid": 5, "block": 256, "kernargs": [
    {"buffer": "out", "bytes": 5120}, {"buffer": "in", "bytes": 5120, "fill": "random"}]})";
  SimulatedProblem problem;
  problem.launch = directory.file("l.json");
  const Simulation simulation(directory.file("k.co"), problem);
  CHECK(simulation.manifest() == nullptr);
  CHECK(simulation.problem() == problem.launch + ", 5 workgroups");
  std::atomic<std::int64_t> done;
  const SimulatedMachine run = simulate(simulation, "nominal", isa::Machine{}, {}, done);
  const Recording recording = record(simulation, run);
  const DumpSource source{simulation, run, recording, simulation.problem()};
  const Window whole{0, run.result.cycles};
  CHECK(trace_problem(trace_json(source, whole)) == "");
  CHECK(viewer_problem(viewer_files(source, whole), run.result, run.machine) == "");
  DumpRequest request{
      .kinds = parse_dumps("all"), .directory = directory.path() / "dumps", .between = {}, .problem = "p"};
  CHECK(write_dumps(simulation, run, request).size() == 4);
}

TEST_CASE("Dumps: the reported workgroup is the slowest of three", "[quick][dumps][timing]") {
  const TemporaryDirectory directory;
  const auto kernel = generator::write_kernel(generator::generate({}, isa::Machine{}), directory.path()).code_object;
  SimulatedProblem problem;
  problem.seqlen_q = problem.seqlen_k = 1280;  // five tiles: the last workgroup has one, the others two
  const Simulation simulation(kernel, problem);
  REQUIRE(simulation.workgroups_per_head() == 3);
  std::atomic<std::int64_t> done{0};
  const SimulatedMachine run = simulate(simulation, "nominal", isa::Machine{}, {}, done);
  CHECK(run.workgroup == slowest_workgroup(simulation, isa::Machine{}, done));
  CHECK(done == 6);
  const SimulatedMachine last =
      simulate(simulation, "nominal", isa::Machine{}, {.workgroup = 2, .clock_ghz = {}}, done);
  CHECK(last.workgroup == 2);
  CHECK(run.workgroup != 2);
  CHECK(last.result.cycles < run.result.cycles);
}

TEST_CASE("Dumps: the timeline shows each instruction where it issues", "[quick][dumps][timing]") {
  const Run made;
  REQUIRE(made.run.loop);
  const Window window = loop_window(made.run, 1);
  // Around one iteration a wave goes through the loop's instructions once.
  const WaveRecord& leader = made.recording.waves[made.run.loop->wave];
  CHECK(std::ranges::count_if(leader.executed, [&](const Executed& e) {
          return window.contains(e.clk) && e.instruction == made.run.loop->target;
        }) == 1);

  std::set<std::array<pipes::Clk, 3>> shown, expected;  // wave, instruction, turn's number from the window's begin
  for (std::size_t w = 0; w < made.recording.waves.size(); ++w)
    for (const Executed& e : made.recording.waves[w].executed)
      if (window.contains(e.clk)) expected.insert({w, e.instruction, (e.clk - window.first) / 4});
  std::istringstream lines(timeline_text(made.source, window));
  pipes::Clk chunk = 0;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::size_t prefix = 12, cells = 100;
    if (line.starts_with("SIMD ")) chunk = std::stoull(line.substr(line.find("clk ") + 4));
    if (!line.starts_with("[") || !std::isdigit(static_cast<unsigned char>(line[1]))) continue;
    const std::size_t issued = line.substr(prefix, cells).find('D');
    if (issued == std::string::npos) continue;
    shown.insert({std::stoull(line.substr(1)), std::stoull(line.substr(line.find(',') + 1)),
                  (chunk - window.first) / 4 + issued});
  }
  std::vector<std::array<pipes::Clk, 3>> differences;
  std::ranges::set_symmetric_difference(shown, expected, std::back_inserter(differences));
  CHECK(differences == std::vector<std::array<pipes::Clk, 3>>{});
}

TEST_CASE("Dumps: kinds and spans of time that are accepted", "[quick][dumps]") {
  CHECK(parse_dumps("all").size() == 4);
  CHECK(parse_dumps("page,trace") == std::set{Dump::page, Dump::trace});
  CHECK(parse_window("4:10") == std::pair<pipes::Clk, pipes::Clk>{4, 10});
  for (const char* wrong : {"", "pages", "page,", "page,,trace"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_dumps(wrong), Error);
  }
  for (const char* wrong : {"", "4", ":", "4:", ":4", "4:4", "5:4", "4:x", "-1:4", "1:2:3", "99999999999999999999:1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parse_window(wrong), Error);
  }
}

TEST_CASE("Dumps: written whole or not at all", "[dumps][commands]") {
  const Run made;
  const TemporaryDirectory directory;
  DumpRequest request{
      .kinds = parse_dumps("all"), .directory = directory.path() / "new", .between = {}, .problem = "p"};
  const auto written = write_dumps(made.simulation, made.run, request);
  REQUIRE(written.size() == 4);
  const auto listing = [](const std::filesystem::path& where) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(where)) names.insert(entry.path().filename().string());
    return names;
  };
  std::set<std::string> expected;
  for (const auto& path : written) expected.insert(path.filename().string());
  CHECK(listing(directory.path() / "new") == expected);
  // Again, over what is there.
  write_dumps(made.simulation, made.run, request);
  CHECK(listing(directory.path() / "new") == expected);

  // A directory of that name that is no dump stays as it is.
  const std::filesystem::path viewer = directory.path() / "new" / (made.simulation.symbol() + ".viewer");
  std::filesystem::remove_all(viewer);
  std::filesystem::create_directory(viewer);
  std::ofstream(viewer / "mine") << "kept";
  request.kinds = {Dump::viewer};
  CHECK_THROWS_AS(write_dumps(made.simulation, made.run, request), Error);
  CHECK(listing(viewer) == std::set<std::string>{"mine"});
  CHECK(listing(directory.path() / "new") == expected);

  // A file in the directory's place.
  std::ofstream(directory.file("file")) << "x";
  request.directory = directory.path() / "file" / "below";
  CHECK_THROWS_AS(write_dumps(made.simulation, made.run, request), Error);

  request.directory = directory.path() / "late";
  request.between = {{made.run.result.cycles, made.run.result.cycles + 1}};
  CHECK_THROWS_AS(write_dumps(made.simulation, made.run, request), Error);
}
