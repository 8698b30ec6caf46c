// nccl_summary_all2allv: exchanges of uneven amounts, summarised by process group and type.
#include <tuple>

#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

using model::Better;

struct ExchangeGroup {
  std::vector<const Exchange*> items;

  [[nodiscard]] double total_us() const {
    double total = 0;
    for (const Exchange* item : items)
      total += item->wall_us;
    return total;
  }
};

std::vector<ExchangeGroup> exchange_groups(const Study& study) {
  return group_by<ExchangeGroup>(study.exchanges, [&study](const Exchange& item) {
    const Metadata& m = study.metadata(item.collective);
    const bool pooled = study.is_compat();
    return std::tuple(m.group_name, m.dtype, pooled ? 0U : m.group, pooled ? 0 : m.group_size,
                      pooled ? model::TextId{0} : m.name);
  });
}

void append_spread(Fields<ExchangeGroup>& fields,
                   const Metric<Exchange>& metric,
                   const std::vector<Statistic>& statistics) {
  append(fields, spread_fields<ExchangeGroup>(metric, statistics));
}

Fields<ExchangeGroup> exchange_spread_fields(bool is_compat) {
  Fields<ExchangeGroup> fields;
  append_spread(fields, {{"total data communicated (MB)", "MiB"}, &Exchange::total_mib},
                kAllStatistics);
  append_spread(fields, {{"wall_time (us)", "us", Better::kLower}, &Exchange::wall_us},
                kAllStatistics);
  fields.push_back({{"Total wall_time (us)", "us", Better::kLower},
                    [](const ExchangeGroup& group) { return group.total_us(); }});
  for (const auto& metric : bandwidth_metrics("throughput", &Exchange::throughput_gibps, is_compat))
    append_spread(fields, metric, kAllStatistics);
  if (!is_compat) {
    for (const auto& metric : rank_bandwidth_metrics())
      append_spread(fields, metric, kAllStatistics);
  }
  append_spread(fields, {{"size_imbalance", "", Better::kLower}, &Exchange::size_imbalance},
                kMeanAndMaximum);
  append_spread(fields, {{"max_rank_dur (us)", "us"}, &Exchange::longest_us}, kMeanAndMaximum);
  append_spread(fields, {{"skew in start time", "us", Better::kLower}, &Exchange::start_skew_us},
                kMeanAndMaximum);
  append_spread(fields, {{"skew in end time", "us", Better::kLower}, &Exchange::end_skew_us},
                kMeanAndMaximum);
  fields.push_back({{"count"}, [](const ExchangeGroup& group) {
                      return static_cast<std::int64_t>(group.items.size());
                    }});
  return fields;
}

std::vector<model::Table> build_summary_all2allv(const Study& study) {
  if (study.exchanges.empty()) return {};
  const MetadataFields<ExchangeGroup> metadata = group_metadata<ExchangeGroup>(study);
  Fields<ExchangeGroup> fields = {metadata.group_name(), metadata.dtype()};
  append(fields, exchange_spread_fields(study.is_compat()));
  append(fields, {metadata.group_ranks(),
                  metadata.name(),
                  metadata.group_size(),
                  {{"Total wall_time (ms)", "ms", Better::kLower},
                   [](const ExchangeGroup& group) { return group.total_us() / 1000; }}});
  if (!study.is_compat()) fields.push_back(group_present_field<ExchangeGroup>(study));
  if (metadata.cells().knows_nodes()) fields.push_back(metadata.node_span());
  return {make_table("nccl_summary_all2allv",
                     "Exchanges in which ranks may send different amounts, by group and type",
                     fields, exchange_groups(study))};
}

const CollectiveSheet kSummaryAll2AllV{"summary_all2allv", 300, build_summary_all2allv};
ASSAY_REGISTER(CollectiveSheet, kSummaryAll2AllV);

}  // namespace
}  // namespace assay::trace::collectives
