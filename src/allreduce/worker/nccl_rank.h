// One GPU's part of a sweep of NCCL's settings, in step with the other ranks, which are threads of
// the same process.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "allreduce/nccl_setting.h"
#include "allreduce/worker/nccl_data.h"
#include "core/result.h"

namespace assay::allreduce {

// The functions of NCCL that a sweep calls, found at run time.
struct NcclCalls {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;

  static core::Result<NcclCalls> load();
  [[nodiscard]] core::Status check(ncclResult_t result, const char* doing) const;
};

struct NcclRankOptions {
  int rank = 0;
  int world_size = 2;
  int device = 0;
  const NcclCalls* nccl = nullptr;
  ncclUniqueId id{};
  volatile unsigned* slots = nullptr;  // for align_ranks()
};

class NcclRank {
 public:
  // Collective.
  static core::Result<std::unique_ptr<NcclRank>> create(const NcclRankOptions& options);
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  ~NcclRank();

  // Makes room for the cell, fills its input and forgets the graphs of the last cell.
  core::Status prepare(const NcclCell& cell, std::uint64_t seed);
  // Runs one call and returns how many of its results are wrong.
  core::Result<std::uint64_t> check();
  // Captures `calls` calls as the graph of an arm, and runs it once.
  core::Status build(std::size_t arm, std::int64_t calls);
  // Returns the time of a call in microseconds: of the arm's graph, or launched one by one.
  core::Result<double> sample_graph(std::size_t arm, std::int64_t calls);
  core::Result<double> sample_eager(std::int64_t calls);
  // Returns how many results of the arm's graph are wrong.
  core::Result<std::uint64_t> check_graph(std::size_t arm);

 private:
  explicit NcclRank(const NcclRankOptions& options) : options_(options) {}

  core::Status start();
  core::Status grow(std::size_t bytes);
  void forget_graphs();
  core::Status call();
  core::Status time_calls(std::int64_t calls, unsigned event_flags);
  core::Result<double> elapsed_us(std::int64_t calls);
  core::Result<std::uint64_t> count_wrong();

  NcclRankOptions options_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  void* input_ = nullptr;
  void* output_ = nullptr;
  std::size_t bytes_ = 0;
  unsigned long long* wrong_ = nullptr;
  unsigned* round_ = nullptr;
  NcclProblem problem_;
  std::map<std::size_t, cudaGraphExec_t> graphs_;
};

}  // namespace assay::allreduce
