#include "trace/collectives/event.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "trace/communication_kernel.h"

namespace assay::trace::collectives {
namespace {

constexpr MetadataId kNotInterned = std::numeric_limits<MetadataId>::max();
constexpr double kNanosecondsPerMicrosecond = 1000;
constexpr std::int64_t kNoOrigin = std::numeric_limits<std::int64_t>::max();

// Extracts the events of one rank. It remembers which of the rank's metadata are in the catalog.
class Extractor {
 public:
  Extractor(const RankAnalysis& rank, const Timebase& time, Catalog& catalog)
      : rank_(rank),
        time_(time),
        catalog_(catalog),
        interned_(rank.trace->collectives.size(), kNotInterned),
        texts_(rank.trace->texts.size(), kNotInterned),
        inferred_(rank.trace->texts.size(), kNotInterned) {
    if (rank.options.compat == Compat::kNone) number_streams();
  }

  std::vector<Event> events() {
    std::vector<Event> result;
    for (std::size_t i = 0; i < rank_.trace->gpu_events.size(); ++i) {
      if (is_wanted(i)) result.push_back(event(i));
    }
    result.shrink_to_fit();
    return result;
  }

 private:
  [[nodiscard]] bool is_wanted(std::size_t index) const {
    if (rank_.gpu_work[index] != GpuWork::kCommunication) return false;
    if (rank_.options.compat == Compat::kNone) return rank_.counted[index];
    const model::GpuEvent& event = rank_.trace->gpu_events[index];
    return event.kind == model::GpuEventKind::kKernel &&
           (event.correlation >= 0 || event.external_id >= 0);
  }

  Event event(std::size_t index) {
    const model::GpuEvent& source = rank_.trace->gpu_events[index];
    Event result;
    result.start_ns = source.start_ns;
    set_times(result, source, rank_.gpu_intervals[index]);
    result.metadata = metadata_of(source);
    result.stream = source.stream;
    result.channels = source.grid[0];
    result.threads = source.block[0];
    if (source.collective >= 0)
      result.peer_rank =
          rank_.trace->collectives[static_cast<std::size_t>(source.collective)].peer_rank;
    return result;
  }

  void set_times(Event& event, const model::GpuEvent& source, const Interval& interval) const {
    if (rank_.options.compat == Compat::kTraceLens) {
      event.start = rank_.time.microseconds(interval.start);
      event.end = rank_.time.microseconds(interval.end);
      event.duration_us = static_cast<double>(source.duration_ns) / kNanosecondsPerMicrosecond;
      return;
    }
    event.start = static_cast<double>(interval.start - time_.origin_ns);
    event.end = static_cast<double>(interval.end - time_.origin_ns);
    event.duration_us = rank_.time.microseconds(interval.length());
  }

  MetadataId metadata_of(const model::GpuEvent& source) {
    if (source.collective < 0) return without_arguments(source);
    MetadataId& id = interned_[static_cast<std::size_t>(source.collective)];
    if (id == kNotInterned) {
      id = catalog_.intern(
          recorded(rank_.trace->collectives[static_cast<std::size_t>(source.collective)], source));
    }
    return id;
  }

  // Groups have streams of their own, so the streams stand for the groups of which no names were
  // recorded. Their numbers differ between processes, but not the order of their first use.
  void number_streams() {
    std::vector<std::size_t> unnamed;
    for (std::size_t i = 0; i < rank_.trace->gpu_events.size(); ++i)
      if (is_wanted(i) && rank_.trace->gpu_events[i].collective < 0) unnamed.push_back(i);
    std::stable_sort(unnamed.begin(), unnamed.end(), [this](std::size_t a, std::size_t b) {
      return rank_.gpu_intervals[a].start < rank_.gpu_intervals[b].start;
    });
    for (const std::size_t i : unnamed)
      streams_.try_emplace(rank_.trace->gpu_events[i].stream, streams_.size() + 1);
  }

  MetadataId without_arguments(const model::GpuEvent& source) {
    Metadata metadata = recorded(model::CollectiveArgs{}, source);
    if (rank_.options.compat == Compat::kNone)
      metadata.dtype = catalog_.text_id(communicated_type(rank_.trace->text(source.name)));
    const auto stream = streams_.find(source.stream);
    if (stream != streams_.end() && stream->second > 1)
      metadata.group_name =
          catalog_.text_id(fmt::format("not recorded (stream {})", stream->second));
    return catalog_.intern(metadata);
  }

  Metadata recorded(const model::CollectiveArgs& args, const model::GpuEvent& source) {
    Metadata result;
    result.name = args.name != 0 ? text(args.name) : inferred_name(source);
    result.dtype = text(args.dtype);
    result.group_name = text(args.group_name);
    result.group_ranks = text(args.group_ranks);
    result.in_split = text(args.in_split);
    result.out_split = text(args.out_split);
    result.in_elements = args.in_elements;
    result.out_elements = args.out_elements;
    result.group_size = args.group_size;
    return result;
  }

  // Kernels without recorded metadata have only their names: those of libraries other than NCCL,
  // and NCCL's in replayed graphs and in traces of PyTorch 2.0 and older.
  model::TextId inferred_name(const model::GpuEvent& source) {
    model::TextId& name = inferred_[source.name];
    if (name == kNotInterned) {
      const auto communication =
          communication_of(rank_.trace->text(source.name), rank_.options.compat);
      name = catalog_.text_id(communication.value_or(""));
    }
    return name;
  }

  model::TextId text(model::TextId id) {
    if (texts_[id] == kNotInterned) texts_[id] = catalog_.text_id(rank_.trace->text(id));
    return texts_[id];
  }

  const RankAnalysis& rank_;
  const Timebase& time_;
  Catalog& catalog_;
  std::vector<MetadataId> interned_;
  std::vector<model::TextId> texts_;             // the catalog's id for each text of this trace
  std::vector<model::TextId> inferred_;          // the collective's name for each kernel name
  std::map<std::int32_t, std::size_t> streams_;  // of unnamed groups, by first use, from 1 on
};

Timebase timebase_of(const RankAnalysis& rank) {
  if (rank.options.compat == Compat::kTraceLens) return {0, 1};
  std::int64_t origin = kNoOrigin;
  for (const Interval& interval : rank.gpu_intervals)
    origin = std::min(origin, interval.start);
  return {origin, kNanosecondsPerMicrosecond};
}

Timebase common_timebase(std::span<const RankRecording> ranks, Compat compat) {
  if (compat == Compat::kTraceLens) return {0, 1};
  std::int64_t origin = kNoOrigin;
  for (const RankRecording& rank : ranks)
    origin = std::min(origin, rank.time.origin_ns);
  return {origin == kNoOrigin ? 0 : origin, kNanosecondsPerMicrosecond};
}

// Interns what one rank recorded, and returns the new id of each of its entries.
std::vector<MetadataId> intern_all(const Catalog& from, Catalog& into) {
  std::vector<MetadataId> ids;
  for (MetadataId id = 0; id < from.size(); ++id) {
    Metadata metadata = from[id];
    for (auto text : {&Metadata::name, &Metadata::dtype, &Metadata::group_name,
                      &Metadata::group_ranks, &Metadata::in_split, &Metadata::out_split})
      metadata.*text = into.text_id(from.text(metadata.*text));
    ids.push_back(into.intern(metadata));
  }
  return ids;
}

// Times are whole numbers of nanoseconds, so that moving them to another origin is exact.
RankEvents in_common(const RankRecording& rank, const Timebase& time, Catalog& catalog) {
  RankEvents result{.rank = rank.rank,
                    .events = rank.events,
                    .by_start = {},
                    .overlap_percent = rank.overlap_percent};
  const std::vector<MetadataId> ids = intern_all(rank.catalog, catalog);
  const std::int64_t shift = rank.events.empty() ? 0 : rank.time.origin_ns - time.origin_ns;
  for (Event& event : result.events) {
    event.metadata = ids[event.metadata];
    if (shift == 0) continue;
    event.start = static_cast<double>(static_cast<std::int64_t>(event.start) + shift);
    event.end = static_cast<double>(static_cast<std::int64_t>(event.end) + shift);
  }
  return result;
}

void number_within_groups(RankEvents& rank, const Catalog& catalog) {
  rank.by_start.resize(rank.events.size());
  std::iota(rank.by_start.begin(), rank.by_start.end(), 0U);
  std::stable_sort(rank.by_start.begin(), rank.by_start.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return rank.events[a].start < rank.events[b].start;
                   });
  std::vector<std::uint32_t> next(catalog.groups().size(), 0);
  for (const std::uint32_t position : rank.by_start) {
    Event& event = rank.events[position];
    event.index_in_group = next[catalog[event.metadata].group]++;
  }
}

int devices_of_a_node(std::span<const RankRecording> ranks) {
  int devices = 0;
  for (const RankRecording& rank : ranks)
    devices = std::max(devices, rank.devices_listed);
  return devices;
}

int world_size_of(std::span<const RankRecording> ranks) {
  int size = 0;
  for (const RankRecording& rank : ranks)
    size = std::max({size, rank.rank + 1, rank.world_size});
  return size;
}

// Returns the device on which a rank did most of its work, or -1 when no event names one.
int device_of(const RankAnalysis& rank) {
  std::map<int, std::int64_t> events;
  for (const model::GpuEvent& event : rank.trace->gpu_events)
    if (event.device >= 0) ++events[event.device];
  const auto most =
      std::max_element(events.begin(), events.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == events.end() ? -1 : most->first;
}

// Two ranks of a host have different devices. Returns the most ranks a host, at most as many as
// devices are listed, with which that holds.
int ranks_of_a_node(std::span<const RankRecording> ranks, int listed) {
  std::vector<std::pair<int, int>> devices;  // rank, device
  for (const RankRecording& rank : ranks)
    if (rank.device >= 0) devices.emplace_back(rank.rank, rank.device);
  const auto fits = [&](int ranks_per_node) {
    std::set<std::pair<int, int>> used;
    return std::all_of(devices.begin(), devices.end(), [&](const auto& own) {
      return used.emplace(own.first / ranks_per_node, own.second).second;
    });
  };
  int ranks_per_node = listed;
  while (ranks_per_node > 1 && !fits(ranks_per_node))
    --ranks_per_node;
  return ranks_per_node;
}

}  // namespace

RankRecording record_rank(const RankAnalysis& rank) {
  const Compat compat = rank.options.compat;
  RankRecording result{.compat = compat,
                       .rank = rank.rank,
                       .world_size = rank.trace->world_size.value_or(0),
                       .devices_listed = rank.trace->device_count,
                       .device = device_of(rank),
                       .time = timebase_of(rank),
                       .catalog = Catalog(compat, 0),
                       .events = {}};
  result.events = Extractor(rank, result.time, result.catalog).events();
  return result;
}

Recording join_ranks(std::span<const RankRecording> ranks, std::optional<int> gpus_per_node) {
  const Compat compat = ranks.empty() ? Compat::kNone : ranks.front().compat;
  const int listed = gpus_per_node.value_or(devices_of_a_node(ranks));
  const bool as_listed = gpus_per_node || compat == Compat::kTraceLens;
  const int ranks_per_node = as_listed ? listed : ranks_of_a_node(ranks, listed);
  Recording result{compat,
                   ranks_per_node,
                   gpus_per_node.has_value(),
                   listed,
                   world_size_of(ranks),
                   common_timebase(ranks, compat),
                   Catalog(compat, ranks_per_node),
                   {}};
  for (const RankRecording& rank : ranks) {
    result.ranks.push_back(in_common(rank, result.time, result.catalog));
    result.ranks.back().node = ranks_per_node > 0 ? rank.rank / ranks_per_node : 0;
  }
  std::stable_sort(result.ranks.begin(), result.ranks.end(),
                   [](const RankEvents& a, const RankEvents& b) { return a.rank < b.rank; });
  for (RankEvents& rank : result.ranks)
    number_within_groups(rank, result.catalog);
  return result;
}

Recording extract(std::span<const RankAnalysis> ranks, std::optional<int> gpus_per_node) {
  std::vector<RankRecording> recordings;
  for (const RankAnalysis& rank : ranks)
    recordings.push_back(record_rank(rank));
  return join_ranks(recordings, gpus_per_node);
}

}  // namespace assay::trace::collectives
