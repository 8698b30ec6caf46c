// nccl_all2allv_heatmap: who sent how much to whom, in global ranks.
#include <map>
#include <numeric>

#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

struct Traffic {
  int source = 0;
  int destination = 0;
  double total_mib = 0;
  std::int64_t count = 0;
};

// Returns the share of a rank's data that goes to each position in its group, or nothing when that
// is unknown. Recorded splits count rows or elements of the tensor, so only their proportions are
// used. An empty list stands for equal splits.
std::vector<double> shares(const std::vector<std::int64_t>& splits, std::size_t members) {
  if (splits.empty()) return std::vector<double>(members, 1.0 / static_cast<double>(members));
  const auto total = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  if (splits.size() != members || total <= 0) return {};
  std::vector<double> result;
  result.reserve(splits.size());
  for (const std::int64_t split : splits)
    result.push_back(static_cast<double>(split) / static_cast<double>(total));
  return result;
}

// Returns the shares of one metadata entry, or none when its lists are missing or shortened.
std::vector<double> shares_of(const Study& study, const Metadata& metadata) {
  const auto& members = study.catalog().group(metadata).members;
  const bool is_whole = static_cast<int>(members.size()) == metadata.group_size;
  if (!is_uneven(metadata) || !is_whole || members.empty() || std::isnan(metadata.in_mib)) {
    return {};
  }
  return shares(parse_integers(study.catalog().text(metadata.in_split)), members.size());
}

std::vector<Traffic> traffic_of(const Study& study) {
  std::vector<std::vector<double>> known_shares;
  for (MetadataId id = 0; id < study.catalog().size(); ++id)
    known_shares.push_back(shares_of(study, study.catalog()[id]));
  std::map<std::pair<int, int>, Traffic> traffic;
  for (const RankEvents& rank : study.recording.ranks) {
    for (const Event& event : rank.events) {
      const Metadata& metadata = study.catalog()[event.metadata];
      const auto& members = study.catalog().group(metadata).members;
      const std::vector<double>& parts = known_shares[event.metadata];
      for (std::size_t i = 0; i < parts.size(); ++i) {
        Traffic& pair = traffic[{rank.rank, members[i]}];
        pair.total_mib += parts[i] * metadata.in_mib;
        ++pair.count;
      }
    }
  }
  std::vector<Traffic> rows;
  rows.reserve(traffic.size());
  for (const auto& [ranks, amount] : traffic)
    rows.push_back({ranks.first, ranks.second, amount.total_mib, amount.count});
  return rows;
}

std::vector<model::Table> build_all2allv_heatmap(const Study& study) {
  if (study.is_compat()) return {};  // the public tool shows it only on request
  const std::vector<Traffic> rows = traffic_of(study);
  if (rows.empty()) return {};
  const Fields<Traffic> fields = {
      {{"src_rank"}, [](const Traffic& row) { return std::int64_t{row.source}; }},
      {{"dst_rank"}, [](const Traffic& row) { return std::int64_t{row.destination}; }},
      {{"total_sent_MB", "MiB"}, [](const Traffic& row) { return row.total_mib; }},
      {{"avg_sent_MB", "MiB"},
       [](const Traffic& row) { return row.total_mib / static_cast<double>(row.count); }},
      {{"count"}, [](const Traffic& row) { return row.count; }},
  };
  return {make_table("nccl_all2allv_heatmap", "Who sent how much to whom", fields, rows)};
}

const CollectiveSheet kAll2AllVHeatmap{"all2allv_heatmap", 400, build_all2allv_heatmap};
ASSAY_REGISTER(CollectiveSheet, kAll2AllVHeatmap);

}  // namespace
}  // namespace assay::trace::collectives
