// Reads the NCCL part of a PyTorch profiler trace (Kineto's Chrome trace) of one process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/inputs/join_processes.h"
#include "model/collective.h"
#include "model/warnings.h"

namespace assay::goal {

// A record_param_comms event: a call of the program.
struct KinetoCall {
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::int64_t external_id = -1;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string group_name = {};
  std::vector<std::int32_t> group_ranks = {};
  std::int32_t peer = -1;  // a rank of the group
  std::int32_t root = -1;  // a rank of the group: the root where the function has one
  std::uint64_t elements_in = 0;
  std::uint64_t elements_out = 0;
  std::uint32_t element_bytes = 1;
  // The shares of an all-to-all by rank; empty: equal shares.
  std::vector<std::uint64_t> split_in = {};
  std::vector<std::uint64_t> split_out = {};
};

struct KinetoKernel {
  std::string function = {};  // "AllReduce", "SendRecv"
  std::int64_t external_id = -1;
  std::int64_t correlation = -1;
  std::int64_t stream = 0;
  std::int32_t device = -1;
  std::uint32_t grid = 0;  // blocks; NCCL uses one per channel
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
  std::int32_t rank = -1;  // global rank
  std::uint32_t world_size = 0;
  std::string nccl_version;
  std::vector<KinetoCall> calls = {};      // by start
  std::vector<KinetoKernel> kernels = {};  // by start
  // Launches of all kernels, not only NCCL's; by correlation.
  std::vector<KinetoLaunch> launches = {};
  model::Warnings warnings = {};
};

// Reads a trace, plain or gzip, and holds it in memory meanwhile. Times count from the Unix epoch.
core::Result<KinetoTrace> read_kineto_trace(const std::filesystem::path& path);

// The same for the text of a trace, which errors and warnings call `name`.
core::Result<KinetoTrace> parse_kineto_trace(std::string_view text, const std::string& name);

// A process group of PyTorch. It has a communicator of its own.
struct KinetoGroup {
  std::string name;
  std::vector<std::int32_t> ranks;  // global ranks

  friend bool operator<(const KinetoGroup& a, const KinetoGroup& b) {
    return a.name != b.name ? a.name < b.name : a.ranks < b.ranks;
  }
};

struct KinetoRecording {
  ProcessRecording process;         // its communicators have neither name nor channels
  std::vector<KinetoGroup> groups;  // parallel to process.communicators
};

// Finds the kernel of each call and makes a recording of the calls with the kernels' times.
KinetoRecording finish_kineto(const KinetoTrace& trace);

}  // namespace assay::goal
