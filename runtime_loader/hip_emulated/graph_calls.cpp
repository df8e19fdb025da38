// Stream capture and graphs.
#include "runtime_loader/hip_emulated/call.h"

#include <algorithm>

using namespace zyfa::hip_emulated;

hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) { return all.captures.begin(stream, mode); });
}

hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t* graph) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (!graph) return hipErrorInvalidValue;
    *graph = nullptr;
    auto captured = std::make_shared<Graph>();
    if (const hipError_t error = all.captures.end(*stream, *captured); error != hipSuccess) return error;
    *graph = all.graphs.add(std::move(captured));
    return hipSuccess;
  });
}

hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus* status) {
  return hipStreamGetCaptureInfo(handle, status, nullptr);
}

hipError_t hipStreamGetCaptureInfo(hipStream_t handle, hipStreamCaptureStatus* status, unsigned long long* number) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    if (!status) return hipErrorInvalidValue;
    const auto [is, which] = all.captures.status(*stream);
    *status = is;
    if (number) *number = which;
    return hipSuccess;
  });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return call([&](Runtime&) {
    if (!mode || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed) return hipErrorInvalidValue;
    std::swap(*mode, thread_capture_mode());
    return hipSuccess;
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call([&](Runtime& all) { return all.graphs.remove(graph) ? hipSuccess : hipErrorInvalidValue; });
}

// Nodes are known by their place in the graph alone, and live as long as it.
hipError_t hipGraphGetNodes(hipGraph_t handle, hipGraphNode_t* nodes, size_t* count) {
  return device_call([&](Runtime& all) {
    const std::shared_ptr<const Graph> graph = all.graphs.find(handle);
    if (!graph || !count) return hipErrorInvalidValue;
    const std::size_t there = graph->nodes.size();
    for (std::size_t i = 0; nodes && i < *count; ++i)
      nodes[i] = i < there ? reinterpret_cast<hipGraphNode_t>(const_cast<Node*>(&graph->nodes[i])) : nullptr;
    *count = nodes ? std::min(*count, there) : there;
    return hipSuccess;
  });
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  return device_call([&](Runtime&) {
    if (!node || !type) return hipErrorInvalidValue;
    *type = reinterpret_cast<const Node*>(node)->type;
    return hipSuccess;
  });
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t handle, unsigned long long) {
  return device_call([&](Runtime& all) {
    std::shared_ptr<const Graph> graph = all.graphs.find(handle);
    if (!executable || !graph) return hipErrorInvalidValue;
    *executable = all.executable_graphs.add(std::move(graph));
    return hipSuccess;
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* failed, char* log,
                               size_t log_bytes) {
  if (failed) *failed = nullptr;
  if (log && log_bytes > 0) *log = '\0';
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return call(
      [&](Runtime& all) { return all.executable_graphs.remove(executable) ? hipSuccess : hipErrorInvalidValue; });
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t handle) {
  return stream_call(handle, [&](Runtime& all, const auto& stream) {
    const std::shared_ptr<const Graph> graph = all.executable_graphs.find(executable);
    if (!graph) return hipErrorInvalidValue;
    return all.submit(stream, hipGraphNodeTypeGraph, [graph] {
      for (const Node& node : graph->nodes) node.work();
    });
  });
}
