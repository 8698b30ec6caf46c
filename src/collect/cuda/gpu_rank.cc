#include "collect/cuda/gpu_rank.h"

#include <assay/allreduce.h>
#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/nccl.h"
#include "collect/cuda/test_data.h"
#include "collect/cuda/work.h"
#include "collect/kernels/collective_pattern.h"
#include "core/statistics.h"

namespace assay::collect {
namespace {

using model::NcclFunction;

constexpr std::int64_t kMostNodesOfSamples = 64;  // in a graph of several samples
constexpr std::int64_t kTries = 10;               // launches in a sample when strategies are tried
constexpr std::int64_t kTrySamples = 9;

struct OwnStrategy {
  assay_allreduce_strategy number;
  const char* kernel_source;
};

// The strategies of `custom_allreduce`, of which the fastest is measured.
constexpr std::array kStrategies = {OwnStrategy{ASSAY_ALLREDUCE_ONESHOT, "assay_oneshot"},
                                    OwnStrategy{ASSAY_ALLREDUCE_TWOSHOT_PUSH, "assay_twoshot_push"},
                                    OwnStrategy{ASSAY_ALLREDUCE_TWOSHOT, "assay_twoshot"}};

constexpr std::int64_t kSamplesAtOnce = 10;  // a measurement takes at least so many

std::optional<ncclDataType_t> nccl_type(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return ncclFloat32;
    case DataType::kFloat16:
      return ncclFloat16;
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kInt8:
      return ncclInt8;
    default:
      return std::nullopt;
  }
}

std::optional<assay_allreduce_data_type> own_type(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return ASSAY_ALLREDUCE_FLOAT32;
    case DataType::kFloat16:
      return ASSAY_ALLREDUCE_FLOAT16;
    case DataType::kBfloat16:
      return ASSAY_ALLREDUCE_BFLOAT16;
    default:
      return std::nullopt;
  }
}

core::Status own_status(assay_allreduce_status status) {
  if (status == ASSAY_ALLREDUCE_OK) return {};
  return core::Error{assay_allreduce_error()};
}

// Device memory that only grows, so that no memory is taken while ranks wait for each other.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  ~Memory() { cudaFree(data_); }

  core::Result<void*> at_least(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    cudaFree(std::exchange(data_, nullptr));
    bytes_ = 0;
    ASSAY_TRY(cuda_status(cudaMalloc(&data_, bytes), "taking memory for a collective"));
    bytes_ = bytes;
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class GpuRank final : public TeamRank {
 public:
  GpuRank(const GpuRankOptions& options, RankMeeting meeting)
      : options_(options), meeting_(std::move(meeting)) {}

  GpuRank(const GpuRank&) = delete;
  GpuRank& operator=(const GpuRank&) = delete;

  // Communicators stay until the process ends, because destroying them needs all ranks.
  ~GpuRank() override = default;

  core::Result<std::optional<Unsupported>> make(const CollectiveSpec& spec) override {
    spec_ = spec;
    if (!nccl_functions().ok()) {
      return std::optional(Unsupported{nccl_functions().error().message});
    }
    if (!nccl_type(spec.type)) {
      return std::optional(Unsupported{"NCCL has no sums of this type"});
    }
    if (has_parts(spec) && spec.elements % spec.ranks != 0) {
      return std::optional(Unsupported{
          fmt::format("{} elements cannot be shared by {} ranks", spec.elements, spec.ranks)});
    }
    ASSAY_TRY(start());
    ASSAY_TRY(join());
    if (spec.provider == CollectiveProvider::kStrategies) {
      if (std::optional<Unsupported> reason = ASSAY_TRY(prepare_own())) return reason;
    }
    const auto bytes = static_cast<std::size_t>(bytes_of(spec.type));
    in_ = ASSAY_TRY(in_memory_.at_least(static_cast<std::size_t>(elements_in(spec)) * bytes));
    out_ = ASSAY_TRY(out_memory_.at_least(static_cast<std::size_t>(elements_out(spec)) * bytes));
    ASSAY_TRY(cuda_status(fill_collective(in_, spec, options_.rank, stream_), "filling a buffer"));
    ASSAY_TRY(finish());
    return std::optional<Unsupported>();
  }

  core::Status launch() override {
    if (spec_.provider == CollectiveProvider::kStrategies) {
      return own_status(assay_allreduce_run(own_.at(spec_.ranks), &call_, stream_));
    }
    switch (spec_.function) {
      case NcclFunction::kAllToAll:
        return exchange_parts();
      case NcclFunction::kSendRecv:
        return shift();
      default:
        return nccl_status(collective(), "a collective of NCCL");
    }
  }

  core::Status finish() override {
    return cuda_status(cudaStreamSynchronize(stream_), "waiting for a collective");
  }

  core::Result<Accuracy> check() override {
    const auto bytes = static_cast<std::size_t>(bytes_of(spec_.type));
    ASSAY_TRY(cuda_status(
        cudaMemsetAsync(out_, 0x7F, static_cast<std::size_t>(elements_out(spec_)) * bytes, stream_),
        "spoiling a buffer"));
    ASSAY_TRY(launch());
    ASSAY_TRY(cuda_status(compare_collective(out_, spec_, options_.rank, findings_, stream_),
                          "comparing"));
    CollectiveFindings found{};
    ASSAY_TRY(cuda_status(
        cudaMemcpyAsync(&found, findings_, sizeof(found), cudaMemcpyDeviceToHost, stream_),
        "reading what was found"));
    ASSAY_TRY(finish());
    Accuracy accuracy;
    accuracy.compared = elements_out(spec_);
    if (found.wrong == 0) return accuracy;
    accuracy.worst = std::numeric_limits<float>::max();
    const auto at = static_cast<std::int64_t>(found.at);
    accuracy.where = fmt::format("output[{}] is {}, should be {}; {} are wrong", at, found.value,
                                 pattern_expected(spec_, options_.rank, at), found.wrong);
    return accuracy;
  }

  core::Status watch(const StopwatchRequest& request) override {
    forget_graph();
    launches_ = request.launches_per_sample;
    // NCCL connects ranks at its first call, which a graph cannot capture.
    ASSAY_TRY(align());
    ASSAY_TRY(launch());
    ASSAY_TRY(finish());
    samples_at_once_ =
        std::clamp<std::int64_t>(kMostNodesOfSamples / (launches_ + 2), 1, kSamplesAtOnce);
    ASSAY_TRY(events_.create(2 * samples_at_once_));
    if (request.launch == model::Launch::kEager) return {};
    return capture();
  }

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    std::vector<double> times_ms;
    while (static_cast<std::int64_t>(times_ms.size()) < count) {
      if (graph_ != nullptr) {
        ASSAY_TRY(cuda_status(cudaGraphLaunch(graph_, stream_), "launching a graph"));
      } else {
        ASSAY_TRY(enqueue_samples(cudaEventRecordDefault));
      }
      ASSAY_TRY(finish());
      const std::int64_t missing = count - static_cast<std::int64_t>(times_ms.size());
      for (std::int64_t i = 0; i < std::min(missing, samples_at_once_); ++i) {
        const double elapsed_ms = ASSAY_TRY(events_.between(2 * i, 2 * i + 1));
        times_ms.push_back(elapsed_ms / static_cast<double>(launches_));
      }
    }
    return times_ms;
  }

  void forget() override { forget_graph(); }

  [[nodiscard]] std::string kernel_source(const CollectiveSpec& spec) const override {
    return spec.provider == CollectiveProvider::kStrategies ? strategy_.kernel_source : "NCCL";
  }

  [[nodiscard]] bool is_lost() const override {
    // A context that has failed once fails at every further call.
    return cudaFree(nullptr) != cudaSuccess;
  }

 private:
  core::Status start() {
    ASSAY_TRY(cuda_status(cudaSetDevice(options_.device), "choosing a GPU"));
    if (stream_ != nullptr) return {};
    ASSAY_TRY(cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    ASSAY_TRY(cuda_status(cudaMalloc(&findings_, sizeof(*findings_)), "taking memory"));
    ASSAY_TRY(cuda_status(cudaMalloc(&align_buffer_, sizeof(float)), "taking memory"));
    return cuda_status(cudaMemset(align_buffer_, 0, sizeof(float)), "clearing memory");
  }

  // Creates the communicator of spec_.ranks ranks at the first call.
  core::Status join() {
    if (comms_.count(spec_.ranks) != 0) return {};
    const ncclUniqueId id = ASSAY_TRY(meeting_.unique_id(spec_.ranks));
    ncclComm_t made = nullptr;
    ASSAY_TRY(nccl_status(nccl_functions().value().init_rank(&made, spec_.ranks, id, options_.rank),
                          "joining the other ranks"));
    comms_[spec_.ranks] = made;
    return {};
  }

  core::Result<std::optional<Unsupported>> prepare_own() {
    const auto type = own_type(spec_.type);
    if (!type) return std::optional(Unsupported{"assay's all-reduce has no such type"});
    if (spec_.ranks > ASSAY_ALLREDUCE_MAX_RANKS) {
      return std::optional(Unsupported{"assay's all-reduce joins 8 ranks at most"});
    }
    ASSAY_TRY(join_own());
    constexpr std::int64_t kRow = 4096;  // elements in a row, as in the public collector
    call_ = {};
    call_.size = sizeof(call_);
    call_.data_type = *type;
    call_.num_tokens = std::max<std::int64_t>(spec_.elements / kRow, 1);
    call_.hidden_size = std::min(spec_.elements, kRow);
    const auto bytes = static_cast<std::size_t>(spec_.elements * bytes_of(spec_.type));
    call_.input = ASSAY_TRY(in_memory_.at_least(bytes));
    call_.output = ASSAY_TRY(out_memory_.at_least(bytes));
    return choose_strategy();
  }

  // Tries all strategies at this size and returns the fastest. All ranks see all times, so that
  // they choose the same.
  core::Result<std::optional<Unsupported>> choose_strategy() {
    std::optional<double> least_ms;
    for (const OwnStrategy& strategy : kStrategies) {
      call_.strategy = strategy.number;
      if (assay_allreduce_supports(own_.at(spec_.ranks), &call_) != ASSAY_ALLREDUCE_OK) continue;
      const double time_ms = ASSAY_TRY(slowest(ASSAY_TRY(try_out())));
      if (least_ms && time_ms >= *least_ms) continue;
      least_ms = time_ms;
      strategy_ = strategy;
    }
    if (!least_ms) return std::optional(Unsupported{assay_allreduce_error()});
    call_.strategy = strategy_.number;
    return std::optional<Unsupported>();
  }

  // Uses a graph, like the later measurement. With separate launches the host would be slower than
  // a small all-reduce.
  core::Result<double> try_out() {
    ASSAY_TRY(watch({.launches_per_sample = kTries}));
    const std::vector<double> times_ms = ASSAY_TRY(sample(kTrySamples));
    forget_graph();
    return core::median(times_ms);
  }

  core::Result<double> slowest(double own_ms) {
    std::vector<unsigned char> own(sizeof(own_ms));
    std::memcpy(own.data(), &own_ms, sizeof(own_ms));
    const std::vector<unsigned char> all =
        ASSAY_TRY(meeting_.exchange(options_.rank, spec_.ranks, own));
    double most_ms = 0;
    for (std::size_t at = 0; at < all.size(); at += sizeof(own_ms)) {
      double time_ms = 0;
      std::memcpy(&time_ms, &all[at], sizeof(time_ms));
      most_ms = std::max(most_ms, time_ms);
    }
    return most_ms;
  }

  core::Status join_own() {
    if (own_.count(spec_.ranks) != 0) return {};
    assay_allreduce_comm* comm = nullptr;
    ASSAY_TRY(own_status(assay_allreduce_create(options_.rank, spec_.ranks, nullptr, &comm)));
    ASSAY_TRY(own_status(assay_allreduce_reserve(comm, std::size_t{1} << 30U)));
    assay_allreduce_handle mine;
    ASSAY_TRY(own_status(assay_allreduce_export(comm, &mine)));
    const std::vector<unsigned char> own(mine.bytes, mine.bytes + sizeof(mine.bytes));
    const std::vector<unsigned char> all =
        ASSAY_TRY(meeting_.exchange(options_.rank, spec_.ranks, own));
    std::vector<assay_allreduce_handle> handles(static_cast<std::size_t>(spec_.ranks));
    std::memcpy(handles.data(), all.data(), all.size());
    ASSAY_TRY(own_status(assay_allreduce_connect(comm, handles.data())));
    own_[spec_.ranks] = comm;
    return {};
  }

  [[nodiscard]] ncclComm_t comm() const { return comms_.at(spec_.ranks); }

  ncclResult_t collective() {
    const NcclFunctions& nccl = nccl_functions().value();
    const ncclDataType_t type = *nccl_type(spec_.type);
    const auto whole = static_cast<std::size_t>(spec_.elements);
    const auto part = static_cast<std::size_t>(part_of(spec_));
    switch (spec_.function) {
      case NcclFunction::kAllGather:
        return nccl.all_gather(in_, out_, part, type, comm(), stream_);
      case NcclFunction::kReduceScatter:
        return nccl.reduce_scatter(in_, out_, part, type, ncclSum, comm(), stream_);
      default:
        return nccl.all_reduce(in_, out_, whole, type, ncclSum, comm(), stream_);
    }
  }

  // Enqueues one group with a send to every rank and a receive from every rank.
  core::Status exchange_parts() {
    const NcclFunctions& nccl = nccl_functions().value();
    const ncclDataType_t type = *nccl_type(spec_.type);
    const auto part = static_cast<std::size_t>(part_of(spec_));
    const std::size_t bytes = part * static_cast<std::size_t>(bytes_of(spec_.type));
    ASSAY_TRY(nccl_status(nccl.group_start(), "beginning a group"));
    for (int peer = 0; peer < spec_.ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * bytes;
      ASSAY_TRY(nccl_status(
          nccl.send(static_cast<char*>(in_) + at, part, type, peer, comm(), stream_), "a send"));
      ASSAY_TRY(nccl_status(
          nccl.receive(static_cast<char*>(out_) + at, part, type, peer, comm(), stream_),
          "a receive"));
    }
    return nccl_status(nccl.group_end(), "an all-to-all");
  }

  core::Status shift() {
    const NcclFunctions& nccl = nccl_functions().value();
    const ncclDataType_t type = *nccl_type(spec_.type);
    const auto whole = static_cast<std::size_t>(spec_.elements);
    const int next = (options_.rank + 1) % spec_.ranks;
    const int previous = (options_.rank + spec_.ranks - 1) % spec_.ranks;
    ASSAY_TRY(nccl_status(nccl.group_start(), "beginning a group"));
    ASSAY_TRY(nccl_status(nccl.send(in_, whole, type, next, comm(), stream_), "a send"));
    ASSAY_TRY(nccl_status(nccl.receive(out_, whole, type, previous, comm(), stream_), "a receive"));
    return nccl_status(nccl.group_end(), "a send and a receive");
  }

  // After this, all ranks continue within a few microseconds.
  core::Status align() {
    return nccl_status(nccl_functions().value().all_reduce(align_buffer_, align_buffer_, 1,
                                                           ncclFloat32, ncclSum, comm(), stream_),
                       "aligning the ranks");
  }

  core::Status enqueue_samples(unsigned event_flags) {
    for (std::int64_t i = 0; i < samples_at_once_; ++i) {
      ASSAY_TRY(align());
      ASSAY_TRY(events_.record(2 * i, stream_, event_flags));
      for (std::int64_t launch = 0; launch < launches_; ++launch) {
        ASSAY_TRY(this->launch());
      }
      ASSAY_TRY(events_.record(2 * i + 1, stream_, event_flags));
    }
    return {};
  }

  core::Status capture() {
    ASSAY_TRY(cuda_status(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                          "beginning a graph"));
    const core::Status enqueued = enqueue_samples(cudaEventRecordExternal);
    cudaGraph_t graph = nullptr;
    const core::Status ended = cuda_status(cudaStreamEndCapture(stream_, &graph), "ending a graph");
    if (!enqueued.ok() || !ended.ok()) {
      if (graph != nullptr) cudaGraphDestroy(graph);
      return enqueued.ok() ? ended : enqueued;
    }
    const core::Status ready =
        cuda_status(cudaGraphInstantiate(&graph_, graph, 0), "making a graph ready");
    cudaGraphDestroy(graph);
    ASSAY_TRY(ready);
    return cuda_status(cudaGraphUpload(graph_, stream_), "making a graph ready");
  }

  void forget_graph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(std::exchange(graph_, nullptr));
  }

  GpuRankOptions options_;
  RankMeeting meeting_;
  CollectiveSpec spec_;
  cudaStream_t stream_ = nullptr;
  std::map<int, ncclComm_t> comms_;  // keyed by number of ranks
  std::map<int, assay_allreduce_comm*> own_;
  assay_allreduce_call call_ = {};
  OwnStrategy strategy_{ASSAY_ALLREDUCE_NCCL, "nccl"};
  Memory in_memory_;
  Memory out_memory_;
  void* in_ = nullptr;
  void* out_ = nullptr;
  CollectiveFindings* findings_ = nullptr;
  void* align_buffer_ = nullptr;
  std::int64_t launches_ = 1;
  std::int64_t samples_at_once_ = 1;
  Events events_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<TeamRank> make_gpu_rank(const GpuRankOptions& options, RankMeeting meeting) {
  return std::make_unique<GpuRank>(options, std::move(meeting));
}

}  // namespace assay::collect
