#include "goal/inputs/profiler_events.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/byte_source.h"
#include "core/files.h"
#include "goal/input.h"
#include "goal/inputs/input_files.h"
#include "goal/inputs/join_processes.h"
#include "goal/inputs/nccl_log.h"
#include "goal/inputs/nccl_log_facts.h"

namespace assay::goal {
namespace {

// Event types of NCCL's profiler interface.
enum EventType : std::int64_t {
  kCollective = 2,
  kPointToPoint = 4,
  kKernelChannel = 64,
  kGroupApi = 256,
  kCollectiveApi = 512,
  kPointToPointApi = 1024,
};

struct CallEvent {
  std::int64_t parent = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;  // bytes of the call: count * element size
  std::string stream = {};
};

// The kernel of one communicator in one group of calls.
struct Plan {
  std::int64_t call_ns = 0;
  // First start of the kernel's channels.
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = 0;
};

std::uint64_t pointer_of(std::string_view text) {
  std::uint64_t value = 0;
  if (text.starts_with("0x")) {
    std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  }
  return value;
}

class EventReader {
 public:
  explicit EventReader(std::string file) { recording_.file = std::move(file); }

  void add(std::string_view line) {
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) return;
    const auto error = add_event(std::string(line));
    if (error == simdjson::SUCCESS) return;
    recording_.warnings.add("lines that are no event of the plugin", "left out",
                            fmt::format("{}: {}", recording_.file, line));
  }

  std::optional<ProcessRecording> finish() {
    if (recording_.communicators.empty()) return std::nullopt;
    set_times();
    return std::move(recording_);
  }

 private:
  using Element = simdjson::dom::element;

  static std::int64_t integer(const Element& event, const char* key) {
    std::int64_t value = 0;
    if (event[key].get_int64().get(value) != simdjson::SUCCESS) return 0;
    return value;
  }

  static std::string text(const Element& event, const char* key) {
    std::string_view value;
    if (event[key].get_string().get(value) != simdjson::SUCCESS) return {};
    return std::string(value);
  }

  simdjson::error_code add_event(const std::string& line) {
    Element event;
    if (const auto error = parser_.parse(line).get(event)) return error;
    std::int64_t type = 0;
    if (event["ev"].get_int64().get(type) != simdjson::SUCCESS) {
      if (text(event, "ev") == "init") add_communicator(event);
      return simdjson::SUCCESS;
    }
    if (type == kGroupApi || type == kCollectiveApi || type == kPointToPointApi) {
      events_[integer(event, "id")] = {.parent = integer(event, "parent"),
                                       .start_ns = integer(event, "t0"),
                                       .end_ns = integer(event, "t1"),
                                       .bytes = bytes_of_call(event),
                                       .stream = text(event, "stream")};
    } else if (type == kCollective || type == kPointToPoint) {
      add_operation(type, event);
    } else if (type == kKernelChannel) {
      add_channel(event);
    }
    return simdjson::SUCCESS;
  }

  static std::uint64_t bytes_of_call(const Element& event) {
    const std::uint64_t element_bytes = model::nccl_element_bytes(text(event, "dt"));
    return static_cast<std::uint64_t>(integer(event, "count")) * element_bytes;
  }

  void add_communicator(const Element& event) {
    recording_.gpu.process_id = integer(event, "pid");
    CommunicatorView& view = recording_.communicators[view_of(text(event, "comm"))];
    view.rank = static_cast<std::int32_t>(integer(event, "rank"));
    view.num_ranks = static_cast<std::uint32_t>(integer(event, "nranks"));
  }

  std::uint32_t view_of(const std::string& name) {
    auto& views = recording_.communicators;
    const auto found = std::find_if(views.begin(), views.end(), [&](const CommunicatorView& view) {
      return view.name == name;
    });
    const auto index = static_cast<std::uint32_t>(found - views.begin());
    if (found == views.end()) views.push_back({.name = name});
    return index;
  }

  void add_operation(std::int64_t type, const Element& event) {
    const auto function = model::nccl_function(text(event, "func"));
    if (!function) return;
    const std::int64_t id = integer(event, "id");
    const CallEvent& api = events_[integer(event, "parent")];
    model::Operation operation;
    operation.function = *function;
    operation.communicator = view_of(text(event, "comm"));
    operation.stream = stream_of(api.stream);
    operation.element_bytes = std::max(model::nccl_element_bytes(text(event, "dt")), 1U);
    operation.bytes = api.bytes;
    operation.num_channels = static_cast<std::uint32_t>(integer(event, "nch"));
    operation.group = plan_of(api, operation.communicator);
    if (type == kPointToPoint) {
      operation.peer = static_cast<std::int32_t>(integer(event, "peer"));
      if (operation.peer == recording_.communicators[operation.communicator].rank) {
        trusted_until_ns_ = std::min(trusted_until_ns_, plans_[operation.group].call_ns);
      }
    } else {
      set_choice(event, operation);
    }
    const auto kind = std::tuple(operation.communicator, operation.function, operation.peer);
    operation.sequence = sequences_[kind]++;
    plan_of_operation_[id] = operation.group;
    recording_.gpu.operations.push_back(operation);
  }

  void set_choice(const Element& event, model::Operation& operation) const {
    operation.algorithm =
        model::nccl_algorithm(text(event, "algo")).value_or(model::NcclAlgorithm::kNone);
    operation.protocol =
        model::nccl_protocol(text(event, "proto")).value_or(model::NcclProtocol::kNone);
    if (operation.function == model::NcclFunction::kBroadcast ||
        operation.function == model::NcclFunction::kReduce) {
      operation.root = static_cast<std::int32_t>(integer(event, "root"));
    }
    const std::uint64_t send = pointer_of(text(event, "sb"));
    const std::uint64_t receive = pointer_of(text(event, "rb"));
    const std::int32_t rank = recording_.communicators[operation.communicator].rank;
    const std::uint64_t share = static_cast<std::uint64_t>(std::max(rank, 0)) * operation.bytes;
    const bool gathers = operation.function == model::NcclFunction::kAllGather;
    const bool scatters = operation.function == model::NcclFunction::kReduceScatter;
    operation.in_place = send + (scatters ? share : 0) == receive + (gathers ? share : 0);
  }

  std::uint32_t plan_of(const CallEvent& api, std::uint32_t communicator) {
    const auto [found, added] = plan_of_group_.emplace(std::pair(api.parent, communicator),
                                                       static_cast<std::uint32_t>(plans_.size()));
    if (added) plans_.push_back({.call_ns = api.start_ns});
    return found->second;
  }

  std::uint32_t stream_of(const std::string& name) {
    auto& streams = recording_.gpu.streams;
    const auto found = std::find(streams.begin(), streams.end(), name);
    const auto index = static_cast<std::uint32_t>(found - streams.begin());
    if (found == streams.end()) streams.push_back(name);
    return index;
  }

  void add_channel(const Element& event) {
    const auto plan = plan_of_operation_.find(integer(event, "parent"));
    const std::int64_t start_ns = integer(event, "p0");
    const std::int64_t end_ns = integer(event, "p1");
    if (plan == plan_of_operation_.end() || start_ns <= 0 || end_ns < start_ns) return;
    Plan& times = plans_[plan->second];
    times.start_ns = std::min(times.start_ns, start_ns);
    times.end_ns = std::max(times.end_ns, end_ns);
  }

  // After a GPU's first send to itself, NCCL 2.28 gives stale times to the channels of all later
  // operations, so the recording ends there. A kernel that "began" before its call is stale, too.
  void set_times() {
    auto& operations = recording_.gpu.operations;
    const auto without_time = [&](const model::Operation& operation) {
      const Plan& plan = plans_[operation.group];
      return plan.call_ns >= trusted_until_ns_ || plan.end_ns == 0 || plan.start_ns < plan.call_ns;
    };
    const auto kept = std::stable_partition(operations.begin(), operations.end(),
                                            [&](const auto& op) { return !without_time(op); });
    if (kept != operations.end()) {
      recording_.warnings.add("operations without trustworthy times of their channels",
                              "left out (NCCL's times are stale after a send to oneself)",
                              recording_.file, operations.end() - kept);
      operations.erase(kept, operations.end());
    }
    for (model::Operation& operation : operations) {
      operation.start_ns = plans_[operation.group].start_ns;
      operation.end_ns = plans_[operation.group].end_ns;
    }
    std::stable_sort(operations.begin(), operations.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    std::set<std::uint32_t> kernels;  // one a group
    for (const model::Operation& operation : operations)
      kernels.insert(operation.group);
    recording_.matches.by_correlation = kernels.size();
    model::JobGpu& gpu = recording_.gpu;
    if (operations.empty()) return;
    gpu.window_start_ns = plans_.front().call_ns;
    for (const model::Operation& operation : operations)
      gpu.window_end_ns = std::max(gpu.window_end_ns, operation.end_ns);
  }

  ProcessRecording recording_;
  simdjson::dom::parser parser_;
  std::unordered_map<std::int64_t, CallEvent> events_;
  std::unordered_map<std::int64_t, std::uint32_t> plan_of_operation_;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::uint32_t> plan_of_group_;
  std::map<std::tuple<std::uint32_t, model::NcclFunction, std::int32_t>, std::uint64_t> sequences_;
  std::vector<Plan> plans_;
  std::int64_t trusted_until_ns_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

core::Result<std::optional<ProcessRecording>> read_events(core::ByteSource& source,
                                                          const std::string& name) {
  EventReader reader(name);
  ASSAY_TRY(for_each_line(source, name, [&](std::string_view line) { reader.add(line); }));
  return reader.finish();
}

namespace {

namespace fs = std::filesystem;

bool is_events_name(const std::string& name) {
  return name.starts_with("prof_") && name.ends_with(".jsonl");
}

bool is_profiler_events(const fs::path& file) {
  constexpr std::size_t kLookedAtBytes = 4096;
  return is_events_name(file.filename().string()) &&
         first_bytes(file, kLookedAtBytes).find("\"ev\"") != std::string::npos;
}

// Sets node and device from the log, because the events tell neither.
void place(const NcclLog& log, ProcessRecording& process) {
  process.gpu.node = "unknown";
  for (const LoggedCommunicator& communicator : log.communicators) {
    for (const CommunicatorView& view : process.communicators) {
      const auto found = communicator.ranks.find(view.rank);
      if (view.name != communicator.name || found == communicator.ranks.end()) continue;
      process.gpu.node = logged_nodes(communicator).at(view.rank);
      process.gpu.device = found->second.device;
      return;
    }
  }
  process.warnings.add("processes whose node no NCCL log tells", "taken to be on one node",
                       process.file);
}

core::Result<std::optional<ProcessRecording>> read_event_file(const std::filesystem::path& file) {
  const auto source = ASSAY_TRY(core::open_bytes(file));
  return read_events(*source, file.string());
}

core::Result<model::Job> read_profiler_events(const std::vector<fs::path>& files,
                                              const InputOptions& options) {
  auto read = ASSAY_TRY(read_all(files, options.threads, read_event_file));
  model::Warnings warnings;
  const NcclLog log = ASSAY_TRY(read_nccl_logs(nccl_logs_beside(files, options), warnings));
  std::map<std::string, std::uint32_t> clocks;
  std::vector<ProcessRecording> processes;
  for (std::optional<ProcessRecording>& process : read) {
    if (!process) continue;
    place(log, *process);
    const std::string host = host_of_node(process->gpu.node);
    process->gpu.clock =
        clocks.emplace(host, static_cast<std::uint32_t>(clocks.size())).first->second;
    processes.push_back(std::move(*process));
  }
  if (processes.empty()) {
    return core::Error{files[0].string() + ": no event \"init\": not the events of a process"};
  }
  model::Job job = join_processes(std::move(processes));
  job.warnings.merge(warnings);
  job.nccl_version = log.nccl_version;
  add_topology(log, job);
  return job;
}

const InputSpec kProfilerEvents{.name = "profiler_events",
                                .description = "JSON lines of an NCCL profiler plugin",
                                .accepts = is_profiler_events,
                                .read = read_profiler_events};
ASSAY_REGISTER(InputSpec, kProfilerEvents);

}  // namespace
}  // namespace assay::goal
