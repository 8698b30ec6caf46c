#include "trace/collectives/match.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace assay::trace::collectives {
namespace {

bool overlap(const Span& a, const Span& b) {
  return a.start <= b.end && b.start <= a.end;
}

double distance(const Span& a, const Span& b) {
  return std::fabs(a.end - b.end);
}

// The events of one signature on one rank, by start.
struct Lane {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> events = {};
};

using Lanes = std::vector<Lane>;  // by rank

// The share of events that ranks of one group leave together.
constexpr double kMostOf = 0.9;

bool may_join(const Catalog& catalog, const Metadata& metadata) {
  if (is_matched(metadata) || catalog.text(metadata.name) == "barrier") return true;
  if (!metadata.collective) return false;
  const model::NcclFunction function = metadata.collective->function;
  return function == model::NcclFunction::kBroadcast || function == model::NcclFunction::kReduce;
}

using Wanted = std::vector<bool>;  // by MetadataId: whether its events are matched

Wanted wanted_of(const Catalog& catalog, Kinds kinds) {
  Wanted result;
  for (MetadataId id = 0; id < catalog.size(); ++id)
    result.push_back(kinds == Kinds::kCompared ? is_matched(catalog[id])
                                               : may_join(catalog, catalog[id]));
  return result;
}

// A group that is guessed from ends that lie together tells nothing of clocks.
Wanted wanted_for_clocks(const Recording& recording) {
  const Catalog& catalog = recording.catalog;
  Wanted wanted = wanted_of(catalog, Kinds::kCompared);
  if (recording.compat != Compat::kNone) return wanted;
  for (MetadataId id = 0; id < catalog.size(); ++id)
    wanted[id] = wanted[id] && !is_unrecorded(catalog[id]);
  return wanted;
}

std::vector<std::vector<std::uint32_t>> signatures_by_group(const Catalog& catalog,
                                                            const Wanted& wanted) {
  std::vector<std::vector<std::uint32_t>> result(catalog.groups().size());
  std::vector<bool> listed(catalog.signature_count(), false);
  for (MetadataId id = 0; id < catalog.size(); ++id) {
    const Metadata& metadata = catalog[id];
    if (listed[metadata.signature] || !wanted[id]) continue;
    listed[metadata.signature] = true;
    result[metadata.group].push_back(metadata.signature);
  }
  return result;
}

// Returns for each signature the lanes of all ranks that use its group. A rank that lacks the
// signature has an empty lane.
std::vector<Lanes> lanes_by_signature(const Recording& recording, const Wanted& wanted) {
  const Catalog& catalog = recording.catalog;
  std::vector<Lanes> lanes(catalog.signature_count());
  const auto signatures = signatures_by_group(catalog, wanted);
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    std::vector<bool> seen(catalog.groups().size(), false);
    for (const std::uint32_t position : recording.ranks[r].by_start) {
      const MetadataId id = recording.ranks[r].events[position].metadata;
      if (!wanted[id]) continue;
      const Metadata& metadata = catalog[id];
      if (!seen[metadata.group]) {
        seen[metadata.group] = true;
        for (const std::uint32_t signature : signatures[metadata.group])
          lanes[signature].push_back({r});
      }
      lanes[metadata.signature].back().events.push_back(position);
    }
  }
  return lanes;
}

bool have_equal_counts(const Lanes& lanes) {
  return std::all_of(lanes.begin(), lanes.end(), [&](const Lane& lane) {
    return lane.events.size() == lanes.front().events.size();
  });
}

class Matcher {
 public:
  explicit Matcher(const Recording& recording) : recording_(recording) {}

  void add(const Lanes& lanes) {
    if (is_guessed_group(lanes)) return add_guessed(lanes);
    if (!have_equal_counts(lanes)) return add_columns(lanes, aligned(lanes));
    Columns ordered = by_order(lanes);
    const std::size_t plausible = plausible_columns(lanes, ordered);
    if (plausible == ordered.size()) return add_columns(lanes, ordered);
    // Equal counts can hide a missing event on one rank and another missing event on another.
    const Columns by_ends = aligned(lanes);
    const auto whole = std::count_if(by_ends.begin(), by_ends.end(), is_whole);
    add_columns(lanes, static_cast<std::size_t>(whole) > plausible ? by_ends : ordered);
  }

  void add_by_order(Lanes lanes) {
    std::map<std::size_t, std::size_t> ranks_with;
    for (const Lane& lane : lanes)
      ++ranks_with[lane.events.size()];
    const auto usual = std::max_element(ranks_with.begin(), ranks_with.end(),
                                        [](auto& a, auto& b) { return a.second < b.second; });
    std::erase_if(lanes, [&](const Lane& lane) { return lane.events.size() != usual->first; });
    add_columns(lanes, by_order(lanes));
  }

  Matching finish() {
    sort_collectives();
    number_collectives();
    std::stable_sort(result_.unmatched.begin(), result_.unmatched.end(),
                     [&](const Unmatched& a, const Unmatched& b) {
                       return std::pair(a.member.rank, event_of(recording_, a.member).start) <
                              std::pair(b.member.rank, event_of(recording_, b.member).start);
                     });
    return std::move(result_);
  }

 private:
  // The position of one collective's event in each lane, kAbsent where a lane lacks it.
  using Column = std::vector<std::uint32_t>;
  using Columns = std::vector<Column>;

  static bool is_whole(const Column& column) {
    return std::find(column.begin(), column.end(), kAbsent) == column.end();
  }

  // The names of kernels alone do not tell which ranks belong together.
  [[nodiscard]] bool is_guessed_group(const Lanes& lanes) const {
    if (recording_.compat != Compat::kNone || recording_.ranks.size() < 2) return false;
    const auto used = std::find_if(lanes.begin(), lanes.end(),
                                   [](const Lane& lane) { return !lane.events.empty(); });
    return used != lanes.end() && is_unrecorded(recording_.catalog[event(*used, 0).metadata]);
  }

  void add_guessed(const Lanes& lanes) {
    if (lanes.size() == recording_.ranks.size() && have_equal_counts(lanes)) {
      const Columns columns = by_order(lanes);
      const auto together =
          std::count_if(columns.begin(), columns.end(),
                        [&](const Column& column) { return are_together(lanes, column); });
      if (static_cast<double>(together) >= kMostOf * static_cast<double>(columns.size()))
        return add_columns(lanes, columns);
    }
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      for (std::uint32_t k = 0; k < lanes[l].events.size(); ++k) {
        Column alone(lanes.size(), kAbsent);
        alone[l] = k;
        add_unmatched(lanes, alone);
      }
    }
  }

  // Returns whether all ranks were inside at one instant and left about then.
  [[nodiscard]] bool are_together(const Lanes& lanes, const Column& column) const {
    const Extent extent = extent_of(lanes, column);
    return extent.last_start <= extent.first_end &&
           recording_.time.microseconds(extent.last_end - extent.first_end) <=
               together_us(extent.shortest_us);
  }

  // When the events of a column start and end, in units of Timebase.
  struct Extent {
    double last_start = -std::numeric_limits<double>::infinity();
    double first_end = std::numeric_limits<double>::infinity();
    double last_end = -std::numeric_limits<double>::infinity();
    double shortest_us = std::numeric_limits<double>::infinity();
  };

  [[nodiscard]] Extent extent_of(const Lanes& lanes, const Column& column) const {
    Extent extent;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      const Event& own = event(lanes[l], column[l]);
      extent.last_start = std::max(extent.last_start, own.start);
      extent.first_end = std::min(extent.first_end, own.end);
      extent.last_end = std::max(extent.last_end, own.end);
      extent.shortest_us = std::min(extent.shortest_us, own.duration_us);
    }
    return extent;
  }

  static Columns by_order(const Lanes& lanes) {
    Columns columns;
    for (std::uint32_t k = 0; k < lanes.front().events.size(); ++k)
      columns.emplace_back(lanes.size(), k);
    return columns;
  }

  [[nodiscard]] const Event& event(const Lane& lane, std::uint32_t position) const {
    return recording_.ranks[lane.rank].events[lane.events[position]];
  }

  // Counts the columns in which all ranks were inside at one instant. In a synchronising collective
  // they must have been.
  [[nodiscard]] std::size_t plausible_columns(const Lanes& lanes, const Columns& columns) const {
    if (columns.empty() || !synchronises(recording_.catalog[event(lanes.front(), 0).metadata])) {
      return columns.size();
    }
    const auto count = std::count_if(columns.begin(), columns.end(), [&](const Column& column) {
      const Extent extent = extent_of(lanes, column);
      return extent.last_start <= extent.first_end;
    });
    return static_cast<std::size_t>(count);
  }

  [[nodiscard]] std::vector<Span> spans(const Lane& lane) const {
    std::vector<Span> result;
    for (std::uint32_t k = 0; k < lane.events.size(); ++k)
      result.push_back({event(lane, k).start, event(lane, k).end});
    return result;
  }

  // Aligns every lane with the longest one. Events that the longest lane lacks get columns of their
  // own.
  [[nodiscard]] Columns aligned(const Lanes& lanes) const {
    const auto longest =
        static_cast<std::size_t>(std::max_element(lanes.begin(), lanes.end(),
                                                  [](const Lane& a, const Lane& b) {
                                                    return a.events.size() < b.events.size();
                                                  }) -
                                 lanes.begin());
    Columns columns(lanes[longest].events.size(), Column(lanes.size(), kAbsent));
    for (std::uint32_t k = 0; k < columns.size(); ++k)
      columns[k][longest] = k;
    const std::vector<Span> reference = spans(lanes[longest]);
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      if (l == longest) continue;
      const std::vector<std::uint32_t> partners = align_by_ends(spans(lanes[l]), reference);
      for (std::uint32_t k = 0; k < partners.size(); ++k) {
        if (partners[k] == kAbsent) columns.emplace_back(lanes.size(), kAbsent);
        (partners[k] == kAbsent ? columns.back() : columns[partners[k]])[l] = k;
      }
    }
    return columns;
  }

  void add_columns(const Lanes& lanes, const Columns& columns) {
    for (const Column& column : columns) {
      if (is_whole(column)) {
        add_collective(lanes, column);
      } else {
        add_unmatched(lanes, column);
      }
    }
  }

  void add_collective(const Lanes& lanes, const Column& column) {
    Collective collective;
    collective.metadata = event(lanes.front(), column.front()).metadata;
    collective.first = static_cast<std::uint32_t>(result_.members.size());
    collective.size = static_cast<std::uint32_t>(lanes.size());
    for (std::size_t l = 0; l < lanes.size(); ++l)
      result_.members.push_back({lanes[l].rank, lanes[l].events[column[l]]});
    result_.collectives.push_back(collective);
  }

  void add_unmatched(const Lanes& lanes, const Column& column) {
    std::vector<std::uint32_t> absent;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      if (column[l] == kAbsent) absent.push_back(lanes[l].rank);
    }
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      if (column[l] == kAbsent) continue;
      result_.unmatched.push_back({{lanes[l].rank, lanes[l].events[column[l]]}, absent});
    }
  }

  [[nodiscard]] auto order(const Collective& collective) const {
    const Member& first = result_.members[collective.first];
    const bool by_file = recording_.compat == Compat::kTraceLens;
    return std::tuple(first.rank, by_file ? 0.0 : event_of(recording_, first).start, first.event);
  }

  void sort_collectives() {
    std::sort(result_.collectives.begin(), result_.collectives.end(),
              [&](const Collective& a, const Collective& b) { return order(a) < order(b); });
  }

  void number_collectives() {
    std::vector<std::uint32_t> next(recording_.catalog.groups().size(), 0);
    for (Collective& collective : result_.collectives) {
      collective.number =
          recording_.compat == Compat::kTraceLens
              ? event_of(recording_, result_.members[collective.first]).index_in_group
              : next[recording_.catalog[collective.metadata].group]++;
    }
  }

  const Recording& recording_;
  Matching result_;
};

}  // namespace

double together_us(double shortest_us) {
  constexpr double kLeastUs = 50;
  constexpr double kShare = 0.5;
  return std::max(kLeastUs, kShare * shortest_us);
}

std::vector<std::uint32_t> align_by_ends(std::span<const Span> events,
                                         std::span<const Span> reference) {
  std::vector<std::uint32_t> partners(events.size(), kAbsent);
  std::size_t e = 0;
  std::size_t r = 0;
  while (e < events.size() && r < reference.size()) {
    const double here = distance(events[e], reference[r]);
    const bool can_skip_event = e + 1 < events.size();
    const bool can_skip_reference = r + 1 < reference.size();
    if (!overlap(events[e], reference[r])) {
      ++(events[e].end < reference[r].end ? e : r);
    } else if (can_skip_reference && distance(events[e], reference[r + 1]) < here) {
      ++r;
    } else if (can_skip_event && distance(events[e + 1], reference[r]) < here) {
      ++e;
    } else {
      partners[e++] = static_cast<std::uint32_t>(r++);
    }
  }
  return partners;
}

Matching match(const Recording& recording, Kinds kinds) {
  Matcher matcher(recording);
  for (const Lanes& lanes : lanes_by_signature(recording, wanted_of(recording.catalog, kinds))) {
    if (!lanes.empty()) matcher.add(lanes);
  }
  return matcher.finish();
}

Matching match_by_order(const Recording& recording) {
  Matcher matcher(recording);
  for (const Lanes& lanes : lanes_by_signature(recording, wanted_for_clocks(recording))) {
    if (!lanes.empty()) matcher.add_by_order(lanes);
  }
  return matcher.finish();
}

}  // namespace assay::trace::collectives
