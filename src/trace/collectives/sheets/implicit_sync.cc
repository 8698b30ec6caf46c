// nccl_implicit_sync: one row for each collective that all ranks leave together.
#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

using model::Better;

Fields<Synchronised> synchronised_fields(bool is_compat) {
  Fields<Synchronised> fields = metric_fields<Synchronised>({
      {{"comm_latency", "us", Better::kLower, "shortest kernel over the ranks"},
       &Synchronised::latency_us},
      {{"skew in start time", "us", Better::kLower}, &Synchronised::start_skew_us},
  });
  fields.push_back(
      {{.name = "earliest arrival rank",
        .description =
            is_compat ? "" : "empty: several came first at one nanosecond, or ranks are missing"},
       [is_compat](const Synchronised& item) {
         return item.one_is_first || is_compat ? model::Cell(std::int64_t{item.earliest_rank})
                                               : model::Cell();
       }});
  append(fields, metric_fields<Synchronised>({
                     {{"avg_wait_time", "us", Better::kLower}, &Synchronised::mean_wait_us},
                     {{"skew in end time", "us", Better::kLower}, &Synchronised::end_skew_us},
                 }));
  append(fields,
         metric_fields(bandwidth_metrics("algo bw", &Synchronised::algorithm_gibps, is_compat)));
  append(fields, metric_fields(bandwidth_metrics("bus bw", &Synchronised::bus_gibps, is_compat)));
  return fields;
}

std::vector<model::Table> build_implicit_sync(const Study& study) {
  if (study.synchronised.empty()) return {};
  const MetadataFields<Synchronised> metadata = item_metadata<Synchronised>(study);
  Fields<Synchronised> fields = {id_field<Synchronised>(study),
                                 metadata.group_name(),
                                 metadata.group_ranks(),
                                 metadata.name(),
                                 metadata.group_size(),
                                 metadata.dtype(),
                                 metadata.in_elements(),
                                 metadata.out_elements(),
                                 metadata.size("In msg size (MB)", &Metadata::in_mib),
                                 metadata.size("Out msg size (MB)", &Metadata::out_mib),
                                 metadata.size("Full msg size (MB)", &Metadata::full_mib)};
  append(fields, synchronised_fields(study.is_compat()));
  if (!study.is_compat()) {
    fields.push_back(present_field<Synchronised>(study));
    append(fields, launch_fields<Synchronised>(study));
  }
  const auto rank_count = static_cast<std::uint32_t>(study.recording.ranks.size());
  for (std::uint32_t r = 0; r < rank_count; ++r)
    append(fields, rank_time_fields<Synchronised>(study, r));
  for (std::uint32_t r = 0; r < rank_count; ++r) {
    fields.push_back(rank_field<Synchronised>(
        study, r, {"wait_time", "us", Better::kLower},
        [&study](std::uint32_t member) { return real(study.wait_us[member]); }));
  }
  if (metadata.cells().knows_nodes()) fields.push_back(metadata.node_span());
  return single(make_long_table("nccl_implicit_sync",
                                "Each collective that all ranks leave together", fields,
                                study.synchronised));
}

const CollectiveSheet kImplicitSync{"implicit_sync", 600, build_implicit_sync};
ASSAY_REGISTER(CollectiveSheet, kImplicitSync);

}  // namespace
}  // namespace assay::trace::collectives
