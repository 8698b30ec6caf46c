// nccl_summary_implicit_sync: for each kind and size of synchronising collective, how long it
// takes, how unevenly ranks arrive and which bandwidth it reaches.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "trace/collectives/cells.h"
#include "trace/collectives/grouping.h"
#include "trace/collectives/launch.h"
#include "trace/collectives/sheet.h"
#include "trace/collectives/spread.h"

namespace assay::trace::collectives {
namespace {

struct Group {
  std::vector<const Synchronised*> items;
  double total_us = 0;
};

// The public tool pools equal collectives of different process groups.
auto key_of(const Study& study, const Synchronised& item) {
  const Metadata& m = study.metadata(item.collective);
  const bool pooled = study.is_compat();
  return std::tuple(m.name, m.dtype, m.in_elements, pooled ? 0U : m.group,
                    pooled ? 0 : m.group_size);
}

bool has_whole_key(const Study& study, const Synchronised& item) {
  const Metadata& m = study.metadata(item.collective);
  return m.name != 0 && m.dtype != 0 && m.in_elements >= 0;
}

std::vector<Group> groups_by_total(const Study& study) {
  auto groups = group_by<Group>(study.synchronised,
                                [&](const Synchronised& item) { return key_of(study, item); });
  for (Group& group : groups) {
    for (const Synchronised* item : group.items)
      group.total_us += item->latency_us;
    group.total_us = study.recording.time.exact(group.total_us);
  }
  if (study.is_compat()) {
    std::erase_if(groups,
                  [&](const Group& group) { return !has_whole_key(study, *group.items.front()); });
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.total_us > b.total_us; });
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

Fields<Group> launch_fields(const Study& study) {
  const auto values = [&study](const Group& group, std::uint32_t Event::*setting) {
    std::vector<std::uint32_t> collected;
    for (const Synchronised* item : group.items)
      collect_launch(study, study.collective(item->collective), setting, collected);
    return launch_cell(std::move(collected));
  };
  return {
      {kChannelsColumn, [values](const Group& group) { return values(group, &Event::channels); }},
      {kThreadsColumn, [values](const Group& group) { return values(group, &Event::threads); }}};
}

std::vector<model::Table> build(const Study& study) {
  if (study.synchronised.empty()) return {};
  const MetadataFields<Group> of(study, [&study](const Group& group) -> const Metadata& {
    return study.metadata(group.items.front()->collective);
  });
  Fields<Group> fields = {of.name(),        of.dtype(),
                          of.in_elements(), of.group_name(),
                          of.group_size(),  of.size("Full msg size (MB)", &Metadata::full_mib)};
  for (const auto& metric : metrics(study.is_compat()))
    append(fields, spread_fields<Group>(metric, kAllStatistics));
  fields.push_back({{"count"}, [](const Group& group) {
                      return static_cast<std::int64_t>(group.items.size());
                    }});
  fields.push_back({{"Total comm latency (ms)", "ms", model::Better::kLower},
                    [](const Group& group) { return real(group.total_us / 1000); }});
  if (!study.is_compat()) {
    append(fields, launch_fields(study));
    fields.push_back(of.group_ranks());
    if (of.cells().knows_nodes()) fields.push_back(of.node_span());
  }
  return {make_table("nccl_summary_implicit_sync",
                     "Collectives that all ranks leave together, by kind and size", fields,
                     groups_by_total(study))};
}

const CollectiveSheet kSheet{"summary_implicit_sync", 100, build};
ASSAY_REGISTER(CollectiveSheet, kSheet);

}  // namespace
}  // namespace assay::trace::collectives
