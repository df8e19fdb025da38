#include "isa/emulator/emulator.h"

#include "isa/emulator/workgroup.h"
#include "isa/error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace zyfa::emulator {
namespace {

constexpr std::uint32_t max_workgroup_size = 1024;               // CDNA4 ISA 3.1: 16 waves
constexpr std::uint32_t max_lds_bytes = 160 * 1024;              // gfx950.md 1
constexpr std::uint32_t max_private_bytes = 1024 * 0x1fff / 64;  // COMPUTE_TMPRING_SIZE.WAVESIZE: 13 bits of KiB
constexpr std::uint32_t max_user_sgprs = 16;                     // COMPUTE_PGM_RSRC2.USER_SGPR (LLVM AMDGPUUsage)
constexpr std::uint32_t max_work_item_id = 1024;                 // 10 bits per axis in v0
constexpr auto progress_interval = std::chrono::milliseconds(50);

void check(const Launch& launch, const isa::Program& program) {
  const auto& size = launch.workgroup_size;
  std::uint64_t items = 1;
  for (const std::uint32_t n : size) {
    if (n == 0 || n > max_work_item_id)
      throw Error("workgroup size ({}, {}, {}) is outside 1..{} per axis", size[0], size[1], size[2], max_work_item_id);
    items *= n;
  }
  if (items > max_workgroup_size)
    throw Error("workgroup of {} work-items, gfx950 takes up to {}", items, max_workgroup_size);
  if (launch.lds_bytes > max_lds_bytes)
    throw Error("launch asks for {} bytes of LDS, gfx950 has {}", launch.lds_bytes, max_lds_bytes);
  if (launch.private_bytes > max_private_bytes)
    throw Error("launch asks for {} bytes of private memory for a lane, gfx950 has up to {}", launch.private_bytes,
                max_private_bytes);
  const int pointers =
      launch.pass_dispatch_ptr + launch.pass_queue_ptr + launch.pass_kernarg_ptr + launch.pass_dispatch_id;
  if (launch.user_sgprs > max_user_sgprs || launch.user_sgprs < static_cast<std::uint32_t>(2 * pointers))
    throw Error("{} user SGPRs, accepted are {}..{} with what is passed", launch.user_sgprs, 2 * pointers,
                max_user_sgprs);
  if ((launch.mode & ~Mode::modelled) != 0)
    throw Error(
        "MODE {:#x} asks for what the emulator does not do: rounding other than to nearest even, exceptions; it "
        "takes the bits {:#x}",
        launch.mode, Mode::modelled);
  if (launch.entry != 0 && launch.entry >= program.code.size())
    throw Error("entry point {} is outside the program of {} instructions", launch.entry, program.code.size());
}

std::uint64_t workgroups(const Launch& launch) {
  const std::uint64_t plane = std::uint64_t{launch.grid[0]} * launch.grid[1];
  if (launch.grid[2] != 0 && plane > std::numeric_limits<std::uint64_t>::max() / launch.grid[2])
    throw Error("grid of ({}, {}, {}) workgroups is too large", launch.grid[0], launch.grid[1], launch.grid[2]);
  return plane * launch.grid[2];
}

// What the host threads share. Workgroups are taken in grid order, so when one traps, all before it have been
// taken and run to their end: which trap is the first does not depend on the number of threads.
class Dispatch {
 public:
  Dispatch(std::uint64_t all, const Options& options) : all_(all), options_(options) {}

  // The work of one thread.
  void work(Workgroup workgroup) {
    for (;;) {
      const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
      if (number >= all_ || number > first_trap_.load(std::memory_order_relaxed)) return;
      std::optional<Trap> trap = workgroup.run(number, first_trap_);
      finish(number, workgroup, std::move(trap), workgroup.take_findings());
    }
  }

  // Ends the other threads' work too.
  void fail(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = failure;
    next_ = all_;
  }

  Result result() {
    if (failure_) std::rethrow_exception(failure_);
    std::erase_if(found_, [this](const Found& f) { return f.workgroup > first_trap_; });
    std::ranges::sort(found_, {}, [](const Found& f) { return std::pair(f.workgroup, f.order); });
    for (Found& f : found_) {
      ++result_.finding_counts[f.finding.kind()];
      if (result_.findings.size() < max_findings)
        result_.findings.push_back(std::move(f.finding));
      else
        ++result_.findings_left_out;
    }
    found_.clear();
    return std::move(result_);
  }

 private:
  struct Found {
    std::uint64_t workgroup;
    std::size_t order;  // among those of the workgroup
    Finding finding;
  };

  // Threads know only what they have seen themselves, so of one rule and pair the earliest workgroup's stays.
  void collect(std::uint64_t number, std::vector<Finding> findings) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const auto [place, is_new] =
          where_found_.try_emplace(key(findings[i].rule, findings[i].at, findings[i].other), found_.size());
      Found found{number, i, std::move(findings[i])};
      if (is_new)
        found_.push_back(std::move(found));
      else if (number < found_[place->second].workgroup)
        found_[place->second] = std::move(found);
    }
  }

  void finish(std::uint64_t number, const Workgroup& workgroup, std::optional<Trap> trap,
              std::vector<Finding> findings) {
    const std::scoped_lock lock(mutex_);
    if (number > first_trap_) return;
    collect(number, std::move(findings));
    if (trap) {
      first_trap_ = number;
      result_ = {std::move(trap), workgroup.instructions(), workgroup.matrix_instructions(), {}, 0, {}};
      return;
    }
    if (result_.trap) return;
    result_.instructions += workgroup.instructions();
    result_.matrix_instructions += workgroup.matrix_instructions();
    ++done_;
    const auto now = std::chrono::steady_clock::now();
    if (!options_.progress || (done_ < all_ && now < next_progress_)) return;
    next_progress_ = now + progress_interval;
    options_.progress(done_, all_);
  }

  const std::uint64_t all_;
  const Options& options_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_trap_{std::numeric_limits<std::uint64_t>::max()};
  std::mutex mutex_;  // guards what follows, and the progress callback
  Result result_;
  std::vector<Found> found_;
  std::unordered_map<std::uint64_t, std::size_t> where_found_;
  std::exception_ptr failure_;
  std::uint64_t done_ = 0;
  std::chrono::steady_clock::time_point next_progress_{};
};

}  // namespace

Result run(const isa::Program& program, const Launch& launch, const GlobalMemory& memory, const Options& options) {
  check(launch, program);
  const std::uint64_t all = workgroups(launch);
  const std::vector<Step> steps = decode(program);
  const auto strict =
      options.strict ? std::make_unique<StrictProgram>(program, options.machine, launch.unaligned_access) : nullptr;
  Dispatch dispatch(all, options);
  const auto work = [&] {
    try {
      dispatch.work(Workgroup(program, steps, launch, memory, options, strict.get()));
    } catch (...) {
      dispatch.fail(std::current_exception());
    }
  };
  const auto host_threads = std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t wanted = options.threads > 0 ? static_cast<std::uint64_t>(options.threads) : host_threads;
  std::vector<std::jthread> threads;
  for (std::uint64_t i = 1; i < std::min(wanted, all); ++i) threads.emplace_back(work);
  if (all > 0) work();
  threads.clear();
  return dispatch.result();
}

}  // namespace zyfa::emulator
