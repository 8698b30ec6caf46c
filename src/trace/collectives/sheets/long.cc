// nccl_long: every communication kernel of every rank.
#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

constexpr std::uint32_t kNoCollective = 0xFFFFFFFF;

struct LongRow {
  const RankEvents* rank = nullptr;
  const Event* event = nullptr;
  std::uint32_t number = kNoCollective;  // number of the matched collective in its group
};

std::vector<LongRow> long_rows(const Study& study) {
  std::vector<LongRow> rows;
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

std::vector<model::Table> build_long(const Study& study) {
  std::vector<LongRow> rows = long_rows(study);
  if (rows.empty()) return {};
  const auto metadata = [&study](const LongRow& row) -> const Metadata& {
    return study.catalog()[row.event->metadata];
  };
  const MetadataFields<LongRow> columns(study, metadata);
  Fields<LongRow> fields = {
      {{"collective_id", "", model::Better::kNeither, "empty when not matched across ranks"},
       [metadata, cells = columns.cells()](const LongRow& row) {
         return row.number == kNoCollective ? model::Cell{}
                                            : model::Cell{cells.id(metadata(row), row.number)};
       }},
      {{"index_in_group"},
       [](const LongRow& row) { return std::int64_t{row.event->index_in_group}; }},
      {{"rank"}, [](const LongRow& row) { return std::int64_t{row.rank->rank}; }},
      columns.group_name(),
      columns.group_ranks(),
      columns.name(),
      columns.group_size(),
      columns.dtype(),
      columns.in_elements(),
      columns.size("In msg size (MB)", &Metadata::in_mib),
      columns.out_elements(),
      columns.size("Out msg size (MB)", &Metadata::out_mib),
      columns.in_split(),
      columns.out_split(),
      {{"stream"}, [](const LongRow& row) { return std::int64_t{row.event->stream}; }},
      {{"ts", "us"},
       [](const LongRow& row) { return static_cast<double>(row.event->start_ns) / 1e3; }},
      {{"dur", "us", model::Better::kLower},
       [](const LongRow& row) { return row.event->duration_us; }},
  };
  if (!study.is_compat()) {
    fields.push_back({kKernelBusColumn, [metadata](const LongRow& row) {
                        return real(kernel_bus_gibps(metadata(row), row.event->duration_us) *
                                    kGigabytesPerGibibyte);
                      }});
    fields.push_back(
        {kChannelsColumn, [](const LongRow& row) { return launch_value(row.event->channels); }});
    fields.push_back(
        {kThreadsColumn, [](const LongRow& row) { return launch_value(row.event->threads); }});
  }
  if (columns.cells().knows_nodes()) {
    fields.push_back(
        {{"node_id"}, [](const LongRow& row) { return std::int64_t{row.rank->node}; }});
    fields.push_back(columns.node_span());
  }
  return single(make_long_table("nccl_long", "Every communication kernel of every rank", fields,
                                std::move(rows)));
}

const CollectiveSheet kLong{"long", 500, build_long};
ASSAY_REGISTER(CollectiveSheet, kLong);

}  // namespace
}  // namespace assay::trace::collectives
