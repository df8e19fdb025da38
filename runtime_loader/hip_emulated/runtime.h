// The state behind HIP's calls.
#pragma once

#include "runtime_loader/hip_emulated/allocations.h"
#include "runtime_loader/hip_emulated/captures.h"
#include "runtime_loader/hip_emulated/handles.h"
#include "runtime_loader/hip_emulated/modules.h"
#include "runtime_loader/hip_emulated/settings.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <string>
#include <vector>

namespace zyfa::hip_emulated {

struct Event {
  int device = 0;  // that was current when it was created: streams of others do not record it
  unsigned flags = 0;
  mutable std::mutex mutex;  // guards what follows: where it was last recorded, if it was
  std::shared_ptr<const Marker> marker;
  std::optional<CapturedPoint> captured;
};

// Host threads for all kernels that run at once.
class ThreadBudget {
 public:
  explicit ThreadBudget(int threads) : free_(threads) {}

  // Those that a kernel has while it runs: waits until there is one, takes at most `wanted`.
  class Share {
   public:
    Share(ThreadBudget& budget, std::uint64_t wanted);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    int threads() const { return threads_; }

   private:
    ThreadBudget& budget_;
    int threads_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  int free_;
};

class Runtime {
 public:
  Runtime();

  const Settings settings;
  Allocations allocations;
  Captures captures;
  ThreadBudget threads;
  Handles<hipStream_t, Stream> streams;
  Handles<hipEvent_t, Event> events;
  Handles<hipModule_t, Module> modules;
  Handles<hipFunction_t, const Function> functions;
  Handles<hipGraph_t, const Graph> graphs;
  Handles<hipGraphExec_t, const Graph> executable_graphs;

  std::shared_ptr<Stream> make_stream(unsigned flags, int priority);
  // Of a handle, also the default streams' special ones; null if it is none.
  std::shared_ptr<Stream> stream(hipStream_t handle);

  // Does or records work. Device work does not run after a fault.
  hipError_t submit(const std::shared_ptr<Stream>& stream, hipGraphNodeType type, Work work);
  // The same for a stream that does not capture. Returns the work's end.
  std::shared_ptr<const Marker> enqueue(const std::shared_ptr<Stream>& stream, Work work,
                                        std::vector<std::shared_ptr<const Marker>> after = {});
  void synchronize(const std::shared_ptr<Stream>& stream);
  bool done(const std::shared_ptr<Stream>& stream);
  void synchronize_device(int device);

  // What stopped a kernel. It stays, as on a real device: every call that needs the device returns it.
  hipError_t fault() const { return fault_; }
  void fail(hipError_t error, const std::string& message);

 private:
  std::vector<std::shared_ptr<Stream>> all_streams(int device);
  // What work on the stream has to wait for of others: the default stream and blocking streams wait for each other, as
  // far as calls came before.
  std::vector<std::shared_ptr<const Marker>> others_before(const std::shared_ptr<Stream>& stream);

  std::mutex order_;                                   // of work among streams: it waits for what was enqueued before
  std::vector<std::shared_ptr<Stream>> null_streams_;  // of each device
  std::vector<std::weak_ptr<Stream>> streams_;         // all others
  std::atomic<hipError_t> fault_ = hipSuccess;
};

// HIP's calls take no handle of a library, so there is one object for the process, made by the first call that needs
// it. It is never destroyed: a host program may call HIP until its very end. Throws Error if the environment asks for
// what there is not.
Runtime& runtime();

int& current_device();  // of this thread

// "zyfa hip_emulated: message" on stderr.
void report(const std::string& message);

// Reports why a call is refused, and returns the error.
template <class... Args>
hipError_t refuse(hipError_t error, fmt::format_string<Args...> format, Args&&... args) {
  report(fmt::format(format, std::forward<Args>(args)...));
  return error;
}

}  // namespace zyfa::hip_emulated
