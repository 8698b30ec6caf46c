// nccl_summary_implicit_sync: for each kind and size of synchronising collective, how long it
// takes, how unevenly ranks arrive and which bandwidth it reaches.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

struct SynchronisedGroup {
  std::vector<const Synchronised*> items;
  double total_us = 0;
};

// The public tool puts equal collectives of different process groups into one row.
auto key_of(const Study& study, const Synchronised& item) {
  const Metadata& m = study.metadata(item.collective);
  const bool pooled = study.is_compat();
  return std::tuple(m.name, m.dtype, m.in_elements, pooled ? 0U : m.group,
                    pooled ? 0 : m.group_size);
}

bool has_complete_key(const Study& study, const Synchronised& item) {
  const Metadata& m = study.metadata(item.collective);
  return m.name != 0 && m.dtype != 0 && m.in_elements >= 0;
}

std::vector<SynchronisedGroup> synchronised_groups(const Study& study) {
  auto groups = group_by<SynchronisedGroup>(
      study.synchronised, [&](const Synchronised& item) { return key_of(study, item); });
  for (SynchronisedGroup& group : groups) {
    for (const Synchronised* item : group.items)
      group.total_us += item->latency_us;
    group.total_us = study.recording.time.exact(group.total_us);
  }
  if (study.is_compat()) {
    std::erase_if(groups, [&](const SynchronisedGroup& group) {
      return !has_complete_key(study, *group.items.front());
    });
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const SynchronisedGroup& a, const SynchronisedGroup& b) {
                     return a.total_us > b.total_us;
                   });
  return groups;
}

std::vector<Metric<Synchronised>> metrics(bool is_compat) {
  using model::Better;
  std::vector<Metric<Synchronised>> result = {
      {{"comm_latency", "us", Better::kLower, "shortest kernel over the ranks"},
       &Synchronised::latency_us},
      {{"skew in start time", "us", Better::kLower}, &Synchronised::start_skew_us},
      {{"skew in end time", "us", Better::kLower}, &Synchronised::end_skew_us},
  };
  for (auto& metric : bandwidth_metrics("algo bw", &Synchronised::algorithm_gibps, is_compat))
    result.push_back(metric);
  for (auto& metric : bandwidth_metrics("bus bw", &Synchronised::bus_gibps, is_compat))
    result.push_back(metric);
  return result;
}

Fields<SynchronisedGroup> group_launch_fields(const Study& study) {
  const auto values = [&study](const SynchronisedGroup& group, std::uint32_t Event::*setting) {
    std::vector<std::uint32_t> collected;
    for (const Synchronised* item : group.items)
      collect_launch(study, study.collective(item->collective), setting, collected);
    return launch_cell(std::move(collected));
  };
  return {{kChannelsColumn,
           [values](const SynchronisedGroup& group) { return values(group, &Event::channels); }},
          {kThreadsColumn,
           [values](const SynchronisedGroup& group) { return values(group, &Event::threads); }}};
}

std::vector<model::Table> build_summary_implicit_sync(const Study& study) {
  if (study.synchronised.empty()) return {};
  const MetadataFields<SynchronisedGroup> metadata = group_metadata<SynchronisedGroup>(study);
  Fields<SynchronisedGroup> fields = {
      metadata.name(),        metadata.dtype(),
      metadata.in_elements(), metadata.group_name(),
      metadata.group_size(),  metadata.size("Full msg size (MB)", &Metadata::full_mib)};
  for (const auto& metric : metrics(study.is_compat()))
    append(fields, spread_fields<SynchronisedGroup>(metric, kAllStatistics));
  fields.push_back({{"count"}, [](const SynchronisedGroup& group) {
                      return static_cast<std::int64_t>(group.items.size());
                    }});
  fields.push_back({{"Total comm latency (ms)", "ms", model::Better::kLower},
                    [](const SynchronisedGroup& group) { return real(group.total_us / 1000); }});
  if (!study.is_compat()) {
    fields.push_back(group_present_field<SynchronisedGroup>(study));
    append(fields, group_launch_fields(study));
    fields.push_back(metadata.group_ranks());
    if (metadata.cells().knows_nodes()) fields.push_back(metadata.node_span());
  }
  return {make_table("nccl_summary_implicit_sync",
                     "Collectives that all ranks leave together, by kind and size", fields,
                     synchronised_groups(study))};
}

const CollectiveSheet kSummaryImplicitSync{"summary_implicit_sync", 100,
                                           build_summary_implicit_sync};
ASSAY_REGISTER(CollectiveSheet, kSummaryImplicitSync);

}  // namespace
}  // namespace assay::trace::collectives
