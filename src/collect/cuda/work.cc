#include "collect/cuda/work.h"

#include <algorithm>
#include <functional>

#include "collect/cuda/cuda_status.h"

namespace assay::collect {
namespace {

// A graph of several samples has at most this many nodes. More would only take longer to prepare,
// about 1 us for each node.
constexpr std::int64_t kMostGraphNodes = 64;

core::Result<cudaGraph_t> captured(cudaStream_t stream,
                                   const std::function<core::Status()>& enqueue) {
  ASSAY_TRY(cuda_status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                        "beginning a graph"));
  const core::Status enqueued = enqueue();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (enqueued.ok() && ended == cudaSuccess) return graph;
  cudaGetLastError();
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (!enqueued.ok()) return enqueued.error();  // if both failed, this is the cause
  return core::Error{std::string("ending a graph: ") + cudaGetErrorString(ended)};
}

core::Result<cudaGraphExec_t> ready_graph(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t ready = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  ASSAY_TRY(cuda_status(made, "making a graph ready"));
  const cudaError_t uploaded = cudaGraphUpload(ready, stream);
  if (uploaded == cudaSuccess) return ready;
  cudaGraphExecDestroy(ready);
  return cuda_status(uploaded, "making a graph ready").error();
}

}  // namespace

core::Status CudaWork::launch() {
  const std::int64_t copy = next_copy_;
  next_copy_ = (next_copy_ + 1) % copies();
  return launch_with(copy);
}

core::Result<Accuracy> CudaWork::check() {
  ASSAY_TRY(spoil());
  rewind();
  ASSAY_TRY(launch());
  ASSAY_TRY(gpu_.wait());
  return compare();
}

core::Status CudaWork::prepare_l2() {
  if (!needs_flush()) return {};
  ASSAY_TRY(gpu_.flush_l2());
  if (l2_ == model::L2State::kEngine) ASSAY_TRY(launch_copy(copies() - 1));
  return {};
}

core::Result<std::unique_ptr<Stopwatch>> CudaWork::stopwatch(const StopwatchRequest& request) {
  if (request.launch == model::Launch::kEager) return EagerStopwatch::create(*this, request);
  return GraphStopwatch::create(*this, request);
}

Events::~Events() {
  for (cudaEvent_t event : events_)
    cudaEventDestroy(event);
}

core::Status Events::create(std::int64_t count) {
  while (static_cast<std::int64_t>(events_.size()) < count) {
    cudaEvent_t event = nullptr;
    ASSAY_TRY(cuda_status(cudaEventCreate(&event), "an event"));
    events_.push_back(event);
  }
  return {};
}

core::Status Events::record(std::int64_t index, cudaStream_t stream, unsigned flags) {
  return cuda_status(
      cudaEventRecordWithFlags(events_[static_cast<std::size_t>(index)], stream, flags),
      "recording an event");
}

core::Result<double> Events::between(std::int64_t begin, std::int64_t end) {
  float milliseconds = 0;
  ASSAY_TRY(
      cuda_status(cudaEventElapsedTime(&milliseconds, events_[static_cast<std::size_t>(begin)],
                                       events_[static_cast<std::size_t>(end)]),
                  "reading events"));
  return static_cast<double>(milliseconds);
}

core::Result<std::unique_ptr<Stopwatch>> GraphStopwatch::create(CudaWork& work,
                                                                const StopwatchRequest& request) {
  // The first launch loads code, which a graph cannot capture.
  if (!work.was_launched()) ASSAY_TRY(work.launch());
  ASSAY_TRY(work.gpu().wait());
  cudaGraph_t trial = ASSAY_TRY(captured(work.gpu().stream(), [&work] { return work.launch(); }));
  cudaGraphDestroy(trial);
  return std::unique_ptr<Stopwatch>(new GraphStopwatch(work, request.launches_per_sample));
}

GraphStopwatch::~GraphStopwatch() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
}

core::Status GraphStopwatch::build(std::int64_t samples) {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  graph_ = nullptr;
  const cudaStream_t stream = work_.gpu().stream();
  events_ = std::make_unique<Events>();
  ASSAY_TRY(events_->create(samples + 1));
  work_.rewind();
  const auto enqueue = [&]() -> core::Status {
    ASSAY_TRY(events_->record(0, stream, cudaEventRecordExternal));
    for (std::int64_t i = 0; i < samples; ++i) {
      for (std::int64_t launch = 0; launch < launches_; ++launch)
        ASSAY_TRY(work_.launch());
      ASSAY_TRY(events_->record(i + 1, stream, cudaEventRecordExternal));
    }
    return {};
  };
  graph_ = ASSAY_TRY(ready_graph(ASSAY_TRY(captured(stream, enqueue)), stream));
  samples_in_graph_ = samples;
  return {};
}

// Each launch of a graph reads the same copies, which may all fit into the cache.
core::Status GraphStopwatch::replay() {
  ASSAY_TRY(work_.prepare_l2());
  ASSAY_TRY(cuda_status(cudaGraphLaunch(graph_, work_.gpu().stream()), "launching a graph"));
  return work_.gpu().wait();
}

core::Result<std::vector<double>> GraphStopwatch::sample(std::int64_t count) {
  const std::int64_t most = std::max<std::int64_t>(kMostGraphNodes / (launches_ + 1), 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(count, 1, most);
  // Between the samples of a graph nothing needs to be prepared.
  if (samples_in_graph_ < wanted) ASSAY_TRY(build(wanted));
  std::vector<double> times_ms;
  while (static_cast<std::int64_t>(times_ms.size()) < count) {
    ASSAY_TRY(replay());
    const std::int64_t missing = count - static_cast<std::int64_t>(times_ms.size());
    for (std::int64_t i = 0; i < std::min(missing, samples_in_graph_); ++i) {
      const double elapsed_ms = ASSAY_TRY(events_->between(i, i + 1));
      times_ms.push_back(elapsed_ms / static_cast<double>(launches_));
    }
  }
  return times_ms;
}

core::Result<std::unique_ptr<Stopwatch>> EagerStopwatch::create(CudaWork& work,
                                                                const StopwatchRequest& request) {
  std::unique_ptr<EagerStopwatch> watch(new EagerStopwatch(work, request.launches_per_sample));
  ASSAY_TRY(watch->events_.create(2));
  return std::unique_ptr<Stopwatch>(std::move(watch));
}

core::Result<std::vector<double>> EagerStopwatch::sample(std::int64_t count) {
  std::vector<double> times_ms;
  const cudaStream_t stream = work_.gpu().stream();
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == 0) ASSAY_TRY(work_.prepare_l2());
    ASSAY_TRY(events_.record(0, stream, cudaEventRecordDefault));
    for (std::int64_t launch = 0; launch < launches_; ++launch)
      ASSAY_TRY(work_.launch());
    ASSAY_TRY(events_.record(1, stream, cudaEventRecordDefault));
    ASSAY_TRY(work_.gpu().wait());
    const double elapsed_ms = ASSAY_TRY(events_.between(0, 1));
    times_ms.push_back(elapsed_ms / static_cast<double>(launches_));
  }
  return times_ms;
}

}  // namespace assay::collect
