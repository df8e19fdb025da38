#include "runtime_loader/dumps/writers.h"

#include <algorithm>

namespace zyfa::runtime {
namespace {

using pipes::Clk;
using pipes::Stall;

constexpr std::size_t columns = 100;  // turns in a chunk

constexpr const char* legend =
    R"(Each character is a turn of the SIMD ({} clk). Time runs to the right; a chunk has {} turns.
  =  ready in program order, but does not issue; the reasons stand behind the instruction
  D  issues
  e  at work in its pipe: matrix pipe, vector port, LDS bus, memory bus     E  its last turn there
  -  memory instructions: under way                                         R  the data is there, the counter falls
  b  s_barrier: waits for the other waves           p  its own pace: s_nop, s_sleep, a taken branch
[wave,index]: index is the instruction's number in the program, as in zyfa-sim --json.
)";

bool comes_after(const Wait& wait) { return wait.reason == Stall::barrier || wait.reason == Stall::own_pace; }

bool is_memory(Pipe pipe) { return pipe == Pipe::vmem || pipe == Pipe::lds || pipe == Pipe::smem; }

// An execution with the waits before it that are its own, and those after it that are.
struct Row {
  std::uint32_t wave;
  const Executed* executed;
  std::span<const Wait> before, after;
  Pipe pipe;
  Clk from, to;  // where it must be shown
};

std::vector<Row> rows_of(const DumpSource& source, std::size_t wave) {
  const WaveRecord& record = source.recording.waves[wave];
  std::vector<Row> rows;
  for (std::size_t i = 0; i < record.executed.size(); ++i) {
    const Executed& executed = record.executed[i];
    const auto own = [&](std::size_t execution) {
      return std::ranges::find_if_not(record.waits_before(execution), comes_after) -
             record.waits_before(execution).begin();
    };
    Row row{static_cast<std::uint32_t>(wave),
            &executed,
            {},
            {},
            pipe_of(source.program().code[executed.instruction]),
            executed.clk,
            executed.clk + source.recording.turn()};
    const auto waits = record.waits_before(i);
    row.before = waits.subspan(static_cast<std::size_t>(own(i)));
    if (!row.before.empty()) row.from = row.before.front().clk;
    if (i + 1 < record.executed.size()) {
      row.after = record.waits_before(i + 1).first(static_cast<std::size_t>(own(i + 1)));
      if (!row.after.empty()) row.to = row.after.back().end();
    }
    if (!is_memory(row.pipe)) row.to = std::max(row.to, executed.service.end);
    rows.push_back(row);
  }
  return rows;
}

std::string cells(const Row& row, const Window& chunk, Clk turn) {
  std::string cells(columns, ' ');
  const auto put = [&](Clk from, Clk to, char c) {
    for (Clk t = std::max(from, chunk.first); t < std::min(to, chunk.last); t += turn)
      cells[static_cast<std::size_t>((t - chunk.first) / turn)] = c;
  };
  const auto& [start, end, done] = row.executed->service;
  const Clk issued = row.executed->clk;
  if (is_memory(row.pipe)) {
    put(issued, done, '-');
    put(done, done + turn, 'R');
  }
  if (end > start) {
    put(std::max(start, issued), end, 'e');
    put(end - std::min(turn, end - start), end, 'E');
  }
  for (const Wait& wait : row.before) put(wait.clk, wait.end(), '=');
  for (const Wait& wait : row.after) put(wait.clk, wait.end(), wait.reason == Stall::barrier ? 'b' : 'p');
  put(issued, issued + turn, 'D');
  return cells;
}

std::string reasons(std::span<const Wait> waits) {
  std::string text;
  for (const auto& [reason, clk] : by_reason(waits))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(reason), clk);
  return text.empty() ? text : fmt::format("   ; waits, clk: {}", text);
}

std::string ruler(const Window& chunk, Clk turn) {
  constexpr std::size_t step = 20;
  std::string text;
  for (std::size_t column = 0; column < columns; column += step)
    text += fmt::format("{:<{}}", fmt::format("|{}", chunk.first + column * turn), step);
  return text;
}

}  // namespace

std::string timeline_text(const DumpSource& source, const Window& window) {
  const Clk turn = source.recording.turn();
  std::string text =
      fmt::format("Timeline view: {}, machine {}, clk {} to {}. Modelled, not measured.\n{}\n\n",
                  source.simulation.symbol(), source.run.name, window.first, window.last, source.problem);
  text += fmt::format(fmt::runtime(legend), turn, columns);
  for (std::size_t simd = 0; simd < pipes::simds; ++simd) {
    std::vector<Row> rows;
    for (std::size_t wave = simd; wave < source.recording.waves.size(); wave += pipes::simds)
      for (const Row& row : rows_of(source, wave))
        if (window.meets(row.from, row.to)) rows.push_back(row);
    std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.executed->clk; });
    const Clk begin = window.first + (simd + turn - window.first % turn) % turn;  // the SIMD's first turn
    for (Clk first = begin; first < window.last; first += columns * turn) {
      const Window chunk{first, std::min(window.last, first + columns * turn)};
      text += fmt::format("\nSIMD {}, clk {} to {}\n{:<12}{}\n", simd, chunk.first, chunk.last, "[wave,index]",
                          ruler(chunk, turn));
      for (const Row& row : rows)
        if (chunk.meets(row.from, row.to))
          text += fmt::format("[{},{:>5}]   {}  {}{}\n", row.wave, row.executed->instruction, cells(row, chunk, turn),
                              source.text(row.executed->instruction), reasons(row.before));
    }
  }
  return text;
}

}  // namespace zyfa::runtime
