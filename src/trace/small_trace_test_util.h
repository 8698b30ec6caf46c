// Builds small traces for tests, call by call. Times are microseconds.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/byte_source.h"
#include "trace/reader/reader.h"

namespace assay::trace::testing {

class SmallTrace {
 public:
  struct Op {
    std::string_view name;
    int thread = 1;
    int start = 0;
    int duration = 0;
    int sequence = -1;
    std::string_view arguments = {};  // members of "args": "\"Input Dims\": [[2, 2]]"
  };

  void op(const Op& op) {
    std::string arguments(op.arguments);
    if (op.sequence >= 0)
      arguments +=
          fmt::format("{}\"Sequence number\": {}", arguments.empty() ? "" : ", ", op.sequence);
    add(fmt::format(R"("cat": "cpu_op", "name": "{}", "tid": {}, "ts": {}, "dur": {},
                       "args": {{{}}})",
                    op.name, op.thread, op.start, op.duration, arguments));
  }

  // Adds a call at `start` that launches a kernel, which runs 1000 us later.
  void launch(std::string_view kernel, int thread, int start, int kernel_duration) {
    launch_by("cudaLaunchKernel", kernel, thread, start, kernel_duration);
  }

  void launch_by(
      std::string_view call, std::string_view kernel, int thread, int start, int kernel_duration) {
    replay(call, thread, start, {{kernel, kernel_duration}});
  }

  struct Replayed {
    std::string_view kernel;
    int duration = 0;
    int device = 0;
  };

  // Adds a call that launches kernels, which run one after the other from 1000 us later on.
  void replay(std::string_view call, int thread, int start, const std::vector<Replayed>& kernels) {
    ++correlation_;
    add(fmt::format(R"("cat": "cuda_runtime", "name": "{}", "tid": {}, "ts": {}, "dur": 1,
                       "args": {{"correlation": {}}})",
                    call, thread, start, correlation_));
    flow("s", thread, start);
    int kernel_start = start + 1000;
    for (const Replayed& replayed : kernels) {
      add(fmt::format(R"("cat": "kernel", "name": "{}", "tid": 7, "ts": {}, "dur": {},
                         "args": {{"correlation": {}, "stream": 7, "device": {}}})",
                      replayed.kernel, kernel_start, replayed.duration, correlation_,
                      replayed.device));
      flow("f", 7, kernel_start);
      kernel_start += replayed.duration;
    }
  }

  // Adds a call that sets memory. ROCm draws no arrow from it to its GPU work.
  void set_memory(int thread, int start, int duration) {
    ++correlation_;
    add(fmt::format(R"("cat": "cuda_runtime", "name": "hipMemsetAsync", "tid": {}, "ts": {},
                       "dur": 1, "args": {{"correlation": {}}})",
                    thread, start, correlation_));
    add(fmt::format(R"("cat": "gpu_memset", "name": "Memset", "tid": 7, "ts": {},
                       "dur": {}, "args": {{"correlation": {}, "stream": 7, "device": 0}})",
                    start + 1000, duration, correlation_));
  }

  // Adds a call of a Python function: "nn.Module: Linear_0".
  void python(std::string_view function, int thread, int start, int duration) {
    add(fmt::format(R"("cat": "python_function", "name": "{}", "tid": {}, "ts": {}, "dur": {})",
                    function, thread, start, duration));
  }

  // Adds GPU work that no recorded call launched.
  void leaked_kernel(std::string_view kernel, int start, int duration) {
    add(fmt::format(R"("cat": "kernel", "name": "{}", "tid": 7, "ts": {}, "dur": {},
                       "args": {{"correlation": 999999, "stream": 7, "device": 0}})",
                    kernel, start, duration));
  }

  enum class Side { kCpu, kGpu };

  void annotation(std::string_view name, Side side, int start, int duration) {
    add(fmt::format(R"("cat": "{}", "name": "{}", "tid": 7, "ts": {}, "dur": {})",
                    side == Side::kCpu ? "user_annotation" : "gpu_user_annotation", name, start,
                    duration));
  }

  [[nodiscard]] std::string document(LaunchFlows flows = LaunchFlows::kSkip) const {
    return fmt::format(
        R"({{"deviceProperties": [{{"name": "NVIDIA H200"}}], "traceEvents": [{}]}})",
        events_ + (flows == LaunchFlows::kRead ? flows_ : ""));
  }

  [[nodiscard]] model::Trace read(LaunchFlows flows = LaunchFlows::kSkip,
                                  PythonCalls python = PythonCalls::kNamed) const {
    const std::string text = document(flows);
    core::MemorySource source(text, text.size());
    core::Result<model::Trace> trace =
        read_trace(source, "test.json", {}, kDefaultChunkBytes, {.flows = flows, .python = python});
    if (trace.ok()) return std::move(trace).value();
    ADD_FAILURE() << trace.error().message;
    return {};
  }

 private:
  void add(const std::string& members) {
    events_ += fmt::format(R"({}{{"ph": "X", "pid": 1, {}}})", events_.empty() ? "" : ",", members);
  }

  // An arrow has no number in the order of events that tests rely on: arrows stand behind those.
  void flow(std::string_view phase, int thread, int time) {
    flows_ += fmt::format(
        R"(,{{"ph": "{}", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": 1, "tid": {}, "ts": {}}})",
        phase, correlation_, thread, time);
  }

  std::string events_;
  std::string flows_;
  int correlation_ = 0;
};

}  // namespace assay::trace::testing
