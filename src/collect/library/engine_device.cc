#include "collect/library/engine_device.h"

#include <cstddef>
#include <string>
#include <utility>

#include "collect/worker/measure.h"
#include "core/shared_library.h"

namespace assay::collect {
namespace driver {
namespace {

// The few functions of CUDA's driver that timing needs, opened while the program runs. Names and
// signatures are those of NVIDIA's "CUDA Driver API" of CUDA 12 and 13; handles are pointers.
using Handle = void*;

struct Functions {
  int (*event_create)(Handle*, unsigned flags) = nullptr;
  int (*event_destroy)(Handle) = nullptr;
  int (*event_record)(Handle event, Handle stream) = nullptr;
  int (*event_elapsed_ms)(float*, Handle from, Handle to) = nullptr;
  int (*graph_create)(Handle*, unsigned flags) = nullptr;
  int (*graph_destroy)(Handle) = nullptr;
  int (*add_event)(Handle* node, Handle graph, const Handle*, std::size_t, Handle event) = nullptr;
  int (*add_child)(Handle* node, Handle graph, const Handle*, std::size_t, Handle child) = nullptr;
  int (*instantiate)(Handle*, Handle graph, unsigned long long flags) = nullptr;
  int (*launch)(Handle, Handle stream) = nullptr;
  int (*executable_destroy)(Handle) = nullptr;
  int (*stream_synchronize)(Handle) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
};

constexpr const char* kLibrary = "libcuda.so.1";

core::Result<Functions> open() {
  const auto opened = core::open_library({kLibrary});
  if (!opened.ok()) return opened.error().context("CUDA's driver");
  const core::SharedLibrary& library = opened.value();
  Functions made;
  const bool complete = library.bind("cuEventCreate", made.event_create) &&
                        library.bind("cuEventDestroy_v2", made.event_destroy) &&
                        library.bind("cuEventRecord", made.event_record) &&
                        library.bind("cuEventElapsedTime", made.event_elapsed_ms) &&
                        library.bind("cuGraphCreate", made.graph_create) &&
                        library.bind("cuGraphDestroy", made.graph_destroy) &&
                        library.bind("cuGraphAddEventRecordNode", made.add_event) &&
                        library.bind("cuGraphAddChildGraphNode", made.add_child) &&
                        library.bind("cuGraphInstantiateWithFlags", made.instantiate) &&
                        library.bind("cuGraphLaunch", made.launch) &&
                        library.bind("cuGraphExecDestroy", made.executable_destroy) &&
                        library.bind("cuStreamSynchronize", made.stream_synchronize) &&
                        library.bind("cuGetErrorName", made.error_name);
  if (!complete) return core::Error{std::string(kLibrary) + " is older than CUDA 11.4"};
  return made;
}

// Error: there is no driver, or it lacks a function.
core::Result<const Functions*> functions() {
  static const core::Result<Functions> opened = open();
  if (!opened.ok()) return opened.error();
  return &opened.value();
}

core::Status status(const Functions& cuda, int code, const char* doing) {
  if (code == 0) return {};
  const char* name = nullptr;
  cuda.error_name(code, &name);
  return core::Error{std::string(doing) + ": " + (name == nullptr ? std::to_string(code) : name)};
}

}  // namespace
}  // namespace driver

namespace {

using driver::Functions;
using driver::Handle;

class EngineWork final : public Work {
 public:
  EngineWork(const assay_measure_request& request, const Functions* cuda)
      : request_(request), cuda_(cuda) {}

  EngineWork(const EngineWork&) = delete;
  EngineWork& operator=(const EngineWork&) = delete;

  ~EngineWork() override {
    if (executable_ != nullptr) cuda_->executable_destroy(executable_);
  }

  core::Status launch() override {
    if (request_.cuda_graph != nullptr) return launch_graph();
    if (request_.launch(request_.context) == 0) return {};
    return core::Error{"the callback failed"};
  }

  [[nodiscard]] std::string kernel_source() const override { return "callback"; }

  core::Result<Accuracy> check() override { return Accuracy{}; }

 private:
  core::Status launch_graph() {
    if (executable_ == nullptr) {
      ASSAY_TRY(driver::status(*cuda_, cuda_->instantiate(&executable_, request_.cuda_graph, 0),
                               "instantiating the graph"));
    }
    return driver::status(*cuda_, cuda_->launch(executable_, request_.cuda_stream),
                          "launching the graph");
  }

  const assay_measure_request& request_;
  const Functions* cuda_;
  Handle executable_ = nullptr;
};

// Two events and the time between them.
class EventPair {
 public:
  explicit EventPair(const Functions& cuda) : cuda_(cuda) {}

  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;

  ~EventPair() {
    for (Handle event : {begin_, end_}) {
      if (event != nullptr) cuda_.event_destroy(event);
    }
  }

  core::Status create() {
    ASSAY_TRY(driver::status(cuda_, cuda_.event_create(&begin_, 0), "making an event"));
    return driver::status(cuda_, cuda_.event_create(&end_, 0), "making an event");
  }

  [[nodiscard]] Handle begin() const { return begin_; }

  [[nodiscard]] Handle end() const { return end_; }

  // The caller has waited for the stream.
  [[nodiscard]] core::Result<double> elapsed_ms() const {
    float elapsed = 0;
    ASSAY_TRY(
        driver::status(cuda_, cuda_.event_elapsed_ms(&elapsed, begin_, end_), "reading events"));
    return static_cast<double>(elapsed);
  }

 private:
  const Functions& cuda_;
  Handle begin_ = nullptr;
  Handle end_ = nullptr;
};

// Launches the work by the host, between two events.
class EagerStopwatch final : public Stopwatch {
 public:
  EagerStopwatch(Work& work, const Functions& cuda, Handle stream, std::int64_t launches)
      : work_(work), cuda_(cuda), stream_(stream), launches_(launches), events_(cuda) {}

  core::Status create() { return events_.create(); }

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    std::vector<double> times_ms;
    for (std::int64_t i = 0; i < count; ++i) {
      ASSAY_TRY(record(events_.begin()));
      for (std::int64_t launch = 0; launch < launches_; ++launch) {
        ASSAY_TRY(work_.launch());
      }
      ASSAY_TRY(record(events_.end()));
      ASSAY_TRY(driver::status(cuda_, cuda_.stream_synchronize(stream_), "waiting"));
      times_ms.push_back(ASSAY_TRY(events_.elapsed_ms()) / static_cast<double>(launches_));
    }
    return times_ms;
  }

 private:
  core::Status record(Handle event) {
    return driver::status(cuda_, cuda_.event_record(event, stream_), "recording an event");
  }

  Work& work_;
  const Functions& cuda_;
  Handle stream_;
  std::int64_t launches_;
  EventPair events_;
};

// A graph of an event, the launches and an event, so that the host has no part in the time.
class GraphStopwatch final : public Stopwatch {
 public:
  GraphStopwatch(const Functions& cuda, Handle stream, std::int64_t launches)
      : cuda_(cuda), stream_(stream), launches_(launches), events_(cuda) {}

  GraphStopwatch(const GraphStopwatch&) = delete;
  GraphStopwatch& operator=(const GraphStopwatch&) = delete;

  ~GraphStopwatch() override {
    if (executable_ != nullptr) cuda_.executable_destroy(executable_);
    if (graph_ != nullptr) cuda_.graph_destroy(graph_);
  }

  core::Status create(Handle child) {
    ASSAY_TRY(events_.create());
    ASSAY_TRY(driver::status(cuda_, cuda_.graph_create(&graph_, 0), "making a graph"));
    Handle last = nullptr;
    ASSAY_TRY(driver::status(cuda_, cuda_.add_event(&last, graph_, nullptr, 0, events_.begin()),
                             "adding an event to a graph"));
    for (std::int64_t i = 0; i < launches_; ++i) {
      Handle next = nullptr;
      ASSAY_TRY(driver::status(cuda_, cuda_.add_child(&next, graph_, &last, 1, child),
                               "adding the work to a graph"));
      last = next;
    }
    Handle end = nullptr;
    ASSAY_TRY(driver::status(cuda_, cuda_.add_event(&end, graph_, &last, 1, events_.end()),
                             "adding an event to a graph"));
    return driver::status(cuda_, cuda_.instantiate(&executable_, graph_, 0),
                          "instantiating a graph");
  }

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    std::vector<double> times_ms;
    for (std::int64_t i = 0; i < count; ++i) {
      ASSAY_TRY(driver::status(cuda_, cuda_.launch(executable_, stream_), "launching a graph"));
      ASSAY_TRY(driver::status(cuda_, cuda_.stream_synchronize(stream_), "waiting"));
      times_ms.push_back(ASSAY_TRY(events_.elapsed_ms()) / static_cast<double>(launches_));
    }
    return times_ms;
  }

 private:
  const Functions& cuda_;
  Handle stream_;
  std::int64_t launches_;
  EventPair events_;
  Handle graph_ = nullptr;
  Handle executable_ = nullptr;
};

class EngineDevice final : public Device {
 public:
  EngineDevice(const assay_measure_request& request, const Functions* cuda)
      : request_(request), cuda_(cuda) {}

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }

  core::Result<MadeWork> make(const KernelSpec& /*spec*/, model::L2State /*l2*/) override {
    return MadeWork(std::make_unique<EngineWork>(request_, cuda_));
  }

  core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& work,
                                                     const StopwatchRequest& request) override {
    const bool has_graph = request_.cuda_graph != nullptr;
    if (request.launch == model::Launch::kGraph && !has_graph) {
      return core::Error{"there is no graph to launch"};
    }
    const std::int64_t launches = request.launches_per_sample;
    if (cuda_ == nullptr) {
      return make_clock_stopwatch(work, launches);
    }
    if (has_graph) return made<GraphStopwatch>(request_.cuda_graph, *cuda_, stream(), launches);
    return made<EagerStopwatch>(work, *cuda_, stream(), launches);
  }

  core::Status finish() override {
    if (cuda_ == nullptr) return {};
    return driver::status(*cuda_, cuda_->stream_synchronize(stream()), "waiting");
  }

 private:
  template <class Kind, class... Arguments>
  static core::Result<std::unique_ptr<Stopwatch>> made(Handle child,
                                                       const Functions& cuda,
                                                       Arguments... arguments) {
    auto watch = std::make_unique<Kind>(cuda, arguments...);
    ASSAY_TRY(watch->create(child));
    return std::unique_ptr<Stopwatch>(std::move(watch));
  }

  template <class Kind, class... Arguments>
  static core::Result<std::unique_ptr<Stopwatch>> made(Work& work, Arguments&&... arguments) {
    auto watch = std::make_unique<Kind>(work, arguments...);
    ASSAY_TRY(watch->create());
    return std::unique_ptr<Stopwatch>(std::move(watch));
  }

  [[nodiscard]] Handle stream() const { return request_.cuda_stream; }

  const assay_measure_request& request_;
  const Functions* cuda_;
  DeviceFacts facts_;
};

}  // namespace

core::Result<std::unique_ptr<Device>> make_engine_device(const assay_measure_request& request) {
  const bool on_gpu = request.on_gpu != 0 || request.cuda_graph != nullptr;
  const Functions* cuda = on_gpu ? ASSAY_TRY(driver::functions()) : nullptr;
  return std::unique_ptr<Device>(std::make_unique<EngineDevice>(request, cuda));
}

}  // namespace assay::collect
