// The input of exports of Nsight Systems (nsys export --type=sqlite) of programs whose NCCL writes
// NVTX marks about its plans: one file per node or one per process.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "goal/input.h"
#include "goal/inputs/input_files.h"
#include "goal/inputs/join_processes.h"
#include "goal/inputs/nccl_log.h"
#include "goal/inputs/nccl_log_facts.h"
#include "goal/inputs/nsys_report.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;

bool is_nsys(const fs::path& file) {
  const std::string extension = file.extension().string();
  return extension == ".sqlite" || extension == ".sqlite3";
}

using Reports = std::vector<NsysReport>;

// The hash of a communicator can differ from host to host while its id is the same, but
// communicators that were split from a parent may share the parent's id. So the id names a
// communicator unless one process knows several communicators by it.
class Names {
 public:
  explicit Names(const Reports& reports) {
    for (const NsysReport& report : reports) {
      for (const auto& communicators : report.communicators)
        note(communicators);
    }
  }

  [[nodiscard]] std::string of(const NsysCommunicator& communicator) const {
    std::uint64_t id = communicator.id;
    if (id == 0) {
      const auto known = id_of_.find(communicator.hash);
      if (known != id_of_.end()) id = known->second;
    }
    const bool named_by_id = id != 0 && ambiguous_.count(id) == 0;
    return fmt::format("{:#x}", named_by_id ? id : communicator.hash);
  }

 private:
  void note(const std::vector<NsysCommunicator>& communicators) {
    std::map<std::uint64_t, std::uint64_t> hash_of;
    for (const NsysCommunicator& communicator : communicators) {
      if (communicator.id == 0) continue;
      id_of_.emplace(communicator.hash, communicator.id);
      const auto [found, added] = hash_of.emplace(communicator.id, communicator.hash);
      if (!added && found->second != communicator.hash) ambiguous_.insert(communicator.id);
    }
  }

  std::map<std::uint64_t, std::uint64_t> id_of_;  // by hash
  std::set<std::uint64_t> ambiguous_;
};

void name_communicators(Reports& reports) {
  const Names names(reports);
  for (NsysReport& report : reports) {
    for (std::size_t i = 0; i < report.processes.size(); ++i) {
      for (NsysCommunicator& communicator : report.communicators[i]) {
        report.processes[i].communicators.push_back({.name = names.of(communicator),
                                                     .rank = communicator.rank,
                                                     .num_ranks = communicator.num_ranks,
                                                     .channels = std::move(communicator.channels)});
      }
    }
  }
}

void move_clock(model::JobGpu& gpu, std::int64_t epoch_ns) {
  // Damaged times may wrap around, but must not overflow.
  const auto move = [&](std::int64_t& time_ns) {
    time_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(time_ns) +
                                        static_cast<std::uint64_t>(epoch_ns));
  };
  move(gpu.window_start_ns);
  move(gpu.window_end_ns);
  for (model::Operation& operation : gpu.operations) {
    move(operation.start_ns);
    move(operation.end_ns);
  }
}

// The times of a report count from its own start. Reports of one node share a clock when all of
// them tell when they started.
void set_clocks(Reports& reports) {
  std::map<std::string, bool> comparable;
  for (const NsysReport& report : reports) {
    bool& all = comparable.try_emplace(report.node, true).first->second;
    all = all && report.epoch_ns.has_value();
  }
  std::map<std::string, std::uint32_t> clock_of;
  for (std::uint32_t i = 0; i < reports.size(); ++i) {
    NsysReport& report = reports[i];
    const bool shared = comparable[report.node];
    const std::uint32_t clock = shared ? clock_of.emplace(report.node, i).first->second : i;
    for (ProcessRecording& process : report.processes) {
      process.gpu.clock = clock;
      if (shared) move_clock(process.gpu, *report.epoch_ns);
    }
  }
}

core::Result<model::Job> read_nsys(const std::vector<fs::path>& files,
                                   const InputOptions& options) {
  Reports reports = ASSAY_TRY(read_all<NsysReport>(files, options.threads, read_nsys_report));
  name_communicators(reports);
  set_clocks(reports);
  std::vector<ProcessRecording> processes;
  model::Warnings warnings;
  for (NsysReport& report : reports) {
    warnings.merge(report.warnings);
    std::move(report.processes.begin(), report.processes.end(), std::back_inserter(processes));
  }
  if (processes.empty()) {
    return core::Error{fmt::format(
        "{}{}: no NVTX marks of NCCL; record with an NCCL that was built with ENABLE_API_NVTX, "
        "ENABLE_INIT_NVTX and ENABLE_ENQUEUE_NVTX",
        files[0].string(),
        files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : std::string())};
  }
  model::Job job = join_processes(std::move(processes));
  job.warnings.merge(warnings);
  ASSAY_TRY(add_logged_topology(files, options, job));
  return job;
}

const InputSpec kNsys{.name = "nsys",
                      .description = "SQLite exports of Nsight Systems",
                      .accepts = is_nsys,
                      .read = read_nsys};
ASSAY_REGISTER(InputSpec, kNsys);

}  // namespace
}  // namespace assay::goal
