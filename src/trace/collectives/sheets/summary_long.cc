// nccl_summary_long: each rank's collectives by kind, size and stream.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "core/statistics.h"
#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

struct RankRow {
  const RankEvents* rank = nullptr;
  const Metadata* metadata = nullptr;
  std::int32_t stream = -1;
  std::vector<double> durations_us = {};
  std::vector<std::uint32_t> channels = {};
  std::vector<std::uint32_t> threads = {};
  double total_us = 0;
};

// The public tool drops rows that lack a value of the key.
bool has_complete_key(const Metadata& m) {
  return m.name != 0 && m.dtype != 0 && m.group_ranks != 0 && m.in_split != 0 && m.out_split != 0 &&
         m.group_size >= 0 && m.in_elements >= 0 && m.out_elements >= 0;
}

std::vector<RankRow> rank_rows(const Study& study) {
  std::vector<RankRow> rows;
  std::map<std::tuple<int, MetadataId, std::int32_t>, std::size_t> places;
  for (const RankEvents& rank : study.recording.ranks) {
    for (const Event& event : rank.events) {
      const Metadata& metadata = study.catalog()[event.metadata];
      if (study.is_compat() && !has_complete_key(metadata)) continue;
      const auto [place, is_new] =
          places.emplace(std::tuple(rank.rank, event.metadata, event.stream), rows.size());
      if (is_new) rows.push_back({&rank, &metadata, event.stream});
      RankRow& row = rows[place->second];
      row.durations_us.push_back(event.duration_us);
      row.total_us += event.duration_us;
      row.channels.push_back(event.channels);
      row.threads.push_back(event.threads);
    }
  }
  for (RankRow& row : rows)
    row.total_us = study.recording.time.exact(row.total_us);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RankRow& a, const RankRow& b) { return a.total_us > b.total_us; });
  return rows;
}

Fields<RankRow> rank_duration_fields() {
  constexpr auto kLower = model::Better::kLower;
  const auto field = [](const char* name, double (*statistic)(std::span<const double>)) {
    return Field<RankRow>{{name, "us", kLower}, [statistic](const RankRow& row) {
                            return real(statistic(row.durations_us));
                          }};
  };
  return {{{"dur_sum", "us", kLower}, [](const RankRow& row) { return real(row.total_us); }},
          field("dur_mean", core::mean),
          field("dur_std", core::sample_deviation),
          field("dur_min", core::minimum),
          field("dur_max", core::maximum),
          {{"operation_count"},
           [](const RankRow& row) { return static_cast<std::int64_t>(row.durations_us.size()); }}};
}

// The fastest call is the one that waited least.
model::Cell fastest_bus_gbps(const RankRow& row) {
  return real(kernel_bus_gibps(*row.metadata, core::minimum(row.durations_us)) *
              kGigabytesPerGibibyte);
}

Fields<RankRow> rank_launch_fields() {
  model::Column fastest = kKernelBusColumn;
  fastest.name += suffix(Statistic::kMaximum);
  return {{std::move(fastest), fastest_bus_gbps},
          {kChannelsColumn, [](const RankRow& row) { return launch_cell(row.channels); }},
          {kThreadsColumn, [](const RankRow& row) { return launch_cell(row.threads); }}};
}

}  // namespace

model::Table rank_summary(const Study& study,
                          const std::string& name,
                          NodeColumns node_columns,
                          RankLabel rank_label) {
  const MetadataFields<RankRow> columns(
      study, [](const RankRow& row) -> const Metadata& { return *row.metadata; });
  const bool is_zero = rank_label == RankLabel::kZero;
  Fields<RankRow> fields = {
      {{"rank"},
       [is_zero](const RankRow& row) {
         return is_zero ? std::int64_t{0} : std::int64_t{row.rank->rank};
       }},
      columns.group_name(),
      columns.group_ranks(),
      columns.name(),
      columns.group_size(),
      columns.dtype(),
      columns.in_elements(),
      columns.out_elements(),
      columns.in_split(),
      columns.out_split(),
      {{"stream"}, [](const RankRow& row) { return std::int64_t{row.stream}; }},
      columns.size("In msg size (MB)_first", &Metadata::in_mib),
      columns.size("Out msg size (MB)_first", &Metadata::out_mib)};
  append(fields, rank_duration_fields());
  if (!study.is_compat()) append(fields, rank_launch_fields());
  if (node_columns == NodeColumns::kShow && columns.cells().knows_nodes()) {
    fields.push_back(
        {{"node_id"}, [](const RankRow& row) { return std::int64_t{row.rank->node}; }});
    fields.push_back(columns.node_span());
  }
  return make_table(name, "Collectives of each rank by kind, size and stream", fields,
                    rank_rows(study));
}

namespace {

std::vector<model::Table> build_summary_long(const Study& study) {
  model::Table table =
      rank_summary(study, "nccl_summary_long", NodeColumns::kShow, RankLabel::kReal);
  if (table.row_count() == 0) return {};
  return {std::move(table)};
}

const CollectiveSheet kSummaryLong{"summary_long", 200, build_summary_long};
ASSAY_REGISTER(CollectiveSheet, kSummaryLong);

}  // namespace

}  // namespace assay::trace::collectives
