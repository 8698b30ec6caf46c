// unmatched_collectives: events that have no counterpart on some rank of their group.
#include <algorithm>
#include <string>

#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

constexpr std::size_t kMostRanksNamed = 8;

std::string describe_call(const Study& study, const Metadata& metadata) {
  const Catalog& catalog = study.catalog();
  return std::string(catalog.text(metadata.name)) + " " +
         std::string(catalog.text(metadata.dtype)) + " of " + std::to_string(metadata.in_elements) +
         " elements";
}

// Returns the event of an absent rank in the same group at the same time, if that has no
// counterpart either: the two are then the same call with different arguments.
const Unmatched* other_call(const Study& study, const Unmatched& unmatched, std::uint32_t rank) {
  const Event& event = event_of(study.recording, unmatched.member);
  const auto& unmatched_events = study.matching.unmatched;
  const auto group = study.catalog()[event.metadata].group;
  auto at = std::lower_bound(
      unmatched_events.begin(), unmatched_events.end(), rank,
      [&](const Unmatched& u, std::uint32_t r) {
        return u.member.rank < r ||
               (u.member.rank == r && event_of(study.recording, u.member).end < event.start);
      });
  for (; at != unmatched_events.end() && at->member.rank == rank; ++at) {
    const Event& other = event_of(study.recording, at->member);
    if (other.start > event.end) break;
    if (study.catalog()[other.metadata].group == group) return &*at;
  }
  return nullptr;
}

std::string unmatched_reason(const Study& study, const Unmatched& unmatched) {
  const Event& own = event_of(study.recording, unmatched.member);
  if (study.recording.compat == Compat::kNone && is_unrecorded(study.catalog()[own.metadata]))
    return "its group was not recorded, and the ranks differ in how many such kernels they have or "
           "do not leave them together";
  std::string ranks;
  for (std::size_t i = 0; i < unmatched.absent.size() && i < kMostRanksNamed; ++i) {
    ranks += (i == 0 ? "" : ", ") + std::to_string(study.recording.ranks[unmatched.absent[i]].rank);
  }
  if (unmatched.absent.size() > kMostRanksNamed)
    ranks += " and " + std::to_string(unmatched.absent.size() - kMostRanksNamed) + " more";
  std::string text =
      (unmatched.absent.size() == 1 ? "no counterpart on rank " : "no counterpart on ranks ") +
      ranks;
  const std::uint32_t first = unmatched.absent.front();
  if (const Unmatched* other = other_call(study, unmatched, first)) {
    const Event& event = event_of(study.recording, other->member);
    text += "; rank " + std::to_string(study.recording.ranks[first].rank) + " ran " +
            describe_call(study, study.catalog()[event.metadata]) + " instead";
  }
  return text;
}

std::vector<model::Table> build_unmatched_collectives(const Study& study) {
  if (study.matching.unmatched.empty()) return {};
  const auto event = [&study](const Unmatched& row) -> const Event& {
    return event_of(study.recording, row.member);
  };
  const MetadataFields<Unmatched> columns(study,
                                          [&study, event](const Unmatched& row) -> const Metadata& {
                                            return study.catalog()[event(row).metadata];
                                          });
  const Fields<Unmatched> fields = {
      {{"rank"},
       [&study](const Unmatched& row) {
         return std::int64_t{study.recording.ranks[row.member.rank].rank};
       }},
      columns.group_name(),
      columns.group_ranks(),
      columns.name(),
      columns.dtype(),
      columns.in_elements(),
      columns.size("In msg size (MB)", &Metadata::in_mib),
      {{"index_in_group"},
       [event](const Unmatched& row) { return std::int64_t{event(row).index_in_group}; }},
      {{"ts", "us"},
       [event](const Unmatched& row) { return static_cast<double>(event(row).start_ns) / 1e3; }},
      {{"dur", "us"}, [event](const Unmatched& row) { return event(row).duration_us; }},
      {{"reason"}, [&study](const Unmatched& row) { return unmatched_reason(study, row); }},
  };
  return single(make_table("unmatched_collectives",
                           "Collectives without a counterpart on each rank of their group", fields,
                           study.matching.unmatched));
}

const CollectiveSheet kUnmatchedCollectives{"unmatched_collectives", 900,
                                            build_unmatched_collectives};
ASSAY_REGISTER(CollectiveSheet, kUnmatchedCollectives);

}  // namespace
}  // namespace assay::trace::collectives
