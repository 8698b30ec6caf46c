#include "goal/reshape_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "core/counted.h"
#include "goal/topology.h"

namespace assay::goal {

std::vector<std::int64_t> clock_starts(const model::Job& job) {
  std::vector<std::int64_t> starts;
  for (const model::JobGpu& gpu : job.gpus) {
    if (gpu.clock >= starts.size()) {
      starts.resize(gpu.clock + 1, std::numeric_limits<std::int64_t>::max());
    }
    std::int64_t start = gpu.window_start_ns;
    if (start == 0) {
      if (gpu.operations.empty()) continue;  // this GPU tells nothing about the clock
      start = gpu.operations.front().start_ns;
    }
    starts[gpu.clock] = std::min(starts[gpu.clock], start);
  }
  return starts;
}

namespace {

using model::Operation;

// Communicator, function (Send for both sides of a pair), source, destination, sequence.
using ExchangeKey =
    std::tuple<std::uint32_t, model::NcclFunction, std::int64_t, std::int64_t, std::uint64_t>;

ExchangeKey exchange_key(const model::Job& job, std::uint32_t gpu, const Operation& operation) {
  if (!is_point_to_point(operation.function)) {
    return {operation.communicator, operation.function, -1, -1, operation.sequence};
  }
  const auto& gpus = job.communicators[operation.communicator].gpus;
  const std::int64_t rank = std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin();
  const bool sends = operation.function == model::NcclFunction::kSend;
  return {operation.communicator, model::NcclFunction::kSend, sends ? rank : operation.peer,
          sends ? operation.peer : rank, operation.sequence};
}

std::int64_t nanoseconds(const std::optional<double>& seconds, std::int64_t otherwise) {
  return seconds ? static_cast<std::int64_t>(*seconds * 1e9) : otherwise;
}

// Drops the operations that `outside` names. What waited for one of them waits for it no longer.
template <class Outside>
void keep_operations(model::JobGpu& gpu, const Outside& outside) {
  constexpr std::uint32_t kDropped = 0xFFFFFFFF;
  std::vector<std::uint32_t> place_of;
  std::vector<std::uint32_t> waits;
  std::vector<Operation> kept;
  for (Operation& operation : gpu.operations) {
    place_of.push_back(outside(operation) ? kDropped : static_cast<std::uint32_t>(kept.size()));
    if (place_of.back() == kDropped) continue;
    const std::uint32_t first = operation.first_wait;
    operation.first_wait = static_cast<std::uint32_t>(waits.size());
    for (std::uint32_t i = 0; i < operation.num_waits; ++i) {
      const std::uint32_t place = place_of[gpu.waits[first + i]];
      if (place != kDropped) waits.push_back(place);
    }
    operation.num_waits = static_cast<std::uint32_t>(waits.size()) - operation.first_wait;
    kept.push_back(operation);
  }
  gpu.operations = std::move(kept);
  gpu.waits = std::move(waits);
}

}  // namespace

core::Result<model::Job> cut_window(model::Job job, const Window& window) {
  if (!window.given()) return job;
  const std::int64_t from_ns = nanoseconds(window.from_s, 0);
  const std::int64_t to_ns = nanoseconds(window.to_s, std::numeric_limits<std::int64_t>::max());
  const std::vector<std::int64_t> zero = clock_starts(job);
  std::map<ExchangeKey, std::int64_t> first_start;
  for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
    for (const Operation& operation : job.gpus[gpu].operations) {
      if (operation.communicator == model::kNoCommunicator) continue;
      const std::int64_t start = operation.start_ns - zero[job.gpus[gpu].clock];
      const auto [at, is_new] = first_start.emplace(exchange_key(job, gpu, operation), start);
      if (!is_new) at->second = std::min(at->second, start);
    }
  }
  std::size_t kept = 0;
  for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
    model::JobGpu& from = job.gpus[gpu];
    const auto outside = [&](const Operation& operation) {
      const std::int64_t start = operation.communicator == model::kNoCommunicator
                                     ? operation.start_ns - zero[from.clock]
                                     : first_start.at(exchange_key(job, gpu, operation));
      return start < from_ns || start >= to_ns;
    };
    keep_operations(from, outside);
    kept += from.operations.size();
    const std::int64_t start = zero[from.clock];
    from.window_start_ns = std::max(from.window_start_ns, start + from_ns);
    if (window.to_s) from.window_end_ns = std::min(from.window_end_ns, start + to_ns);
  }
  if (kept > 0) return job;
  return core::Error{fmt::format("no operation began between {} s and {} of the recording",
                                 window.from_s.value_or(0),
                                 window.to_s ? fmt::format("{} s", *window.to_s) : "the end")};
}

namespace {

using model::ChannelLinks;
using model::Communicator;
using model::Job;
using model::NcclFunction;
using model::Operation;

struct Use {
  bool collectives = false;
  bool gathers = false;
  bool scatters = false;
};

std::vector<Use> find_uses(const Job& job) {
  std::vector<Use> uses(job.communicators.size());
  for (const model::JobGpu& gpu : job.gpus) {
    for (const Operation& operation : gpu.operations) {
      if (operation.communicator == model::kNoCommunicator) continue;
      Use& use = uses[operation.communicator];
      use.collectives |= !is_point_to_point(operation.function);
      use.gathers |= operation.function == NcclFunction::kAllGather;
      use.scatters |= operation.function == NcclFunction::kReduceScatter;
    }
  }
  return uses;
}

std::string known_communicators(const Job& job) {
  std::string known;
  for (const Communicator& communicator : job.communicators)
    known +=
        fmt::format(" {} ({})", communicator.name, core::counted(communicator.gpus.size(), "rank"));
  return known;
}

core::Result<std::vector<bool>> named_communicators(const Job& job, std::string_view names) {
  std::vector<bool> grow(job.communicators.size());
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    bool is_known = false;
    for (std::size_t i = 0; i < grow.size(); ++i) {
      if (job.communicators[i].name != name) continue;
      grow[i] = is_known = true;
    }
    if (is_known) continue;
    return core::Error{
        fmt::format("no communicator {}; name those that synchronise replicas, of:{}", name,
                    known_communicators(job))};
  }
  return grow;
}

// Two communicators that gather and scatter and have a GPU in common, but not all: parameters are
// sharded over one, and the other may be of tensor parallelism with sequences in parts.
core::Status check_shards(const Job& job, const std::vector<bool>& shards) {
  std::vector<std::uint32_t> found(job.gpus.size(), 0);  // by GPU: 1 + its first one
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    if (!shards[i]) continue;
    for (const std::uint32_t gpu : job.communicators[i].gpus) {
      if (gpu == model::kNoGpu) continue;
      std::uint32_t& first = found[gpu];
      if (first == 0) first = i + 1;
      const Communicator& other = job.communicators[first - 1];
      if (other.gpus == job.communicators[i].gpus) continue;
      return core::Error{fmt::format(
          "{} and {} both gather and scatter, and share GPUs: --replica-communicator has to name "
          "those that synchronise replicas, with commas, of:{}",
          other.name, job.communicators[i].name, known_communicators(job))};
    }
  }
  return {};
}

}  // namespace

core::Result<std::vector<bool>> growing_communicators(const Job& job, const std::string& named) {
  if (!named.empty()) return named_communicators(job, named);
  const std::vector<Use> uses = find_uses(job);
  const bool is_stated =
      std::any_of(job.communicators.begin(), job.communicators.end(),
                  [](const Communicator& communicator) { return communicator.spans_replicas(); });
  std::vector<bool> shards;
  std::vector<bool> grow;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Communicator& communicator = job.communicators[i];
    const bool spans_all = communicator.gpus.size() == job.gpus.size();
    shards.push_back(!is_stated && uses[i].gathers && uses[i].scatters);
    grow.push_back(is_stated ? communicator.spans_replicas()
                             : shards[i] || (uses[i].collectives && spans_all));
  }
  ASSAY_TRY(check_shards(job, shards));
  if (std::find(grow.begin(), grow.end(), true) != grow.end()) return grow;
  return core::Error{fmt::format(
      "no communicator with all ranks or with sharded parameters; name those that synchronise "
      "replicas, of:{}",
      known_communicators(job))};
}

namespace {

class Scaler {
 public:
  Scaler(const Job& job, unsigned replicas, std::vector<bool> grow)
      : job_(job), replicas_(replicas), grow_(std::move(grow)) {
    scaled_.nccl_version = job.nccl_version;
    scaled_.matches = job.matches;
    scaled_.warnings = job.warnings;
  }

  Job run() {
    number_communicators();
    for (unsigned replica = 0; replica < replicas_; ++replica) {
      for (const model::JobGpu& gpu : job_.gpus)
        add_gpu(gpu, replica);
    }
    for (std::size_t i = 0; i < grow_.size(); ++i) {
      if (grow_[i]) {
        add_grown(job_.communicators[i]);
      } else {
        add_copies(job_.communicators[i]);
      }
    }
    return std::move(scaled_);
  }

 private:
  void number_communicators() {
    std::uint32_t next = 0;
    for (const bool grows : grow_) {
      first_number_.push_back(next);
      next += grows ? 1 : replicas_;
    }
  }

  std::uint32_t gpu(std::uint32_t recorded, unsigned replica) const {
    if (recorded == model::kNoGpu) return recorded;
    return recorded + replica * static_cast<std::uint32_t>(job_.gpus.size());
  }

  void add_gpu(const model::JobGpu& recorded, unsigned replica) {
    model::JobGpu& made = scaled_.gpus.emplace_back(recorded);
    if (replica > 0) made.node += fmt::format(".{}", replica);
    made.clock += replica * num_clocks();
    for (Operation& operation : made.operations) {
      const std::uint32_t communicator = operation.communicator;
      if (communicator == model::kNoCommunicator) continue;
      operation.communicator = first_number_[communicator] + (grow_[communicator] ? 0 : replica);
      if (grow_[communicator]) grow(operation, communicator, replica);
    }
  }

  std::uint32_t num_clocks() const {
    std::uint32_t clocks = 0;
    for (const model::JobGpu& gpu : job_.gpus)
      clocks = std::max(clocks, gpu.clock + 1);
    return clocks;
  }

  void grow(Operation& operation, std::uint32_t communicator, unsigned replica) const {
    const std::size_t ranks = job_.communicators[communicator].gpus.size();
    if (is_point_to_point(operation.function)) {
      operation.peer += static_cast<std::int32_t>(replica * ranks);
      return;
    }
    const bool shares = operation.function == NcclFunction::kAllGather ||
                        operation.function == NcclFunction::kReduceScatter;
    if (shares) {
      const std::uint64_t elements = operation.bytes / operation.element_bytes;
      operation.bytes = (elements + replicas_ - 1) / replicas_ * operation.element_bytes;
    }
    // The recorded cut was made for the recorded ranks; NCCL's rules make the new one.
    operation.num_channels = std::max(operation.num_channels, operation.num_parts);
    operation.num_parts = 0;
  }

  void add_copies(const Communicator& recorded) {
    for (unsigned replica = 0; replica < replicas_; ++replica) {
      Communicator& made = scaled_.communicators.emplace_back(recorded);
      if (replica > 0) made.name += fmt::format(".{}", replica);
      for (std::uint32_t& member : made.gpus)
        member = gpu(member, replica);
    }
  }

  void add_grown(const Communicator& recorded) {
    Communicator made{
        .name = recorded.name, .gpus = {}, .channels = {}, .parallelism = recorded.parallelism};
    std::vector<std::string> nodes;
    for (unsigned replica = 0; replica < replicas_; ++replica) {
      for (const std::uint32_t member : recorded.gpus) {
        made.gpus.push_back(gpu(member, replica));
        nodes.push_back(member == model::kNoGpu ? "" : scaled_.gpus[made.gpus.back()].node);
      }
    }
    for (std::uint32_t channel = 0; channel < recorded.channels.size(); ++channel) {
      std::vector<ChannelLinks>& links =
          made.channels.emplace_back(made.gpus.size(), ChannelLinks{});
      const std::vector<ChannelLinks>& ring = recorded.channels[channel];
      link_rings(ring, entry_of(recorded, ring, channel), links);
      link_trees(links, nodes, tree_of_channel(channel, recorded.channels.size()), channel);
    }
    scaled_.communicators.push_back(std::move(made));
  }

  // Returns the rank at which a replica's ring is entered. A ring over nodes is cut where it comes
  // to another node. One within a node is entered at another GPU for each channel, since NCCL gives
  // each network card its channels.
  std::int32_t entry_of(const Communicator& recorded,
                        const std::vector<ChannelLinks>& ring,
                        std::size_t channel) const {
    const auto node = [&](std::size_t rank) -> const std::string& {
      static const std::string none;
      const std::uint32_t gpu = recorded.gpus[rank];
      return gpu == model::kNoGpu ? none : job_.gpus[gpu].node;
    };
    for (std::size_t rank = 0; rank < std::min(ring.size(), recorded.gpus.size()); ++rank) {
      const std::int32_t before = ring[rank].ring_previous;
      if (before < 0 || static_cast<std::size_t>(before) >= recorded.gpus.size()) continue;
      if (node(rank) != node(static_cast<std::size_t>(before))) {
        return static_cast<std::int32_t>(rank);
      }
    }
    return static_cast<std::int32_t>(channel % std::max<std::size_t>(ring.size(), 1));
  }

  // Links the rings of the replicas: each is entered at `entry` and left before it returns there.
  void link_rings(const std::vector<ChannelLinks>& recorded,
                  std::int32_t entry,
                  std::vector<ChannelLinks>& links) const {
    const std::size_t ranks = recorded.size();
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::size_t base = i / ranks * ranks;
      const auto at = [&](std::size_t first, std::int32_t rank) {
        return static_cast<std::int32_t>((first + static_cast<std::size_t>(rank)) % links.size());
      };
      const ChannelLinks& from = recorded[i % ranks];
      const bool enters = static_cast<std::int32_t>(i % ranks) == entry;
      const std::size_t next_base = from.ring_next == entry ? base + ranks : base;
      const std::size_t previous_base = enters ? base + links.size() - ranks : base;
      links[i].ring_next = from.ring_next < 0 ? -1 : at(next_base, from.ring_next);
      links[i].ring_previous = from.ring_previous < 0 ? -1 : at(previous_base, from.ring_previous);
    }
  }

  const Job& job_;
  unsigned replicas_;
  std::vector<bool> grow_;                   // by recorded communicator
  std::vector<std::uint32_t> first_number_;  // by recorded communicator
  Job scaled_;
};

}  // namespace

namespace {

// Communicators of some of the GPUs are taken to shard parameters because they gather and scatter.
void warn_of_guesses(const Job& job, const std::vector<bool>& grow, model::Warnings& warnings) {
  for (std::size_t i = 0; i < grow.size(); ++i) {
    const Communicator& communicator = job.communicators[i];
    if (!grow[i] || communicator.spans_replicas() || communicator.gpus.size() == job.gpus.size())
      continue;
    warnings.add(
        "communicators of some GPUs that gather and scatter",
        "taken to shard parameters over all replicas; --replica-communicator names others",
        fmt::format("{} ({})", communicator.name, core::counted(communicator.gpus.size(), "rank")));
  }
}

}  // namespace

core::Result<Job> scale(const Job& job, const ScaleOptions& options) {
  if (options.replicas <= 1) return job;
  const std::size_t gpus = job.gpus.size() * options.replicas;
  if (gpus > std::numeric_limits<std::int32_t>::max()) {
    return core::Error{fmt::format("{} GPUs are more than a schedule can number", gpus)};
  }
  const std::vector<bool> grow = ASSAY_TRY(growing_communicators(job, options.communicator));
  Job scaled = Scaler(job, options.replicas, grow).run();
  if (options.communicator.empty()) warn_of_guesses(job, grow, scaled.warnings);
  return scaled;
}

}  // namespace assay::goal
