#include "goal/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

using model::OpKind;
using model::PackedIndex;
using model::RankBuilder;
using model::RankView;
using model::ScheduleOp;

// Larger than any machine. Every rank up to the last one takes space in the file.
constexpr std::uint32_t kMostPlace = (1U << 24U) - 1;

template <class Use>
void for_each_tag(const model::Schedule& schedule, const Use& use) {
  for (const RankView& rank : schedule.ranks()) {
    for (const ScheduleOp& op : rank.ops) {
      if (op.kind != OpKind::kCalc && op.tag != model::kAnyTag) use(std::uint32_t{op.tag});
    }
  }
}

std::uint32_t most_tag(const model::Schedule& schedule) {
  std::uint32_t most = 0;
  for_each_tag(schedule, [&](std::uint32_t tag) { most = std::max(most, tag); });
  return most;
}

// Returns the tags in their order, each once. Most are repeated, so that they are sorted whenever
// twice as many have come.
std::vector<std::uint32_t> tags_of(const model::Schedule& schedule) {
  std::vector<std::uint32_t> tags;
  std::size_t limit = 1024;
  const auto tidy = [&] {
    std::sort(tags.begin(), tags.end());
    tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
    limit = std::max(limit, 2 * tags.size());
  };
  for_each_tag(schedule, [&](std::uint32_t tag) {
    tags.push_back(tag);
    if (tags.size() >= limit) tidy();
  });
  tidy();
  return tags;
}

std::uint32_t merged_tag(std::uint32_t tag, const PlacedJob& job) {
  if (tag == model::kAnyTag) return tag;
  if (job.tags.empty()) return tag + job.tag_offset;
  const auto found = std::lower_bound(job.tags.begin(), job.tags.end(), tag);
  return static_cast<std::uint32_t>(found - job.tags.begin()) + job.tag_offset;
}

void append(const RankView& rank, const PlacedJob& job, unsigned first_cpu, RankBuilder& builder) {
  const std::uint32_t base = builder.size();
  for (const ScheduleOp& op : rank.ops) {
    const model::Place place{.cpu = static_cast<std::uint8_t>(op.cpu + first_cpu), .nic = op.nic};
    if (op.kind == OpKind::kCalc) {
      builder.calc(op.size, place);
      continue;
    }
    const std::uint32_t peer = op.peer == model::kAnyPeer ? model::kAnyPeer : job.places[op.peer];
    const std::uint32_t tag = merged_tag(op.tag, job);
    if (op.kind == OpKind::kSend) {
      builder.send(op.size, peer, tag, place);
    } else {
      builder.receive(op.size, peer, tag, place);
    }
  }
  for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
    for (const PackedIndex& dependent : rank.after_finish(rank.ops[i]))
      builder.require_finish(base + dependent.value, base + i);
    for (const PackedIndex& dependent : rank.after_start(rank.ops[i]))
      builder.require_start(base + dependent.value, base + i);
  }
}

// Sets of ranks, each known by one of its members.
class RankSets {
 public:
  explicit RankSets(std::size_t ranks) : towards_(ranks) {
    std::iota(towards_.begin(), towards_.end(), 0U);
  }

  std::uint32_t of(std::uint32_t rank) {
    while (towards_[rank] != rank)
      rank = towards_[rank] = towards_[towards_[rank]];
    return rank;
  }

  void join(std::uint32_t a, std::uint32_t b) { towards_[of(a)] = of(b); }

 private:
  std::vector<std::uint32_t> towards_;
};

core::Status check_nodes(const MergeJob& job,
                         const std::vector<std::uint32_t>& places,
                         RankSets& sets) {
  std::map<std::uint32_t, std::string> names;
  for (std::size_t rank = 0; rank < job.nodes.size(); ++rank) {
    const std::string& known =
        names.try_emplace(sets.of(places[rank]), job.nodes[rank]).first->second;
    if (known == job.nodes[rank]) continue;
    return core::Error{
        fmt::format("{} has its nodes {} and {} apart, jobs on the same ranks have them as one",
                    job.name, known, job.nodes[rank])};
  }
  return {};
}

bool parse_number(std::string_view text, std::uint32_t& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end && number <= kMostPlace;
}

}  // namespace

core::Result<std::vector<std::uint32_t>> parse_places(const std::string& text) {
  std::vector<std::uint32_t> places;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(more ? comma + 1 : rest.size());
    const std::size_t dash = item.find('-');
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const bool good =
        parse_number(item.substr(0, dash), first) &&
        parse_number(dash == std::string_view::npos ? item : item.substr(dash + 1), last) &&
        first <= last;
    if (!good) {
      return core::Error{
          fmt::format("'{}' is no rank and no range of ranks such as 0-3; {} is the last rank",
                      item, kMostPlace)};
    }
    for (std::uint32_t place = first; place <= last; ++place)
      places.push_back(place);
  }
  return places;
}

core::Result<Merge> Merge::plan(std::vector<MergeJob> jobs) {
  Merge merge(std::move(jobs));
  ASSAY_TRY(merge.check_units());
  for (std::uint32_t job = 0; job < merge.jobs_.size(); ++job)
    ASSAY_TRY(merge.place(job));
  ASSAY_TRY(merge.separate_cpus());
  ASSAY_TRY(merge.separate_tags());
  merge.count_ambiguous();
  return merge;
}

core::Status Merge::check_units() const {
  for (const MergeJob& job : jobs_) {
    if (job.time_unit_ns == time_unit_ns()) continue;
    return core::Error{fmt::format(
        "{} counts calculations in units of {} ns, {} in units of {} ns: generate both --for the "
        "same simulator",
        jobs_[0].name, time_unit_ns(), job.name, job.time_unit_ns)};
  }
  return {};
}

core::Status Merge::place(std::uint32_t job) {
  std::vector<std::uint32_t> places = jobs_[job].places;
  const std::size_t ranks = jobs_[job].schedule.ranks().size();
  if (places.empty()) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      places.push_back(static_cast<std::uint32_t>(parts_.size() + rank));
  }
  if (places.size() != ranks) {
    return core::Error{fmt::format("{} has {} ranks, but the places named for it are {}",
                                   jobs_[job].name, ranks, places.size())};
  }
  const std::vector<std::string>& nodes = jobs_[job].nodes;
  if (!nodes.empty() && nodes.size() != ranks) {
    return core::Error{fmt::format("{} has {} ranks, but its notes have {}", jobs_[job].name, ranks,
                                   nodes.size())};
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (places[rank] >= parts_.size()) parts_.resize(places[rank] + std::size_t{1});
    std::vector<Part>& parts = parts_[places[rank]];
    if (!parts.empty() && parts.back().job == job) {
      return core::Error{
          fmt::format("{}: two of its ranks are placed on rank {}", jobs_[job].name, places[rank])};
    }
    parts.push_back({.job = job, .rank = rank});
  }
  placed_.push_back({.places = std::move(places)});
  return {};
}

core::Status Merge::separate_cpus() {
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    unsigned next = 0;
    for (Part& part : parts_[rank]) {
      part.first_cpu = next;
      next += jobs_[part.job].schedule.max_cpu() + 1;
      if (next <= model::kMostCpu + 1) continue;
      return core::Error{fmt::format(
          "the jobs on rank {} need {} cpus together, a rank has {} at most: place {} elsewhere",
          rank, next, model::kMostCpu + 1, jobs_[part.job].name)};
    }
  }
  return {};
}

core::Status Merge::separate_tags() {
  std::vector<std::uint64_t> counts;
  for (const MergeJob& job : jobs_)
    counts.push_back(std::uint64_t{most_tag(job.schedule)} + 1);
  if (move_tags(counts)) return {};
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    if (!shares_ranks(job)) continue;
    placed_[job].tags = tags_of(jobs_[job].schedule);
    counts[job] = placed_[job].tags.size();
  }
  if (move_tags(counts)) return {};
  return core::Error{fmt::format(
      "the jobs that share ranks have more tags than the {} that there are: place them elsewhere",
      std::uint64_t{model::kMostTag} + 1)};
}

// Moves the tags of each job, which are 0 to its count, beyond those of earlier ones on its ranks.
// Returns whether they end before the last one that there is.
bool Merge::move_tags(const std::vector<std::uint64_t>& counts) {
  // The offsets of earlier jobs are known when a later one needs them.
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    std::uint64_t first = 0;
    for (const std::uint32_t place : placed_[job].places) {
      for (const Part& other : parts_[place]) {
        if (other.job >= job) continue;
        first = std::max(first, placed_[other.job].tag_offset + counts[other.job]);
      }
    }
    if (first > 0 && first + counts[job] > std::uint64_t{model::kMostTag} + 1) return false;
    placed_[job].tag_offset = static_cast<std::uint32_t>(first);
  }
  return true;
}

bool Merge::shares_ranks(std::uint32_t job) const {
  return std::any_of(placed_[job].places.begin(), placed_[job].places.end(),
                     [&](std::uint32_t place) { return parts_[place].size() > 1; });
}

void Merge::count_ambiguous() {
  for (const std::vector<Part>& parts : parts_) {
    if (parts.size() < 2) continue;
    for (const Part& part : parts) {
      const auto ops = jobs_[part.job].schedule.ranks()[part.rank].ops;
      placed_[part.job].ambiguous += static_cast<std::uint64_t>(
          std::count_if(ops.begin(), ops.end(), [](const ScheduleOp& op) {
            return op.kind == OpKind::kReceive && op.tag == model::kAnyTag;
          }));
    }
  }
}

std::string Merge::made_for() const {
  const bool is_one = std::all_of(jobs_.begin(), jobs_.end(), [&](const MergeJob& job) {
    return job.made_for == jobs_[0].made_for;
  });
  return is_one && !jobs_.empty() ? jobs_[0].made_for : MergeJob().made_for;
}

core::Result<double> Merge::nic_gbps() const {
  const MergeJob* first = nullptr;
  for (const MergeJob& job : jobs_) {
    if (job.nic_gbps == 0) continue;
    if (first == nullptr) first = &job;
    if (job.nic_gbps == first->nic_gbps) continue;
    return core::Error{
        fmt::format("the algorithms of {} were chosen for NICs of {:g} GB/s, those of {} for {:g}",
                    first->name, first->nic_gbps, job.name, job.nic_gbps)};
  }
  return first == nullptr ? 0 : first->nic_gbps;
}

core::Result<std::vector<std::uint32_t>> Merge::nodes() const {
  std::vector<std::uint32_t> numbers;
  if (std::all_of(jobs_.begin(), jobs_.end(),
                  [](const MergeJob& job) { return job.nodes.empty(); }))
    return numbers;
  RankSets sets(parts_.size());
  for (std::size_t job = 0; job < jobs_.size(); ++job) {
    std::map<std::string, std::uint32_t> first_places;
    for (std::size_t rank = 0; rank < jobs_[job].nodes.size(); ++rank) {
      const std::uint32_t place = placed_[job].places[rank];
      sets.join(place, first_places.try_emplace(jobs_[job].nodes[rank], place).first->second);
    }
  }
  for (std::size_t job = 0; job < jobs_.size(); ++job)
    ASSAY_TRY(check_nodes(jobs_[job], placed_[job].places, sets));
  std::map<std::uint32_t, std::uint32_t> number_of;
  for (std::uint32_t rank = 0; rank < parts_.size(); ++rank) {
    const auto next = static_cast<std::uint32_t>(number_of.size());
    numbers.push_back(number_of.try_emplace(sets.of(rank), next).first->second);
  }
  return numbers;
}

core::Status Merge::write(model::RankSink& ranks) const {
  RankBuilder builder;
  model::RankImage image;
  for (const std::vector<Part>& parts : parts_) {
    for (const Part& part : parts) {
      append(jobs_[part.job].schedule.ranks()[part.rank], placed_[part.job], part.first_cpu,
             builder);
    }
    image = builder.finish(std::move(image));
    ASSAY_TRY(ranks.append(image));
  }
  return {};
}

}  // namespace assay::goal
