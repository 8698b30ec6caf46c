// A strategy of our own: its memory and its kernels.
//
// To add one, add its number and a line to kStrategies (allreduce/strategy.h), the number to
// assay/allreduce.h and to Python's Strategy, and a file <name>.cu to this folder that registers a
// StrategyKernel. CONTRIBUTING.md says where it is named besides.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "allreduce/strategies/arguments.h"
#include "allreduce/strategy.h"
#include "core/registry.h"
#include "core/result.h"

struct ncclComm;

namespace assay::allreduce {

struct NcclLibrary;

// The GPU that a kernel is launched on, as one strategy sees it.
struct Device {
  int rank = 0;
  int world_size = 0;
  int multiprocessors = 0;  // those that this rank may fill
  bool shares_gpu = false;  // whether other ranks run on this GPU
  Workspace workspace{};
  const NcclLibrary* nccl = nullptr;  // null without NCCL
  ncclComm* nccl_comm = nullptr;
  bool has_windows = false;  // whether NCCL has windows, for symmetric memory
};

// Kernels are brought onto the GPU before any of them runs: while one waits for another GPU, CUDA
// may not be able to load the one that it waits for.
enum class Purpose { kLaunch, kLoad };

struct Request {
  Purpose purpose = Purpose::kLaunch;
  DataType data_type = DataType::kBfloat16;
  Fusion fusion = Fusion::kNone;
  int blocks = 0;  // if 0, the size of the message decides
  int threads = 0;
  cudaStream_t stream = nullptr;
};

// The memory that a strategy uses. The strategies that push words into two halves by turns (see
// Turn in device.cuh) share theirs, and leave it empty.
enum class Area { kNone, kHalves, kRings };

struct WorkspaceSize {
  int capacity_vectors = 0;    // vectors of the largest message, or what the strategy makes of it
  std::size_t data_bytes = 0;  // on each GPU, behind the control words
};

// Every rank's slot in a half is whole vectors, for parts and sums, with any number of ranks.
constexpr std::size_t kHalvesUnit = std::size_t{2} * 2 * 840 * kVectorBytes;

core::Status launch_status(cudaError_t error);

struct StrategyKernel {
  const char* name;
  Strategy strategy;
  Area area = Area::kNone;
  // Returns what fits into a budget of device memory; a strategy without an area has none. Data
  // starts as all ones, control words as zeros. With Area::kHalves the budget is a multiple of
  // kHalvesUnit bytes, all of which are used: half a budget is a half.
  WorkspaceSize (*workspace_size)(int world_size, std::size_t budget_bytes) = nullptr;
  // Returns why the strategy cannot do a call; empty when it can.
  std::string (*refusal)(const Device& device, const Arguments& a, Fusion fusion);
  core::Status (*launch)(const Device& device, const Arguments& a, const Request& request);
  bool needs_nccl = false;
};

}  // namespace assay::allreduce
