#include "goal/inputs/nsys_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "goal/inputs/nsys_database.h"
#include "goal/inputs/nsys_text.h"

namespace assay::goal {
namespace {

constexpr std::uint64_t kIdMask =
    0xFFFFFF;  // mask of the process and thread numbers in nsys's globalTid

std::int64_t process_of(std::int64_t global_id) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(global_id) >> 24U) & kIdMask);
}

std::uint32_t thread_of(std::int64_t global_id) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(global_id) & kIdMask);
}

// Returns the functions that a kernel of NCCL runs, from a name such as
// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" or "ncclKernel_AllReduce_RING_LL_Sum_float": all
// functions for a generic kernel, 0 for a kernel of others.
FunctionSet functions_of_kernel(std::string_view name) {
  constexpr std::string_view kMark = "Kernel_";
  if (!name.starts_with("nccl")) return 0;
  const std::size_t mark = name.find(kMark);
  if (mark == std::string_view::npos) return 0;
  std::string_view function = name.substr(mark + kMark.size());
  function = function.substr(0, function.find_first_of("_(<"));
  const auto known = model::nccl_function(function);
  return known ? kernel_functions(*known) : std::numeric_limits<FunctionSet>::max();
}

class ReportReader {
 public:
  explicit ReportReader(const SqliteFile& file) : file_(file) {}

  core::Result<NsysReport> read(const std::string& stem) {
    const auto nvtx_columns = ASSAY_TRY(file_.columns("NVTX_EVENTS"));
    if (nvtx_columns.empty()) {
      return core::Error{file_.name() +
                         ": no table NVTX_EVENTS: not an export of Nsight Systems, or recorded "
                         "without --trace=nvtx,cuda"};
    }
    ASSAY_TRY(read_strings());
    ASSAY_TRY(read_nvtx(nvtx_columns));
    ASSAY_TRY(read_kernels());
    ASSAY_TRY(read_launches());
    ASSAY_TRY(read_target(stem));
    return finish();
  }

 private:
  // Keeps the strings that are needed: the names of NCCL's kernels and the texts of its marks.
  core::Status read_strings() {
    const auto columns = ASSAY_TRY(file_.columns("StringIds"));
    if (columns.empty()) return {};
    return file_.query("SELECT " + select_list(columns, {"id", "value"}) + " FROM StringIds",
                       [&](const SqliteRow& row) {
                         const std::string_view text = row.text(1);
                         if (const FunctionSet functions = functions_of_kernel(text)) {
                           kernel_names_[row.integer(0)] = functions;
                         } else if (may_be_nccl_text(text)) {
                           texts_[row.integer(0)] = text;
                         }
                       });
  }

  core::Status read_nvtx(const std::vector<std::string>& columns) {
    const std::string query =
        "SELECT " + select_list(columns, {"text", "textId", "start", "end", "globalTid"}) +
        " FROM NVTX_EVENTS";
    ASSAY_TRY(scan_nvtx(query));
    if (in_order_) return {};
    processes_.clear();
    last_start_.clear();
    num_nvtx_rows_ = 0;
    return scan_nvtx(query + " ORDER BY \"start\", rowid");
  }

  core::Status scan_nvtx(const std::string& query) {
    in_order_ = true;
    return file_.query(query, [&](const SqliteRow& row) { add_nvtx(row); });
  }

  void add_nvtx(const SqliteRow& row) {
    ++num_nvtx_rows_;
    if (!in_order_) return;
    std::string_view text = row.text(0);
    if (text.empty() && !texts_.empty()) {
      const auto found = texts_.find(row.integer(1));
      if (found == texts_.end()) return;
      text = found->second;
    }
    const NvtxText read = read_nvtx_text(text);
    if (read.kind == NvtxKind::kOther) {
      if (may_be_nccl_text(text)) unreadable(text);
      return;
    }
    const std::int64_t start_ns = row.integer(2);
    const std::int64_t end_ns = row.is_null(3) ? start_ns : row.integer(3);
    const std::int64_t global_id = row.integer(4);
    const std::uint32_t thread = thread_of(global_id);
    NsysProcess& process = process_with(read.process_id);
    if (!row.is_null(4)) process.system_process_id = process_of(global_id);
    const std::uint64_t key = (static_cast<std::uint64_t>(read.process_id) << 24U) | thread;
    std::int64_t& last_ns = last_start_.try_emplace(key, start_ns).first->second;
    in_order_ = start_ns >= last_ns;
    last_ns = start_ns;
    process.add(read, start_ns, std::max(start_ns, end_ns), thread);
  }

  void unreadable(std::string_view text) {
    // NCCL's own ranges ("ncclAllReduce") and functions that move nothing begin in the same way.
    if (text.find("(): ") == std::string_view::npos && text.starts_with("nccl")) return;
    if (text.find("comm") == std::string_view::npos && text.starts_with("nccl")) return;
    report_.warnings.add("NVTX texts that begin like NCCL's but are not understood", "left out",
                         fmt::format("{}: {}", file_.name(), text));
  }

  NsysProcess& process_with(std::int64_t id) {
    auto& process = processes_[id];
    if (!process) process = std::make_unique<NsysProcess>(id);
    return *process;
  }

  core::Status read_kernels() {
    const auto columns = ASSAY_TRY(file_.columns("CUPTI_ACTIVITY_KIND_KERNEL"));
    if (columns.empty()) {
      report_.warnings.add("no table of kernels (recorded without --trace=cuda)",
                           "operations take the times of their calls", file_.name());
      return {};
    }
    for (const auto& [id, process] : processes_) {
      const std::int64_t system_id = process->system_process_id;
      process_of_system_.emplace(system_id >= 0 ? system_id : id, process.get());
    }
    return file_.query(
        "SELECT " +
            select_list(columns, {"demangledName|shortName", "start", "end", "deviceId", "streamId",
                                  "globalPid", "correlationId", "graphNodeId"}) +
            " FROM CUPTI_ACTIVITY_KIND_KERNEL",
        [&](const SqliteRow& row) { add_kernel(row); });
  }

  void add_kernel(const SqliteRow& row) {
    const auto name = kernel_names_.find(row.integer(0));
    if (name == kernel_names_.end()) return;
    if (row.integer(7) != 0) {
      report_.warnings.add("NCCL kernels replayed from CUDA graphs",
                           "left out: their calls were recorded once, at capture", file_.name());
      return;
    }
    const std::int64_t process_id = process_of(row.integer(5));
    const auto owner = process_of_system_.find(process_id);
    if (owner == process_of_system_.end()) {
      report_.warnings.add("NCCL kernels of processes without NCCL marks", "left out",
                           fmt::format("{}, process {}", file_.name(), process_id));
      return;
    }
    const std::int64_t start_ns = row.integer(1);
    if (row.is_null(2) || row.integer(2) < start_ns) {
      report_.warnings.add("kernels that end before they start", "counted as 0 ns long",
                           file_.name());
    }
    NsysProcess& process = *owner->second;
    process.kernels.push_back({.start_ns = start_ns,
                               .end_ns = std::max(start_ns, row.integer(2)),
                               .stream = row.integer(4),
                               .correlation = static_cast<std::uint32_t>(row.integer(6)),
                               .device = static_cast<std::int32_t>(row.integer(3)),
                               .functions = name->second});
    process.last_ns = std::max(process.last_ns, process.kernels.back().end_ns);
  }

  // The table has a row for every CUDA call; only those that launched kernels of NCCL are kept.
  core::Status read_launches() {
    std::unordered_map<std::uint64_t, NsysKernel*> kernel_of;
    const auto key = [](std::int64_t process, std::uint32_t correlation) {
      return (static_cast<std::uint64_t>(process) << 32U) | correlation;
    };
    for (const auto& [system_id, process] : process_of_system_) {
      for (NsysKernel& kernel : process->kernels) {
        if (kernel.correlation != 0) kernel_of.emplace(key(system_id, kernel.correlation), &kernel);
      }
    }
    const auto columns = ASSAY_TRY(file_.columns("CUPTI_ACTIVITY_KIND_RUNTIME"));
    if (columns.empty() || kernel_of.empty()) return {};
    return file_.query("SELECT " + select_list(columns, {"correlationId", "globalTid", "start"}) +
                           " FROM CUPTI_ACTIVITY_KIND_RUNTIME",
                       [&](const SqliteRow& row) {
                         const std::int64_t thread = row.integer(1);
                         const auto found = kernel_of.find(
                             key(process_of(thread), static_cast<std::uint32_t>(row.integer(0))));
                         if (found == kernel_of.end()) return;
                         found->second->launch_known = true;
                         found->second->launch_thread = thread_of(thread);
                         found->second->launch_ns = row.integer(2);
                       });
  }

  core::Status read_target(const std::string& stem) {
    report_.node = node_of_file_name(stem);
    const auto system = ASSAY_TRY(file_.columns("TARGET_INFO_SYSTEM_ENV"));
    if (report_.node.empty() && !system.empty()) {
      ASSAY_TRY(file_.query(
          "SELECT " + select_list(system, {"name", "value"}) + " FROM TARGET_INFO_SYSTEM_ENV",
          [&](const SqliteRow& row) {
            if (row.text(0) == "Hostname") report_.node = row.text(1);
          }));
    }
    if (report_.node.empty()) report_.node = stem;
    const auto session = ASSAY_TRY(file_.columns("TARGET_INFO_SESSION_START_TIME"));
    if (session.empty()) return {};
    return file_.query(
        "SELECT " + select_list(session, {"utcEpochNs"}) + " FROM TARGET_INFO_SESSION_START_TIME",
        [&](const SqliteRow& row) {
          if (!row.is_null(0)) report_.epoch_ns = row.integer(0);
        });
  }

  core::Result<NsysReport> finish() {
    for (auto& [id, process] : processes_) {
      if (process->operations.empty() && process->communicators.empty()) continue;
      if (!process->several_gpus.empty()) {
        return core::Error{fmt::format(
            "{}: process {} is {}: it drives several GPUs, whose calls the marks do not tell "
            "apart; record one process per GPU",
            file_.name(), id, process->several_gpus)};
      }
      report_.communicators.push_back(process->communicators);
      report_.processes.push_back(finish_process(std::move(*process), file_.name()));
      report_.processes.back().gpu.node = report_.node;
      process.reset();
    }
    if (report_.processes.empty()) {
      report_.warnings.add("a file without marks of NCCL (is it the instrumented build?)",
                           "it adds nothing",
                           fmt::format("{}: {} NVTX rows", file_.name(), num_nvtx_rows_));
    }
    return std::move(report_);
  }

  const SqliteFile& file_;
  NsysReport report_;
  std::unordered_map<std::int64_t, FunctionSet> kernel_names_;
  std::unordered_map<std::int64_t, std::string> texts_;
  std::map<std::int64_t, std::unique_ptr<NsysProcess>> processes_;
  std::map<std::int64_t, NsysProcess*> process_of_system_;
  std::unordered_map<std::uint64_t, std::int64_t> last_start_;  // by process and thread
  std::int64_t num_nvtx_rows_ = 0;
  bool in_order_ = true;
};

std::string digits_from(const std::string& text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0)
    ++end;
  return text.substr(begin, end - begin);
}

}  // namespace

std::string node_of_file_name(const std::string& stem) {
  for (std::size_t at = stem.find("nid"); at != std::string::npos; at = stem.find("nid", at + 1)) {
    const std::string digits = digits_from(stem, at + 3);
    if (!digits.empty()) return "nid" + digits;
  }
  constexpr std::string_view kPrefix = "profile_";
  if (!stem.starts_with(kPrefix)) return {};
  const std::string job = digits_from(stem, kPrefix.size());
  const std::size_t node_at = kPrefix.size() + job.size() + 1;
  if (job.empty() || node_at >= stem.size() || stem[node_at - 1] != '_') return {};
  const std::string node = digits_from(stem, node_at);
  const std::size_t rank_at = node_at + node.size() + 1;
  if (rank_at >= stem.size() || stem[rank_at - 1] != '_') return {};
  return digits_from(stem, rank_at).empty() ? std::string() : node;
}

core::Result<NsysReport> read_nsys_report(const std::filesystem::path& path) {
  const SqliteFile file = ASSAY_TRY(SqliteFile::open(path));
  return read_nsys_report(file, path.stem().string());
}

core::Result<NsysReport> read_nsys_report(const SqliteFile& file, const std::string& stem) {
  return ReportReader(file).read(stem);
}

}  // namespace assay::goal
