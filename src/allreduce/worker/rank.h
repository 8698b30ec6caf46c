// One GPU's part of the benchmark: carries out orders, in step with the other ranks.
#pragma once

#include <assay/allreduce.h>
#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <string>

#include "allreduce/worker/device_buffers.h"
#include "allreduce/worker/reference.h"
#include "allreduce/worker/stress.h"
#include "allreduce/worker/team.h"
#include "core/result.h"

namespace assay::allreduce {

struct RankOptions {
  int rank = 0;
  int world_size = 2;
  int device = 0;
  std::string table = {};           // a JSON file for AUTO; may be empty
  std::size_t workspace_bytes = 0;  // 0: the library's default
  bool shares_gpu = false;          // with other ranks of this process
};

class Rank {
 public:
  static core::Result<std::unique_ptr<Rank>> create(const RankOptions& options);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank();

  // Reports every failure in its answer.
  Answer carry_out(const Order& order, const unsigned char (*handles)[256]);

  [[nodiscard]] int nccl_version() const { return assay_allreduce_nccl_version(comm_); }

 private:
  explicit Rank(const RankOptions& options) : options_(options) {}

  core::Status start();
  core::Result<Answer> dispatch(const Order& order, const unsigned char (*handles)[256]);
  core::Result<Answer> prepare(const Order& order);
  core::Result<Answer> check(const Order& order);
  core::Result<Answer> check_values(const Order& order, Values values);
  core::Status rehearse(const Order& order);
  core::Status finish_if_shared();
  core::Result<Answer> build(const Order& order);
  core::Result<Answer> sample(const Order& order);
  core::Result<Answer> verify(const Order& order);
  core::Result<Answer> mix(const Order& order);
  core::Result<Answer> run_mixed(const Order& order);
  core::Status launch_mixed(const std::vector<MixedCall>& calls, std::uint64_t seed);

  core::Result<Buffers> buffers_for(const Order& order);
  [[nodiscard]] assay_allreduce_call call_for(const Order& order, const Buffers& buffers) const;
  core::Status run(const Order& order, const Buffers& buffers);
  // Records what `launch` puts on the stream as a graph.
  template <class Launch>
  core::Result<cudaGraphExec_t> recorded(Launch launch);
  core::Status align();
  core::Status time_calls(const Order& order, const Buffers& buffers, unsigned event_flags);
  core::Result<Findings> findings();

  RankOptions options_;
  assay_allreduce_comm* comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  Findings* findings_ = nullptr;
  Findings* found_ = nullptr;  // their copy in the host's memory
  std::uint64_t* turn_ = nullptr;
  void* align_buffer_ = nullptr;
  DeviceBuffers plain_{Memory::kPlain};
  DeviceBuffers symmetric_{Memory::kSymmetric};
  std::map<Strategy, cudaGraphExec_t> graphs_;
  cudaGraphExec_t mixed_ = nullptr;
};

}  // namespace assay::allreduce
