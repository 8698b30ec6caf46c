#include "trace/collectives/rank_summary.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "core/statistics.h"
#include "trace/collectives/cells.h"
#include "trace/collectives/launch.h"

namespace assay::trace::collectives {
namespace {

struct Row {
  const RankEvents* rank = nullptr;
  const Metadata* metadata = nullptr;
  std::int32_t stream = -1;
  std::vector<double> durations_us = {};
  std::vector<std::uint32_t> channels = {};
  std::vector<std::uint32_t> threads = {};
  double total_us = 0;
};

// The public tool drops rows that lack any of the key's values.
bool has_whole_key(const Metadata& m) {
  return m.name != 0 && m.dtype != 0 && m.group_ranks != 0 && m.in_split != 0 && m.out_split != 0 &&
         m.group_size >= 0 && m.in_elements >= 0 && m.out_elements >= 0;
}

auto key_of(const RankEvents& rank, const Event& event) {
  return std::tuple(rank.rank, event.metadata, event.stream);
}

std::vector<Row> rows_by_total(const Study& study) {
  std::vector<Row> rows;
  std::map<std::tuple<int, MetadataId, std::int32_t>, std::size_t> places;
  for (const RankEvents& rank : study.recording.ranks) {
    for (const Event& event : rank.events) {
      const Metadata& metadata = study.catalog()[event.metadata];
      if (study.is_compat() && !has_whole_key(metadata)) continue;
      const auto [place, is_new] = places.emplace(key_of(rank, event), rows.size());
      if (is_new) rows.push_back({&rank, &metadata, event.stream});
      Row& row = rows[place->second];
      row.durations_us.push_back(event.duration_us);
      row.total_us += event.duration_us;
      row.channels.push_back(event.channels);
      row.threads.push_back(event.threads);
    }
  }
  for (Row& row : rows)
    row.total_us = study.recording.time.exact(row.total_us);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.total_us > b.total_us; });
  return rows;
}

Fields<Row> duration_fields() {
  constexpr auto kLower = model::Better::kLower;
  const auto field = [](const char* name, double (*statistic)(std::span<const double>)) {
    return Field<Row>{{name, "us", kLower},
                      [statistic](const Row& row) { return real(statistic(row.durations_us)); }};
  };
  return {{{"dur_sum", "us", kLower}, [](const Row& row) { return real(row.total_us); }},
          field("dur_mean", core::mean),
          field("dur_std", core::sample_deviation),
          field("dur_min", core::minimum),
          field("dur_max", core::maximum),
          {{"operation_count"},
           [](const Row& row) { return static_cast<std::int64_t>(row.durations_us.size()); }}};
}

Fields<Row> launch_fields() {
  return {{kChannelsColumn, [](const Row& row) { return launch_cell(row.channels); }},
          {kThreadsColumn, [](const Row& row) { return launch_cell(row.threads); }}};
}

}  // namespace

model::Table rank_summary(const Study& study,
                          const std::string& name,
                          NodeColumns node_columns,
                          RankLabel rank_label) {
  const MetadataFields<Row> of(study,
                               [](const Row& row) -> const Metadata& { return *row.metadata; });
  const bool is_zero = rank_label == RankLabel::kZero;
  Fields<Row> fields = {{{"rank"},
                         [is_zero](const Row& row) {
                           return is_zero ? std::int64_t{0} : std::int64_t{row.rank->rank};
                         }},
                        of.group_name(),
                        of.group_ranks(),
                        of.name(),
                        of.group_size(),
                        of.dtype(),
                        of.in_elements(),
                        of.out_elements(),
                        of.in_split(),
                        of.out_split(),
                        {{"stream"}, [](const Row& row) { return std::int64_t{row.stream}; }},
                        of.size("In msg size (MB)_first", &Metadata::in_mib),
                        of.size("Out msg size (MB)_first", &Metadata::out_mib)};
  append(fields, duration_fields());
  if (!study.is_compat()) append(fields, launch_fields());
  if (node_columns == NodeColumns::kShow && of.cells().knows_nodes()) {
    fields.push_back({{"node_id"}, [](const Row& row) { return std::int64_t{row.rank->node}; }});
    fields.push_back(of.node_span());
  }
  return make_table(name, "Collectives of each rank by kind, size and stream", fields,
                    rows_by_total(study));
}

}  // namespace assay::trace::collectives
