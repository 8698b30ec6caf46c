// The NCCL part of a PyTorch profiler trace (Kineto's Chrome trace) of one process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/collective.h"
#include "model/warnings.h"

namespace assay::goal {

// A record_param_comms event: what the program asked for.
struct KinetoCall {
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::int64_t external_id = -1;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string group_name = {};
  std::vector<std::int32_t> group_ranks = {};
  std::int32_t peer = -1;  // a rank of the group
  std::int32_t root = -1;  // the group's rank that PyTorch logs: the root where there is one
  std::uint64_t elements_in = 0;
  std::uint64_t elements_out = 0;
  std::uint32_t element_bytes = 1;
  std::vector<std::uint64_t> split_in = {};  // of an all-to-all: shares by rank; empty: equal
  std::vector<std::uint64_t> split_out = {};
};

struct KinetoKernel {
  std::string function = {};  // "AllReduce", "SendRecv"
  std::int64_t external_id = -1;
  std::int64_t correlation = -1;
  std::int64_t stream = 0;
  std::int32_t device = -1;
  std::uint32_t grid = 0;  // blocks: one per channel
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct KinetoLaunch {
  std::int64_t correlation = 0;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;
};

struct KinetoTrace {
  std::string file;
  std::int64_t process_id = 0;
  std::int32_t rank = -1;  // global
  std::uint32_t world_size = 0;
  std::string nccl_version;
  std::vector<KinetoCall> calls = {};       // by start
  std::vector<KinetoKernel> kernels = {};   // by start
  std::vector<KinetoLaunch> launches = {};  // of kernels, NCCL's and others; by correlation
  model::Warnings warnings = {};
};

// The trace, plain or gzip, is held in memory while it is read. Times count from the Unix epoch.
core::Result<KinetoTrace> read_kineto_trace(const std::filesystem::path& path);

}  // namespace assay::goal
