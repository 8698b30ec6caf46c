#include "goal/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
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

std::uint32_t most_tag(const model::Schedule& schedule) {
  std::uint32_t most = 0;
  for (const RankView& rank : schedule.ranks()) {
    for (const ScheduleOp& op : rank.ops) {
      if (op.kind != OpKind::kCalc && op.tag != model::kAnyTag)
        most = std::max(most, std::uint32_t{op.tag});
    }
  }
  return most;
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
    const std::uint32_t tag = op.tag == model::kAnyTag ? model::kAnyTag : op.tag + job.tag_offset;
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
  for (std::uint32_t job = 0; job < merge.jobs_.size(); ++job)
    ASSAY_TRY(merge.place(job));
  ASSAY_TRY(merge.separate_cpus());
  ASSAY_TRY(merge.separate_tags());
  merge.count_ambiguous();
  return merge;
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
  std::vector<std::uint64_t> first(jobs_.size());
  std::vector<std::uint64_t> tags(jobs_.size());
  for (std::size_t job = 0; job < jobs_.size(); ++job)
    tags[job] = std::uint64_t{most_tag(jobs_[job].schedule)} + 1;
  // The offsets of earlier jobs are known when a later one needs them.
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    for (const std::uint32_t place : placed_[job].places) {
      for (const Part& other : parts_[place]) {
        if (other.job < job) first[job] = std::max(first[job], first[other.job] + tags[other.job]);
      }
    }
    if (first[job] > 0 && first[job] + tags[job] - 1 > model::kMostTag) {
      return core::Error{fmt::format(
          "the tags of {} would begin at {} to keep clear of the jobs that it shares ranks with, "
          "and end beyond {}, the last one: place it elsewhere, or make the schedules with a "
          "smaller --tag-layout",
          jobs_[job].name, first[job], model::kMostTag)};
    }
    placed_[job].tag_offset = static_cast<std::uint32_t>(first[job]);
  }
  return {};
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
