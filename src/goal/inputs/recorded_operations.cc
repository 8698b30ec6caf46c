#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "goal/inputs/recording.h"

namespace assay::goal {
namespace {

namespace rec = model::recording;
using model::NcclFunction;

// The first number of the plans that graphs ran again.
constexpr std::uint32_t kReplays = 1U << 31;

// Damaged recordings claim any number of kernels for any number of captured operations.
constexpr std::size_t kMostRunAgain = 10'000'000;

// A GPU of the process: CUDA's number or, where that is unknown, the number of earlier joins of the
// process to the same communicator.
struct GpuKey {
  std::int32_t device = -1;
  std::uint32_t turn = 0;

  bool operator<(const GpuKey& other) const {
    return std::tie(device, turn) < std::tie(other.device, other.turn);
  }
};

struct ApiCall {
  std::uint64_t stream = 0;
  std::uint64_t count = 0;
  std::string data_type;
};

bool coll_is_in_place(const model::Operation& operation, const rec::Coll& coll, std::int32_t rank) {
  const std::uint64_t share = static_cast<std::uint64_t>(std::max(rank, 0)) * operation.bytes;
  if (operation.function == NcclFunction::kAllGather) {
    return coll.send_buffer == coll.receive_buffer + share;
  }
  if (operation.function == NcclFunction::kReduceScatter) {
    return coll.receive_buffer == coll.send_buffer + share;
  }
  return coll.send_buffer == coll.receive_buffer;
}

class RecordedGpuBuilder {
 public:
  explicit RecordedGpuBuilder(const RecordedProcess& process)
      : process_(process), kernels_(match_kernels(process)) {}

  std::vector<ProcessRecording> build() {
    place_communicators();
    for (const auto& [number, coll] : process_.colls)
      add_coll(number, coll);
    for (const auto& [number, p2p] : process_.p2ps)
      add_p2p(number, p2p);
    for (auto& [key, gpu] : gpus_)
      run_graphs(gpu);
    std::vector<ProcessRecording> recordings;
    for (auto& [key, gpu] : gpus_) {
      finish(gpu);
      recordings.push_back(std::move(gpu.recording));
    }
    if (!recordings.empty()) {
      note_kernels(recordings.front());
      note_file(recordings.front().warnings);
    }
    return recordings;
  }

 private:
  struct Pending {
    model::Operation operation;
    std::uint32_t plan = 0;
    std::int64_t call_ns = 0;
    bool has_kernel = false;
  };

  struct Gpu {
    ProcessRecording recording;
    std::vector<Pending> pending;
    std::vector<Pending> captured;      // what CUDA graphs run
    std::set<std::uint32_t> in_graphs;  // communicators with operations in graphs
    std::map<std::string, std::uint32_t> streams;
  };

  struct Place {
    Gpu* gpu = nullptr;
    std::uint32_t communicator = 0;  // index in the GPU's list
    std::int32_t rank = 0;
  };

  // Finds the device of a communicator, which NCCL's thread may not have told, from the kernels of
  // its plans.
  [[nodiscard]] std::int32_t device_of(const Numbered<rec::Communicator>& communicator) const {
    if (communicator.record.device >= 0) return communicator.record.device;
    for (const PlanRun& plan : kernels_.plans) {
      if (plan.communicator == communicator.number && plan.kernel != nullptr) {
        return plan.kernel->device;
      }
    }
    std::set<std::int32_t> devices;
    for (const auto& other : process_.communicators)
      devices.insert(other.record.device);
    devices.erase(-1);
    return devices.size() == 1 ? *devices.begin() : -1;
  }

  void place_communicators() {
    std::map<std::uint64_t, std::uint32_t> turns;
    for (const auto& communicator : process_.communicators) {
      GpuKey key{.device = device_of(communicator)};
      const std::uint32_t turn = turns[communicator.record.id]++;
      if (key.device < 0) key.turn = turn;
      Gpu& gpu = gpu_of(key);
      const rec::Communicator& from = communicator.record;
      auto& views = gpu.recording.communicators;
      places_[communicator.number] = {&gpu, static_cast<std::uint32_t>(views.size()), from.rank};
      views.push_back({.name = fmt::format("{:#x}", from.id),
                       .rank = std::max(from.rank, -1),
                       .num_ranks = num_ranks(from)});
    }
  }

  std::uint32_t num_ranks(const rec::Communicator& communicator) {
    constexpr std::int32_t kMost = 1 << 20;
    if (communicator.num_ranks > 0 && communicator.num_ranks <= kMost) {
      return static_cast<std::uint32_t>(communicator.num_ranks);
    }
    return 0;
  }

  Gpu& gpu_of(const GpuKey& key) {
    const auto [found, added] = gpus_.try_emplace(key);
    Gpu& gpu = found->second;
    if (!added) return gpu;
    gpu.recording.file = process_.file;
    gpu.recording.gpu.node = rec::text_of(process_.header.node);
    gpu.recording.gpu.process_id = process_.header.process_id;
    gpu.recording.gpu.device = key.device;
    gpu.recording.gpu.window_start_ns = process_.header.start_ns;
    gpu.recording.gpu.window_end_ns = process_.end_ns();
    return gpu;
  }

  [[nodiscard]] std::optional<ApiCall> call_of(std::uint32_t number) const {
    if (const auto* coll = find_record(process_.coll_apis, number)) {
      return ApiCall{coll->record.stream, coll->record.count,
                     process_.text(coll->record.data_type)};
    }
    if (const auto* p2p = find_record(process_.p2p_apis, number)) {
      return ApiCall{p2p->record.stream, p2p->record.count, process_.text(p2p->record.data_type)};
    }
    return std::nullopt;
  }

  void warn(Gpu& gpu, std::string_view reason, std::string_view effect, std::string_view what) {
    gpu.recording.warnings.add(reason, effect, fmt::format("{} in {}", what, process_.file));
  }

  void add_coll(std::uint32_t number, const rec::Coll& coll) {
    const auto place = places_.find(coll.event.communicator);
    if (place == places_.end()) return void(++homeless_);
    const auto [gpu, communicator, rank] = place->second;
    const std::string& name = process_.text(coll.function);
    const auto function = model::nccl_function(name);
    if (!function) {
      return warn(*gpu, "operations that this program does not know", "left out", name);
    }
    model::Operation operation;
    operation.function = *function;
    operation.communicator = communicator;
    operation.algorithm =
        model::nccl_algorithm(process_.text(coll.algorithm)).value_or(model::NcclAlgorithm::kNone);
    operation.protocol =
        model::nccl_protocol(process_.text(coll.protocol)).value_or(model::NcclProtocol::kNone);
    set_size(*gpu, operation, coll);
    operation.in_place = coll_is_in_place(operation, coll, rank);
    const bool rooted = operation.function == NcclFunction::kBroadcast ||
                        operation.function == NcclFunction::kReduce;
    if (rooted) operation.root = coll.root;
    operation.sequence = coll.sequence;
    operation.num_channels = coll.channels;
    add(*gpu, operation, coll.plan, coll.event, number);
  }

  // NCCL gives the size of AllGather and Broadcast in bytes, that of others in elements. The call
  // of the API, where it was recorded, always has elements.
  void set_size(Gpu& gpu, model::Operation& operation, const rec::Coll& coll) {
    const bool in_bytes = operation.function == NcclFunction::kAllGather ||
                          operation.function == NcclFunction::kBroadcast;
    operation.element_bytes = in_bytes ? 1 : element_bytes(gpu, process_.text(coll.data_type));
    operation.bytes = coll.count * operation.element_bytes;
    const auto call = call_of(coll.event.parent);
    const std::uint32_t call_bytes = call ? model::nccl_element_bytes(call->data_type) : 0;
    if (call_bytes > 0) operation.bytes = call->count * call_bytes;
  }

  std::uint32_t element_bytes(Gpu& gpu, const std::string& type) {
    const std::uint32_t bytes = model::nccl_element_bytes(type);
    if (bytes == 0) warn(gpu, "data types that this program does not know", "taken as bytes", type);
    return std::max(bytes, 1U);
  }

  void add_p2p(std::uint32_t number, const rec::P2p& p2p) {
    const auto place = places_.find(p2p.event.communicator);
    if (place == places_.end()) return void(++homeless_);
    const auto [gpu, communicator, rank] = place->second;
    const std::string& name = process_.text(p2p.function);
    const auto function = model::nccl_function(name);
    if (!function || !model::is_point_to_point(*function)) {
      return warn(*gpu, "operations that this program does not know", "left out", name);
    }
    model::Operation operation;
    operation.function = *function;
    operation.communicator = communicator;
    operation.peer = p2p.peer;
    operation.element_bytes = element_bytes(*gpu, process_.text(p2p.data_type));
    operation.bytes = p2p.count * operation.element_bytes;
    operation.num_channels = p2p.channels;
    add(*gpu, operation, p2p.plan, p2p.event, number);
  }

  void add(Gpu& gpu,
           model::Operation& operation,
           std::uint32_t plan_number,
           const rec::Event& event,
           std::uint32_t number) {
    const PlanRun* plan = kernels_.find(plan_number);
    Pending pending{.operation = operation, .plan = plan != nullptr ? plan_number : number};
    pending.call_ns = event.start_ns;
    pending.operation.stream = stream_of(gpu, plan, call_of(event.parent));
    if (plan != nullptr && plan->in_graph) gpu.in_graphs.insert(operation.communicator);
    if (plan != nullptr && plan->captured) return void(gpu.captured.push_back(pending));
    if (plan != nullptr && plan->kernel != nullptr) {
      pending.operation.start_ns = plan->kernel->start_ns;
      pending.operation.end_ns = plan->kernel->end_ns;
      pending.has_kernel = true;
    } else {
      warn(gpu, "operations without a kernel's time", "they take no time, when they were called",
           fmt::format("{} {}", model::name_of(operation.function), number));
    }
    gpu.pending.push_back(pending);
  }

  // Repeats the captured operations of a GPU as often as their graphs ran.
  void run_graphs(Gpu& gpu) {
    std::map<std::uint32_t, std::vector<const Pending*>> by_plan;
    for (const Pending& captured : gpu.captured)
      by_plan[captured.plan].push_back(&captured);
    std::set<std::uint32_t> ran;
    std::int64_t too_many = 0;
    const std::size_t most = gpu.pending.size() + kMostRunAgain;
    const auto& replays = kernels_.graphs.replays;
    for (std::size_t i = 0; i < replays.size(); ++i) {
      const auto operations = by_plan.find(replays[i].plan);
      if (operations == by_plan.end()) continue;
      ran.insert(replays[i].plan);
      if (gpu.pending.size() + operations->second.size() > most) {
        ++too_many;
        continue;
      }
      for (const Pending* captured : operations->second) {
        Pending& pending = gpu.pending.emplace_back(*captured);
        // Numbers of plans are places in the file in units of 8 bytes, far below this.
        pending.plan = kReplays + static_cast<std::uint32_t>(i);
        pending.call_ns = replays[i].kernel->start_ns;
        pending.operation.start_ns = replays[i].kernel->start_ns;
        pending.operation.end_ns = replays[i].kernel->end_ns;
        pending.has_kernel = true;
      }
    }
    if (too_many > 0) {
      gpu.recording.warnings.add("kernels of CUDA graphs beyond 10 million operations", "left out",
                                 process_.file, too_many);
    }
    const auto idle = static_cast<std::int64_t>(by_plan.size() - ran.size());
    if (idle > 0) {
      gpu.recording.warnings.add("kernels captured into CUDA graphs that were not seen to run",
                                 "their operations are left out", process_.file, idle);
    }
  }

  static std::uint32_t stream_of(Gpu& gpu,
                                 const PlanRun* plan,
                                 const std::optional<ApiCall>& call) {
    std::string name = "unknown";
    if (plan != nullptr && plan->launch != nullptr) {
      name = fmt::format("{:#x}", plan->launch->stream);
    } else if (call) {
      name = fmt::format("{:#x}", call->stream);
    } else if (plan != nullptr && plan->kernel != nullptr) {
      name = fmt::format("{}", plan->kernel->stream);
    }
    const auto [found, added] =
        gpu.streams.emplace(name, static_cast<std::uint32_t>(gpu.streams.size()));
    if (added) gpu.recording.gpu.streams.push_back(name);
    return found->second;
  }

  static void finish(Gpu& gpu) {
    auto& pending = gpu.pending;
    std::stable_sort(pending.begin(), pending.end(),
                     [](const Pending& a, const Pending& b) { return a.call_ns < b.call_ns; });
    if (gpu.in_graphs.empty()) number_point_to_point(pending);
    place_without_kernel(pending);
    std::stable_sort(pending.begin(), pending.end(), [](const Pending& a, const Pending& b) {
      return a.operation.start_ns < b.operation.start_ns;
    });
    // NCCL does not count what graphs run, and nobody called it when it ran. The kernels of a
    // communicator run in the same order on all of its ranks.
    if (!gpu.in_graphs.empty()) {
      number_point_to_point(pending);
      number_collectives(gpu);
    }
    std::map<std::uint32_t, std::uint32_t> groups;
    std::int64_t& window_end_ns = gpu.recording.gpu.window_end_ns;
    for (Pending& entry : pending) {
      const auto number = static_cast<std::uint32_t>(groups.size());
      entry.operation.group = groups.emplace(entry.plan, number).first->second;
      window_end_ns = std::max(window_end_ns, entry.operation.end_ns);
      gpu.recording.gpu.operations.push_back(entry.operation);
    }
  }

  static void number_point_to_point(std::vector<Pending>& pending) {
    std::map<std::tuple<std::uint32_t, NcclFunction, std::int32_t>, std::uint64_t> counts;
    for (Pending& entry : pending) {
      model::Operation& operation = entry.operation;
      if (!model::is_point_to_point(operation.function)) continue;
      operation.sequence = counts[{operation.communicator, operation.function, operation.peer}]++;
    }
  }

  static void number_collectives(Gpu& gpu) {
    std::map<std::pair<std::uint32_t, NcclFunction>, std::uint64_t> counts;
    for (Pending& entry : gpu.pending) {
      model::Operation& operation = entry.operation;
      if (model::is_point_to_point(operation.function)) continue;
      if (gpu.in_graphs.count(operation.communicator) == 0) continue;
      operation.sequence = counts[{operation.communicator, operation.function}]++;
    }
  }

  // Places operations without a kernel at the time of their call, but not before the end of what
  // their stream had to do first.
  static void place_without_kernel(std::vector<Pending>& pending) {
    std::map<std::uint32_t, std::int64_t> ends;  // by stream
    for (Pending& entry : pending) {
      std::int64_t& end = ends.try_emplace(entry.operation.stream, entry.call_ns).first->second;
      if (!entry.has_kernel) {
        entry.operation.start_ns = std::max(end, entry.call_ns);
        entry.operation.end_ns = entry.operation.start_ns;
      }
      end = std::max(end, entry.operation.end_ns);
    }
  }

  void note_kernels(ProcessRecording& recording) const {
    recording.matches.by_correlation = kernels_.by_correlation;
    recording.matches.by_order = kernels_.by_order;
    if (kernels_.unused_kernels > 0) {
      recording.warnings.add("kernels of NCCL that belong to no recorded call", "passed over",
                             process_.file, static_cast<std::int64_t>(kernels_.unused_kernels));
    }
    if (kernels_.graphs.untied > 0) {
      recording.warnings.add("kernels of CUDA graphs that fit no captured call", "passed over",
                             process_.file, static_cast<std::int64_t>(kernels_.graphs.untied));
    }
    if (kernels_.graphs.ambiguous > 0) {
      recording.warnings.add("CUDA graphs that fit several runs of captured calls",
                             "tied to the first", process_.file,
                             static_cast<std::int64_t>(kernels_.graphs.ambiguous));
    }
    if (process_.header.dropped_kernels > 0) {
      recording.warnings.add("kernels whose records CUPTI lost", "their times are missing",
                             process_.file,
                             static_cast<std::int64_t>(process_.header.dropped_kernels));
    }
    if (process_.clocks.empty() && !process_.kernels.empty()) {
      recording.warnings.add("kernel times without a reading of the clock", "taken as they are",
                             process_.file);
    }
  }

  void note_file(model::Warnings& warnings) const {
    constexpr std::uint32_t kLimit = 2;
    constexpr std::uint32_t kDisk = 3;
    for (const std::string& note : process_.notes)
      warnings.add("the recorder said: " + note, "kept as it is", process_.file);
    if (process_.header.stopped == kLimit) {
      warnings.add("recordings that reached their size limit", "what came later is missing",
                   process_.file);
    }
    if (process_.header.stopped == kDisk) {
      warnings.add("recordings that ran out of disk space", "what came later is missing",
                   process_.file);
    }
    if (!process_.cut.empty()) {
      warnings.add("recordings that were cut off", "what came later is missing",
                   fmt::format("{}: {} are left", process_.file, process_.cut));
    }
    if (process_.damaged_blocks > 0) {
      warnings.add("damaged blocks of a recording", "their rest was passed over", process_.file,
                   static_cast<std::int64_t>(process_.damaged_blocks));
    }
    if (homeless_ > 0) {
      warnings.add("operations of a communicator whose record is missing", "left out",
                   process_.file, static_cast<std::int64_t>(homeless_));
    }
  }

  const RecordedProcess& process_;
  KernelMatch kernels_;
  std::map<GpuKey, Gpu> gpus_;
  std::map<std::uint32_t, Place> places_;  // by the number of the communicator's record
  std::uint64_t homeless_ = 0;
};

}  // namespace

std::vector<ProcessRecording> recordings_of(const RecordedProcess& process) {
  return RecordedGpuBuilder(process).build();
}

}  // namespace assay::goal
