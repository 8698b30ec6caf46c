// Columns "rank_<i>_…" of sheets with one row a collective.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "trace/collectives/cells.h"

namespace assay::trace::collectives {

// Where a rank's part in a collective is found in Matching::members; none for a rank outside its
// group. Members stand in rank order.
inline std::optional<std::uint32_t> member_of_rank(const Study& study,
                                                   const Collective& collective,
                                                   std::uint32_t rank_position) {
  const auto members = study.matching.members_of(collective);
  const auto found = std::lower_bound(
      members.begin(), members.end(), rank_position,
      [](const Member& member, std::uint32_t position) { return member.rank < position; });
  if (found == members.end() || found->rank != rank_position) return std::nullopt;
  return collective.first + static_cast<std::uint32_t>(found - members.begin());
}

// A figure of one member, shown for one rank. `Item` must have a member `collective`; `Value` maps
// a position in Matching::members to a cell.
template <class Item, class Value>
Field<Item> rank_field(const Study& study,
                       std::uint32_t rank_position,
                       model::Column column,
                       Value value) {
  column.name =
      "rank_" + std::to_string(study.recording.ranks[rank_position].rank) + "_" + column.name;
  return {std::move(column), [&study, rank_position, value](const Item& item) {
            const auto member =
                member_of_rank(study, study.collective(item.collective), rank_position);
            return member ? value(*member) : model::Cell{};
          }};
}

// Start (as recorded) and duration of the rank's kernel, in microseconds.
template <class Item>
Fields<Item> rank_time_fields(const Study& study, std::uint32_t rank_position) {
  const auto event = [&study](std::uint32_t member) -> const Event& {
    return event_of(study.recording, study.matching.members[member]);
  };
  return {rank_field<Item>(study, rank_position, {"ts", "us"},
                           [event](std::uint32_t member) -> model::Cell {
                             return static_cast<double>(event(member).start_ns) / 1e3;
                           }),
          rank_field<Item>(
              study, rank_position, {"dur", "us", model::Better::kLower},
              [event](std::uint32_t member) -> model::Cell { return event(member).duration_us; })};
}

// "0_17" of the whole collective.
template <class Item>
Field<Item> id_field(const Study& study) {
  return {{"collective_id"}, [&study, cells = Cells(study)](const Item& item) {
            const Collective& collective = study.collective(item.collective);
            return cells.id(study.catalog()[collective.metadata], collective.number);
          }};
}

}  // namespace assay::trace::collectives
