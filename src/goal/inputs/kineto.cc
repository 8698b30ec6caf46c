// The input of PyTorch profiler traces, one per rank, with the NCCL logs beside them: the traces
// tell what ran when, the logs how NCCL did it.
#include "goal/inputs/kineto.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/parallel.h"
#include "goal/input.h"
#include "goal/inputs/input_files.h"
#include "goal/inputs/nccl_log.h"
#include "goal/inputs/nccl_log_facts.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;

bool is_kineto(const fs::path& file) {
  constexpr std::size_t kLookedAtBytes = std::size_t{1} << 16U;
  const std::string name = file.filename().string();
  if (!name.ends_with(".json") && !name.ends_with(".json.gz")) return false;
  const std::string beginning = first_bytes(file, kLookedAtBytes);
  return beginning.find("\"traceEvents\"") != std::string::npos ||
         (beginning.find("\"schemaVersion\"") != std::string::npos &&
          beginning.find("\"deviceProperties\"") != std::string::npos);
}

using Traces = std::vector<KinetoTrace>;

// The facts that the logs have about the processes of the traces.
class LoggedProcesses {
 public:
  LoggedProcesses(const NcclLog& log, const Traces& traces) : log_(log) {
    for (const KinetoTrace& trace : traces)
      process_of_[trace.rank] = trace.process_id;
    for (const LoggedCommunicator& communicator : log.communicators) {
      if (world_ == nullptr || communicator.num_ranks > world_->num_ranks) world_ = &communicator;
    }
    if (world_ != nullptr) nodes_ = logged_nodes(*world_);
  }

  [[nodiscard]] std::string node_of(const KinetoTrace& trace) const {
    if (world_ == nullptr) return {};
    for (const auto& [rank, facts] : world_->ranks) {
      const bool same_rank = world_->num_ranks != trace.world_size || rank == trace.rank;
      if (same_rank && facts.process_id == trace.process_id) return nodes_.at(rank);
    }
    return {};
  }

  // Returns the name that the log has for the communicator of a group; gives each name once.
  std::string name_of(const KinetoGroup& group) {
    for (const LoggedCommunicator& communicator : log_.communicators) {
      if (given_.count(communicator.name) > 0 || !same_members(group, communicator)) continue;
      given_.insert(communicator.name);
      return communicator.name;
    }
    return "group " + group.name;
  }

 private:
  [[nodiscard]] bool same_members(const KinetoGroup& group,
                                  const LoggedCommunicator& communicator) const {
    if (communicator.num_ranks != group.ranks.size()) return false;
    bool any = false;
    for (std::size_t i = 0; i < group.ranks.size(); ++i) {
      const auto traced = process_of_.find(group.ranks[i]);
      const auto logged = communicator.ranks.find(static_cast<std::int32_t>(i));
      if (traced == process_of_.end() || logged == communicator.ranks.end()) continue;
      if (traced->second != logged->second.process_id) return false;
      any = true;
    }
    return any;
  }

  const NcclLog& log_;
  const LoggedCommunicator* world_ = nullptr;
  std::map<std::int32_t, std::string> nodes_;
  std::map<std::int32_t, std::int64_t> process_of_;  // by global rank
  std::set<std::string> given_;
};

// PyTorch's handler names its files "host_1097.1700000000.pt.trace.json".
std::string host_of_file_name(const KinetoTrace& trace) {
  const std::string name = fs::path(trace.file).filename().string();
  const std::size_t at = name.find(fmt::format("_{}.", trace.process_id));
  return at == std::string::npos ? std::string() : name.substr(0, at);
}

std::string node_of(const KinetoTrace& trace,
                    const LoggedProcesses& logged,
                    model::Warnings& warnings) {
  std::string node = logged.node_of(trace);
  if (node.empty()) node = host_of_file_name(trace);
  if (node.empty()) {
    warnings.add("processes whose node neither an NCCL log nor the file's name tells",
                 "taken to be on one node", trace.file);
    node = "unknown";
  }
  return node;
}

std::vector<KinetoRecording> finish_all(Traces& traces) {
  std::vector<KinetoRecording> recordings;
  for (KinetoTrace& trace : traces) {
    if (trace.calls.empty()) {
      trace.warnings.add("traces without collectives of PyTorch", "they add nothing", trace.file);
    }
    recordings.push_back(finish_kineto(trace));
  }
  return recordings;
}

void number_ranks(Traces& traces) {
  for (std::size_t i = 0; i < traces.size(); ++i) {
    KinetoTrace& trace = traces[i];
    if (trace.rank >= 0) continue;
    trace.rank = static_cast<std::int32_t>(i);
    trace.warnings.add("traces that do not tell their rank (no distributedInfo)",
                       "numbered in the order of the files", trace.file);
  }
}

core::Result<model::Job> read_kineto(const std::vector<fs::path>& files,
                                     const InputOptions& options) {
  Traces traces = ASSAY_TRY(read_all(files, options.threads, read_kineto_trace));
  number_ranks(traces);
  model::Warnings warnings;
  const NcclLog log = ASSAY_TRY(read_nccl_logs(nccl_logs_beside(files, options), warnings));
  LoggedProcesses logged(log, traces);
  std::vector<KinetoRecording> recordings = finish_all(traces);
  std::map<KinetoGroup, std::string> names;
  std::map<std::string, std::uint32_t> clocks;
  std::vector<ProcessRecording> processes;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    ProcessRecording& process = recordings[i].process;
    for (std::size_t g = 0; g < recordings[i].groups.size(); ++g) {
      const auto [found, added] = names.emplace(recordings[i].groups[g], std::string());
      if (added) found->second = logged.name_of(found->first);
      process.communicators[g].name = found->second;
    }
    process.gpu.node = node_of(traces[i], logged, warnings);
    const std::string host = host_of_node(process.gpu.node);
    process.gpu.clock =
        clocks.emplace(host, static_cast<std::uint32_t>(clocks.size())).first->second;
    processes.push_back(std::move(process));
  }
  model::Job job = join_processes(std::move(processes));
  job.warnings.merge(warnings);
  job.nccl_version = log.nccl_version.empty() ? traces[0].nccl_version : log.nccl_version;
  add_topology(log, job);
  add_choices(log, job);
  return job;
}

const InputSpec kKineto{.name = "pytorch",
                        .description = "PyTorch profiler traces, with NCCL logs beside them",
                        .accepts = is_kineto,
                        .read = read_kineto,
                        .yields_to = "profiler_events"};
ASSAY_REGISTER(InputSpec, kKineto);

}  // namespace
}  // namespace assay::goal
