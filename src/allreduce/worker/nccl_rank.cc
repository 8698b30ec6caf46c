#include "allreduce/worker/nccl_rank.h"

#include <utility>

#include "allreduce/worker/cuda_status.h"
#include "core/shared_library.h"

namespace assay::allreduce {
namespace {

constexpr const char* kNcclName = "libnccl.so.2";

ncclDataType_t nccl_type_of(DataType type) {
  if (type == DataType::kFloat16) return ncclFloat16;
  return type == DataType::kFloat32 ? ncclFloat32 : ncclBfloat16;
}

}  // namespace

core::Result<NcclCalls> NcclCalls::load() {
  const core::SharedLibrary library = ASSAY_TRY(core::open_library({kNcclName}));
  NcclCalls calls;
  ASSAY_TRY(library.require("ncclGetVersion", calls.get_version));
  ASSAY_TRY(library.require("ncclGetUniqueId", calls.get_unique_id));
  ASSAY_TRY(library.require("ncclCommInitRank", calls.comm_init_rank));
  ASSAY_TRY(library.require("ncclCommDestroy", calls.comm_destroy));
  ASSAY_TRY(library.require("ncclGetErrorString", calls.get_error_string));
  ASSAY_TRY(library.require("ncclAllReduce", calls.all_reduce));
  ASSAY_TRY(library.require("ncclAllGather", calls.all_gather));
  ASSAY_TRY(library.require("ncclReduceScatter", calls.reduce_scatter));
  ASSAY_TRY(library.require("ncclBroadcast", calls.broadcast));
  return calls;
}

core::Status NcclCalls::check(ncclResult_t result, const char* doing) const {
  if (result == ncclSuccess) return {};
  return core::Error{std::string(doing) + ": " + get_error_string(result)};
}

core::Result<std::unique_ptr<NcclRank>> NcclRank::create(const NcclRankOptions& options) {
  std::unique_ptr<NcclRank> rank(new NcclRank(options));
  const auto started = rank->start();
  if (!started.ok()) return started.error();
  return rank;
}

core::Status NcclRank::start() {
  ASSAY_TRY(cuda_status(cudaSetDevice(options_.device), "choosing the GPU"));
  ASSAY_TRY(cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
  ASSAY_TRY(cuda_status(cudaEventCreate(&begin_), "an event"));
  ASSAY_TRY(cuda_status(cudaEventCreate(&end_), "an event"));
  ASSAY_TRY(cuda_status(cudaMalloc(&wrong_, sizeof *wrong_), "device memory"));
  ASSAY_TRY(cuda_status(cudaMalloc(&round_, sizeof *round_), "device memory"));
  ASSAY_TRY(cuda_status(cudaMemset(round_, 0, sizeof *round_), "device memory"));
  return options_.nccl->check(
      options_.nccl->comm_init_rank(&comm_, options_.world_size, options_.id, options_.rank),
      "ncclCommInitRank");
}

NcclRank::~NcclRank() {
  cudaSetDevice(options_.device);
  cudaDeviceSynchronize();
  forget_graphs();
  if (comm_ != nullptr) options_.nccl->comm_destroy(comm_);
  for (void* memory : {input_, output_, static_cast<void*>(wrong_), static_cast<void*>(round_)})
    cudaFree(memory);
}

void NcclRank::forget_graphs() {
  for (const auto& [arm, graph] : graphs_)
    cudaGraphExecDestroy(graph);
  graphs_.clear();
}

core::Status NcclRank::grow(std::size_t bytes) {
  if (bytes <= bytes_) return {};
  ASSAY_TRY(cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU"));
  cudaFree(input_);
  cudaFree(output_);
  input_ = output_ = nullptr;
  bytes_ = 0;
  ASSAY_TRY(cuda_status(cudaMalloc(&input_, bytes), "device memory"));
  ASSAY_TRY(cuda_status(cudaMalloc(&output_, bytes), "device memory"));
  bytes_ = bytes;
  return {};
}

core::Status NcclRank::prepare(const NcclCell& cell, std::uint64_t seed) {
  forget_graphs();
  const auto bytes = static_cast<std::size_t>(cell.size_bytes);
  ASSAY_TRY(grow(bytes));
  problem_ = {.collective = cell.collective,
              .rank = options_.rank,
              .world_size = options_.world_size,
              .elements = bytes / static_cast<std::size_t>(bytes_of(cell.data_type)),
              .seed = seed,
              .data_type = cell.data_type};
  return {};
}

core::Status NcclRank::call() {
  const NcclCalls& nccl = *options_.nccl;
  const std::size_t inputs = problem_.inputs();
  const ncclDataType_t type = nccl_type_of(problem_.data_type);
  switch (problem_.collective) {
    case NcclCollective::kAllReduce:
      return nccl.check(nccl.all_reduce(input_, output_, inputs, type, ncclSum, comm_, stream_),
                        "ncclAllReduce");
    case NcclCollective::kAllGather:
      return nccl.check(nccl.all_gather(input_, output_, inputs, type, comm_, stream_),
                        "ncclAllGather");
    case NcclCollective::kReduceScatter:
      return nccl.check(
          nccl.reduce_scatter(input_, output_, problem_.outputs(), type, ncclSum, comm_, stream_),
          "ncclReduceScatter");
    case NcclCollective::kBroadcast:
      return nccl.check(
          nccl.broadcast(input_, output_, inputs, type, kBroadcastRoot, comm_, stream_),
          "ncclBroadcast");
  }
  return core::Error{"an unknown collective"};
}

core::Result<std::uint64_t> NcclRank::count_wrong() {
  ASSAY_TRY(cuda_status(cudaMemsetAsync(wrong_, 0, sizeof *wrong_, stream_), "checking"));
  ASSAY_TRY(cuda_status(compare_nccl(problem_, output_, wrong_, stream_), "checking"));
  unsigned long long wrong = 0;
  ASSAY_TRY(cuda_status(
      cudaMemcpyAsync(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost, stream_), "checking"));
  ASSAY_TRY(cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU"));
  return std::uint64_t{wrong};
}

// The ranks align before the call, so that none covers its output with the pattern while another's
// call already writes into it.
core::Result<std::uint64_t> NcclRank::check() {
  ASSAY_TRY(cuda_status(fill_nccl(problem_, input_, output_, stream_), "making data"));
  ASSAY_TRY(
      cuda_status(align_ranks(options_.slots, round_, options_.rank, options_.world_size, stream_),
                  "aligning the ranks"));
  ASSAY_TRY(call());
  return count_wrong();
}

core::Status NcclRank::time_calls(std::int64_t calls, unsigned event_flags) {
  ASSAY_TRY(
      cuda_status(align_ranks(options_.slots, round_, options_.rank, options_.world_size, stream_),
                  "aligning the ranks"));
  ASSAY_TRY(cuda_status(cudaEventRecordWithFlags(begin_, stream_, event_flags), "an event"));
  for (std::int64_t i = 0; i < calls; ++i)
    ASSAY_TRY(call());
  return cuda_status(cudaEventRecordWithFlags(end_, stream_, event_flags), "an event");
}

core::Status NcclRank::build(std::size_t arm, std::int64_t calls) {
  ASSAY_TRY(cuda_status(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                        "beginning a graph"));
  const core::Status captured = time_calls(calls, cudaEventRecordExternal);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  if (!captured.ok()) return captured.error();  // where both failed, this is the cause
  ASSAY_TRY(cuda_status(ended, "ending a graph"));
  cudaGraphExec_t ready = nullptr;
  ASSAY_TRY(cuda_status(cudaGraphInstantiate(&ready, graph, 0), "making a graph ready"));
  cudaGraphDestroy(graph);
  graphs_[arm] = ready;
  ASSAY_TRY(cuda_status(cudaGraphUpload(ready, stream_), "making a graph ready"));
  return cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU");
}

core::Result<double> NcclRank::elapsed_us(std::int64_t calls) {
  ASSAY_TRY(cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU"));
  float milliseconds = 0;
  ASSAY_TRY(cuda_status(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading the events"));
  return static_cast<double>(milliseconds) * 1e3 / static_cast<double>(calls);
}

core::Result<double> NcclRank::sample_graph(std::size_t arm, std::int64_t calls) {
  ASSAY_TRY(cuda_status(cudaGraphLaunch(graphs_.at(arm), stream_), "launching a graph"));
  return elapsed_us(calls);
}

core::Result<double> NcclRank::sample_eager(std::int64_t calls) {
  ASSAY_TRY(time_calls(calls, cudaEventRecordDefault));
  return elapsed_us(calls);
}

core::Result<std::uint64_t> NcclRank::check_graph(std::size_t arm) {
  ASSAY_TRY(cuda_status(fill_nccl(problem_, input_, output_, stream_), "making data"));
  ASSAY_TRY(cuda_status(cudaGraphLaunch(graphs_.at(arm), stream_), "launching a graph"));
  return count_wrong();
}

}  // namespace assay::allreduce
