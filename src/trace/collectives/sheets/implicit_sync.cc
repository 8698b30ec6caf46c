// nccl_implicit_sync: one row for each collective that all ranks leave together.
#include "trace/collectives/by_rank.h"
#include "trace/collectives/launch.h"
#include "trace/collectives/sheet.h"
#include "trace/collectives/spread.h"

namespace assay::trace::collectives {
namespace {

using model::Better;

Fields<Synchronised> figure_fields(bool is_compat) {
  Fields<Synchronised> fields = metric_fields<Synchronised>({
      {{"comm_latency", "us", Better::kLower, "shortest kernel over the ranks"},
       &Synchronised::latency_us},
      {{"skew in start time", "us", Better::kLower}, &Synchronised::start_skew_us},
  });
  fields.push_back({{"earliest arrival rank"},
                    [](const Synchronised& item) { return std::int64_t{item.earliest_rank}; }});
  append(fields, metric_fields<Synchronised>({
                     {{"avg_wait_time", "us", Better::kLower}, &Synchronised::mean_wait_us},
                     {{"skew in end time", "us", Better::kLower}, &Synchronised::end_skew_us},
                 }));
  append(fields,
         metric_fields(bandwidth_metrics("algo bw", &Synchronised::algorithm_gibps, is_compat)));
  append(fields, metric_fields(bandwidth_metrics("bus bw", &Synchronised::bus_gibps, is_compat)));
  return fields;
}

Fields<Synchronised> launch_fields(const Study& study) {
  const auto values = [&study](const Synchronised& item, std::uint32_t Event::*setting) {
    std::vector<std::uint32_t> collected;
    collect_launch(study, study.collective(item.collective), setting, collected);
    return launch_cell(std::move(collected));
  };
  return {{kChannelsColumn,
           [values](const Synchronised& item) { return values(item, &Event::channels); }},
          {kThreadsColumn,
           [values](const Synchronised& item) { return values(item, &Event::threads); }}};
}

std::vector<model::Table> build(const Study& study) {
  if (study.synchronised.empty()) return {};
  const MetadataFields<Synchronised> of(study,
                                        [&study](const Synchronised& item) -> const Metadata& {
                                          return study.metadata(item.collective);
                                        });
  Fields<Synchronised> fields = {id_field<Synchronised>(study),
                                 of.group_name(),
                                 of.group_ranks(),
                                 of.name(),
                                 of.group_size(),
                                 of.dtype(),
                                 of.in_elements(),
                                 of.out_elements(),
                                 of.size("In msg size (MB)", &Metadata::in_mib),
                                 of.size("Out msg size (MB)", &Metadata::out_mib),
                                 of.size("Full msg size (MB)", &Metadata::full_mib)};
  append(fields, figure_fields(study.is_compat()));
  if (!study.is_compat()) append(fields, launch_fields(study));
  const auto rank_count = static_cast<std::uint32_t>(study.recording.ranks.size());
  for (std::uint32_t r = 0; r < rank_count; ++r)
    append(fields, rank_time_fields<Synchronised>(study, r));
  for (std::uint32_t r = 0; r < rank_count; ++r) {
    fields.push_back(rank_field<Synchronised>(
        study, r, {"wait_time", "us", Better::kLower},
        [&study](std::uint32_t member) -> model::Cell { return study.wait_us[member]; }));
  }
  if (of.cells().knows_nodes()) fields.push_back(of.node_span());
  return {make_table("nccl_implicit_sync", "Each collective that all ranks leave together", fields,
                     study.synchronised)};
}

const CollectiveSheet kSheet{"implicit_sync", 600, build};
ASSAY_REGISTER(CollectiveSheet, kSheet);

}  // namespace
}  // namespace assay::trace::collectives
