#include "allreduce/worker/rank.h"

#include <cstring>

#include "allreduce/worker/cuda_status.h"

namespace assay::allreduce {
namespace {

constexpr int kCheckRounds = 3;  // calls back to back, each on different data
constexpr int kCallsOfMix = 250;

core::Status library_status(assay_allreduce_status status, const char* doing) {
  if (status == ASSAY_ALLREDUCE_OK) return {};
  return core::Error{std::string(doing) + ": " + assay_allreduce_error()};
}

Problem problem_of(const Order& order, int rank, Values values, std::uint64_t round) {
  return {.cell = order.cell,
          .rank = rank,
          .seed = order.seed * kCheckRounds + round,
          .values = values,
          .variant = order.variant};
}

std::string wrong_text(const Cell& cell, const Findings& found, Values values) {
  const std::string data = values == Values::kSpecial ? " (with NaN, infinities and -0)" : "";
  if (found.canaries > 0) return "wrote behind the end of an output" + data;
  const auto hidden_size = static_cast<unsigned long long>(cell.hidden_size);
  return std::to_string(found.wrong) + " of " + std::to_string(cell.num_tokens * cell.hidden_size) +
         " values are wrong: " + kOutputNames[found.output] + " of token " +
         std::to_string(found.at / hidden_size) + ", element " +
         std::to_string(found.at % hidden_size) + " is " + std::to_string(found.value) + ", not " +
         std::to_string(found.expected) + data;
}

}  // namespace

core::Result<std::unique_ptr<Rank>> Rank::create(const RankOptions& options) {
  std::unique_ptr<Rank> rank(new Rank(options));
  const auto started = rank->start();
  if (!started.ok()) return started.error();
  return rank;
}

core::Status Rank::start() {
  ASSAY_TRY(cuda_status(cudaSetDevice(options_.device), "choosing the GPU"));
  ASSAY_TRY(cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
  ASSAY_TRY(cuda_status(cudaEventCreate(&begin_), "an event"));
  ASSAY_TRY(cuda_status(cudaEventCreate(&end_), "an event"));
  ASSAY_TRY(cuda_status(cudaMalloc(&findings_, sizeof(Findings)), "device memory"));
  ASSAY_TRY(cuda_status(cudaMallocHost(&found_, sizeof *found_), "memory of the host"));
  ASSAY_TRY(cuda_status(cudaMalloc(&turn_, sizeof *turn_), "device memory"));
  ASSAY_TRY(cuda_status(cudaMemset(turn_, 0, sizeof *turn_), "device memory"));
  ASSAY_TRY(cuda_status(cudaMalloc(&align_buffer_, 4096), "device memory"));
  ASSAY_TRY(cuda_status(cudaMemset(align_buffer_, 0, 4096), "device memory"));
  assay_allreduce_options ours{};
  ours.size = sizeof ours;
  ours.workspace_bytes = options_.workspace_bytes;
  ours.use_nccl = 1;
  ASSAY_TRY(library_status(
      assay_allreduce_create(options_.rank, options_.world_size, &ours, &comm_), "starting"));
  // The largest messages of a benchmark show what each strategy can do with enough memory.
  if (options_.workspace_bytes == 0)
    ASSAY_TRY(
        library_status(assay_allreduce_reserve(comm_, std::size_t{1} << 30U), "taking memory"));
  if (options_.table.empty()) return {};
  return library_status(assay_allreduce_load_table(comm_, options_.table.c_str()), "the table");
}

Rank::~Rank() {
  cudaSetDevice(options_.device);
  cudaDeviceSynchronize();
  for (const auto& [strategy, graph] : graphs_)
    cudaGraphExecDestroy(graph);
  if (mixed_ != nullptr) cudaGraphExecDestroy(mixed_);
  assay_allreduce_destroy(comm_);
  cudaFree(findings_);
  cudaFreeHost(found_);
  cudaFree(turn_);
  cudaFree(align_buffer_);
}

Answer Rank::carry_out(const Order& order, const unsigned char (*handles)[256]) {
  const auto answer = dispatch(order, handles);
  return answer.ok() ? answer.value() : Answer::error(answer.error().message);
}

core::Result<Answer> Rank::dispatch(const Order& order, const unsigned char (*handles)[256]) {
  Answer answer;
  switch (order.kind) {
    case Order::Kind::kExport: {
      assay_allreduce_handle handle;
      ASSAY_TRY(library_status(assay_allreduce_export(comm_, &handle), "sharing memory"));
      std::memcpy(answer.handle, handle.bytes, sizeof handle.bytes);
      return answer;
    }
    case Order::Kind::kConnect:
      ASSAY_TRY(library_status(
          assay_allreduce_connect(comm_, reinterpret_cast<const assay_allreduce_handle*>(handles)),
          "connecting"));
      return answer;
    case Order::Kind::kPrepare:
      return prepare(order);
    case Order::Kind::kCheck:
      return check(order);
    case Order::Kind::kBuild:
      return build(order);
    case Order::Kind::kSample:
      return sample(order);
    case Order::Kind::kVerify:
      return verify(order);
    case Order::Kind::kMix:
      return mix(order);
    case Order::Kind::kMixed:
      return run_mixed(order);
    case Order::Kind::kQuit:
      return answer;
  }
  return core::Error{"an order that this version does not know"};
}

// All ranks take their memory here, while no kernel runs: CUDA lets an allocation wait for kernels
// of other GPUs, which would then wait for this rank's. order.strategy determines the kinds of
// memory.
core::Result<Answer> Rank::prepare(const Order& order) {
  for (const auto& [strategy, graph] : graphs_)
    cudaGraphExecDestroy(graph);
  graphs_.clear();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSAY_TRY(cuda_status(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory"));
  const std::size_t used = total_bytes - free_bytes;
  const std::size_t needed = DeviceBuffers::bytes_for(order.cell, order.variant);
  const auto limit = order.memory_limit_bytes > 0
                         ? static_cast<std::size_t>(order.memory_limit_bytes)
                         : total_bytes;
  Answer answer;
  if (needed > limit || used > limit - needed) {
    answer.say(Answer::Kind::kUnsupported,
               "needs " + std::to_string(needed >> 20U) + " MiB of GPU memory beyond the " +
                   std::to_string(used >> 20U) + " in use, of " + std::to_string(limit >> 20U));
    return answer;
  }
  ASSAY_TRY(plain_.for_cell(order.cell, order.variant, comm_));
  if (order.strategy == Strategy::kNcclSymmetric)
    ASSAY_TRY(symmetric_.for_cell(order.cell, order.variant, comm_));
  if (options_.shares_gpu) ASSAY_TRY(rehearse(order));
  return answer;
}

// CUDA does here, while no rank waits for another, what it does once for each kernel.
core::Status Rank::rehearse(const Order& order) {
  const Buffers buffers = ASSAY_TRY(buffers_for(order));
  const Problem problem = problem_of(order, options_.rank, Values::kOrdinary, 0);
  ASSAY_TRY(cuda_status(fill(problem, buffers, stream_), "making data"));
  ASSAY_TRY(
      cuda_status(compare(problem, Summation::kFloat32, buffers, findings_, stream_), "checking"));
  const auto found = findings();
  return found.ok() ? core::Status{} : found.error();
}

// Work behind a call that waits can keep another rank's call from the GPU that they share.
core::Status Rank::finish_if_shared() {
  if (!options_.shares_gpu) return {};
  return cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU");
}

core::Result<Buffers> Rank::buffers_for(const Order& order) {
  DeviceBuffers& buffers = order.strategy == Strategy::kNcclSymmetric ? symmetric_ : plain_;
  return buffers.for_cell(order.cell, order.variant, comm_);
}

assay_allreduce_call Rank::call_for(const Order& order, const Buffers& buffers) const {
  assay_allreduce_call call{};
  call.size = sizeof call;
  call.strategy = static_cast<assay_allreduce_strategy>(order.strategy);
  call.fusion = static_cast<assay_allreduce_fusion>(order.cell.fusion);
  call.data_type = static_cast<assay_allreduce_data_type>(order.cell.data_type);
  call.num_tokens = order.cell.num_tokens;
  call.hidden_size = order.cell.hidden_size;
  call.input = buffers.input;
  call.output = buffers.output;
  call.residual_in = buffers.residual_in;
  call.residual_out = buffers.residual_out;
  call.gamma = buffers.gamma;
  call.epsilon = kEpsilon;
  call.scale = buffers.scale;
  call.quantized = buffers.quantized;
  call.scale_out = buffers.scale_out;
  call.operation = static_cast<int>(order.variant.operation);
  call.weight_bias = order.variant.weight_bias;
  call.scale_layout = static_cast<int>(order.variant.scale_layout);
  return call;
}

core::Status Rank::run(const Order& order, const Buffers& buffers) {
  const assay_allreduce_call call = call_for(order, buffers);
  return library_status(assay_allreduce_run(comm_, &call, stream_), "running");
}

core::Result<Findings> Rank::findings() {
  ASSAY_TRY(cuda_status(
      cudaMemcpyAsync(found_, findings_, sizeof *found_, cudaMemcpyDeviceToHost, stream_),
      "reading what was found"));
  ASSAY_TRY(cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU"));
  return *found_;
}

core::Result<Answer> Rank::check(const Order& order) {
  Answer answer;
  const Buffers buffers = ASSAY_TRY(buffers_for(order));
  const assay_allreduce_call call = call_for(order, buffers);
  const assay_allreduce_status supported = assay_allreduce_supports(comm_, &call);
  if (supported != ASSAY_ALLREDUCE_OK) {
    // This includes NVFP4 with a hidden size that is not a multiple of a group, which the library
    // calls invalid.
    answer.say(Answer::Kind::kUnsupported, assay_allreduce_error());
    return answer;
  }
  answer = ASSAY_TRY(check_values(order, Values::kSpecial));
  if (answer.kind != Answer::Kind::kOk) return answer;
  answer = ASSAY_TRY(check_values(order, Values::kOrdinary));
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSAY_TRY(cuda_status(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory"));
  answer.memory_bytes = static_cast<std::int64_t>(total_bytes - free_bytes);
  return answer;
}

core::Result<Answer> Rank::check_values(const Order& order, Values values) {
  const Buffers buffers = ASSAY_TRY(buffers_for(order));
  const Summation summation = spec_of(order.strategy).kernels == KernelsOf::kAssay
                                  ? Summation::kFloat32
                                  : Summation::kDataType;
  Answer answer;
  for (std::uint64_t round = 0; round < kCheckRounds; ++round) {
    const Problem problem = problem_of(order, options_.rank, values, round);
    ASSAY_TRY(cuda_status(fill(problem, buffers, stream_), "making data"));
    ASSAY_TRY(run(order, buffers));
    ASSAY_TRY(finish_if_shared());
    ASSAY_TRY(cuda_status(compare(problem, summation, buffers, findings_, stream_), "checking"));
    const Findings found = ASSAY_TRY(findings());
    answer.checksum = found.checksum + found.residual_checksum;
    answer.checksum_without_residual = found.checksum;
    if ((found.wrong > 0 || found.canaries > 0) && answer.kind == Answer::Kind::kOk)
      answer.say(Answer::Kind::kIncorrect, wrong_text(order.cell, found, values));
  }
  return answer;
}

// All ranks leave this point of their streams within about a microsecond of each other.
core::Status Rank::align() {
  Order order;
  order.strategy = Strategy::kOneshot;
  order.cell = {.world_size = options_.world_size};
  return run(order,
             Buffers{.input = align_buffer_, .output = static_cast<char*>(align_buffer_) + 1024});
}

core::Status Rank::time_calls(const Order& order, const Buffers& buffers, unsigned event_flags) {
  ASSAY_TRY(align());
  ASSAY_TRY(cuda_status(cudaEventRecordWithFlags(begin_, stream_, event_flags), "an event"));
  for (std::int64_t i = 0; i < order.calls; ++i)
    ASSAY_TRY(run(order, buffers));
  return cuda_status(cudaEventRecordWithFlags(end_, stream_, event_flags), "an event");
}

template <class Launch>
core::Result<cudaGraphExec_t> Rank::recorded(Launch launch) {
  ASSAY_TRY(cuda_status(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                        "beginning a graph"));
  const core::Status captured = launch();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
  if (!captured.ok()) return captured.error();  // where both failed, this is the cause
  ASSAY_TRY(cuda_status(ended, "ending a graph"));
  cudaGraphExec_t ready = nullptr;
  ASSAY_TRY(cuda_status(cudaGraphInstantiate(&ready, graph, 0), "making a graph ready"));
  cudaGraphDestroy(graph);
  return ready;
}

core::Result<Answer> Rank::build(const Order& order) {
  const Buffers buffers = ASSAY_TRY(buffers_for(order));
  if (order.launch == Launch::kEager) return Answer{};
  cudaGraphExec_t ready =
      ASSAY_TRY(recorded([&] { return time_calls(order, buffers, cudaEventRecordExternal); }));
  graphs_[order.strategy] = ready;
  ASSAY_TRY(cuda_status(cudaGraphUpload(ready, stream_), "making a graph ready"));
  ASSAY_TRY(cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU"));
  return Answer{};
}

core::Status Rank::launch_mixed(const std::vector<MixedCall>& calls, std::uint64_t seed) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Order order;
    order.cell = calls[i].cell;
    order.variant = calls[i].variant;
    order.strategy = calls[i].strategy;
    order.seed = seed + i;
    const Buffers buffers = ASSAY_TRY(buffers_for(order));
    const Problem problem = problem_of(order, options_.rank, Values::kOrdinary, 0);
    ASSAY_TRY(cuda_status(fill_in_turn(problem, buffers, turn_, stream_), "making data"));
    ASSAY_TRY(run(order, buffers));
    ASSAY_TRY(cuda_status(check_in_turn(problem, buffers, turn_, findings_, stream_), "checking"));
  }
  return cuda_status(next_turn(turn_, stream_), "counting turns");
}

// Takes all memory here, while no kernel runs (see prepare()).
core::Result<Answer> Rank::mix(const Order& order) {
  const std::vector<MixedCall> calls = mixed_calls(options_.world_size, order.seed, kCallsOfMix);
  for (const MixedCall& call : calls)
    ASSAY_TRY(plain_.for_cell(call.cell, call.variant, comm_));
  if (mixed_ != nullptr) cudaGraphExecDestroy(mixed_);
  mixed_ = ASSAY_TRY(recorded([&] { return launch_mixed(calls, order.seed); }));
  ASSAY_TRY(cuda_status(cudaGraphUpload(mixed_, stream_), "making a graph ready"));
  ASSAY_TRY(cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU"));
  return Answer{};
}

core::Result<Answer> Rank::run_mixed(const Order& order) {
  ASSAY_TRY(cuda_status(cudaMemsetAsync(findings_, 0, sizeof *findings_, stream_), "checking"));
  for (std::int64_t done = 0; done < order.calls; done += kCallsOfMix)
    ASSAY_TRY(cuda_status(cudaGraphLaunch(mixed_, stream_), "launching a graph"));
  const Findings found = ASSAY_TRY(findings());
  Answer answer;
  answer.checksum = found.checksum;
  if (found.wrong > 0)
    answer.say(Answer::Kind::kIncorrect,
               std::to_string(found.wrong) + " values are wrong: one of " +
                   kOutputNames[found.output] + " is " + std::to_string(found.value) + ", not " +
                   std::to_string(found.expected));
  return answer;
}

core::Result<Answer> Rank::sample(const Order& order) {
  const Buffers buffers = ASSAY_TRY(buffers_for(order));
  const auto graph = graphs_.find(order.strategy);
  if (graph != graphs_.end()) {
    ASSAY_TRY(cuda_status(cudaGraphLaunch(graph->second, stream_), "launching a graph"));
  } else {
    ASSAY_TRY(time_calls(order, buffers, cudaEventRecordDefault));
  }
  ASSAY_TRY(cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU"));
  float milliseconds = 0;
  ASSAY_TRY(cuda_status(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading the events"));
  Answer answer;
  answer.value = static_cast<double>(milliseconds) * 1e3 / static_cast<double>(order.calls);
  return answer;
}

core::Result<Answer> Rank::verify(const Order& order) {
  const Buffers buffers = ASSAY_TRY(buffers_for(order));
  // The timed calls of all strategies had the same data, so this strategy writes its outputs once
  // more.
  ASSAY_TRY(run(order, buffers));
  ASSAY_TRY(
      cuda_status(sum_up(order.cell, order.variant, buffers, findings_, stream_), "checking"));
  const Findings found = ASSAY_TRY(findings());
  Answer answer;
  answer.checksum = found.checksum + found.residual_checksum;
  if (found.canaries > 0) answer.say(Answer::Kind::kIncorrect, "wrote behind the end of an output");
  return answer;
}

}  // namespace assay::allreduce
