// nccl_long: every communication kernel of every rank.
#include "trace/collectives/cells.h"
#include "trace/collectives/launch.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

constexpr std::uint32_t kNoCollective = 0xFFFFFFFF;

struct Row {
  const RankEvents* rank = nullptr;
  const Event* event = nullptr;
  std::uint32_t number = kNoCollective;  // of the matched collective, within its group
};

std::vector<Row> rows_of(const Study& study) {
  std::vector<Row> rows;
  std::vector<std::size_t> first_row;
  for (const RankEvents& rank : study.recording.ranks) {
    first_row.push_back(rows.size());
    for (const Event& event : rank.events)
      rows.push_back({&rank, &event, study.is_compat() ? event.index_in_group : kNoCollective});
  }
  if (study.is_compat()) return rows;
  for (const Collective& collective : study.matching.collectives) {
    for (const Member& member : study.matching.members_of(collective))
      rows[first_row[member.rank] + member.event].number = collective.number;
  }
  return rows;
}

template <class Value>
model::Cell launch_value(Value value) {
  return value == 0 ? model::Cell{} : model::Cell{std::int64_t{value}};
}

std::vector<model::Table> build(const Study& study) {
  const std::vector<Row> rows = rows_of(study);
  if (rows.empty()) return {};
  const auto metadata = [&study](const Row& row) -> const Metadata& {
    return study.catalog()[row.event->metadata];
  };
  const MetadataFields<Row> of(study, metadata);
  Fields<Row> fields = {
      {{"collective_id", "", model::Better::kNeither, "empty when not matched across ranks"},
       [metadata, cells = of.cells()](const Row& row) {
         return row.number == kNoCollective ? model::Cell{}
                                            : model::Cell{cells.id(metadata(row), row.number)};
       }},
      {{"index_in_group"}, [](const Row& row) { return std::int64_t{row.event->index_in_group}; }},
      {{"rank"}, [](const Row& row) { return std::int64_t{row.rank->rank}; }},
      of.group_name(),
      of.group_ranks(),
      of.name(),
      of.group_size(),
      of.dtype(),
      of.in_elements(),
      of.size("In msg size (MB)", &Metadata::in_mib),
      of.out_elements(),
      of.size("Out msg size (MB)", &Metadata::out_mib),
      of.in_split(),
      of.out_split(),
      {{"stream"}, [](const Row& row) { return std::int64_t{row.event->stream}; }},
      {{"ts", "us"}, [](const Row& row) { return static_cast<double>(row.event->start_ns) / 1e3; }},
      {{"dur", "us", model::Better::kLower}, [](const Row& row) { return row.event->duration_us; }},
  };
  if (!study.is_compat()) {
    fields.push_back(
        {kChannelsColumn, [](const Row& row) { return launch_value(row.event->channels); }});
    fields.push_back(
        {kThreadsColumn, [](const Row& row) { return launch_value(row.event->threads); }});
  }
  if (of.cells().knows_nodes()) {
    fields.push_back({{"node_id"}, [](const Row& row) { return std::int64_t{row.rank->node}; }});
    fields.push_back(of.node_span());
  }
  return {make_table("nccl_long", "Every communication kernel of every rank", fields, rows)};
}

const CollectiveSheet kSheet{"long", 500, build};
ASSAY_REGISTER(CollectiveSheet, kSheet);

}  // namespace
}  // namespace assay::trace::collectives
