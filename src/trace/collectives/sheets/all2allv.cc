// nccl_all2allv: one row for each exchange in which ranks may send different amounts.
#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

using model::Better;

Fields<Exchange> exchange_fields(const Study& study) {
  const bool is_compat = study.is_compat();
  Fields<Exchange> fields =
      metric_fields<Exchange>({{{"total data communicated (MB)", "MiB"}, &Exchange::total_mib}});
  fields.push_back({{"total nelems communicated"}, [cells = Cells(study)](const Exchange& item) {
                      return cells.elements(item.total_elements);
                    }});
  append(fields,
         metric_fields<Exchange>({{{"wall_time (us)", "us", Better::kLower}, &Exchange::wall_us},
                                  {{"max_rank_dur (us)", "us"}, &Exchange::longest_us},
                                  {{"min_rank_dur (us)", "us"}, &Exchange::shortest_us},
                                  {{"avg_rank_dur (us)", "us"}, &Exchange::mean_us}}));
  for (const auto& [name, value] :
       {std::pair("throughput", &Exchange::throughput_gibps),
        std::pair("max_rank_throughput", &Exchange::fastest_rank_gibps),
        std::pair("min_rank_throughput", &Exchange::slowest_rank_gibps)})
    append(fields, metric_fields(bandwidth_metrics(name, value, is_compat)));
  if (!is_compat) append(fields, metric_fields(rank_bandwidth_metrics()));
  append(fields, metric_fields<Exchange>({
                     {{"size_imbalance", "", Better::kLower}, &Exchange::size_imbalance},
                     {{"skew in start time", "us", Better::kLower}, &Exchange::start_skew_us},
                     {{"skew in end time", "us", Better::kLower}, &Exchange::end_skew_us},
                 }));
  return fields;
}

// The start, duration, amounts and splits of one rank.
Fields<Exchange> rank_fields(const Study& study, std::uint32_t rank) {
  const auto field = [&study, rank](const char* name, const auto& cell) {
    return rank_field<Exchange>(
        study, rank, {name}, [&study, cells = Cells(study), cell](std::uint32_t member) {
          const Event& event = event_of(study.recording, study.matching.members[member]);
          return cell(cells, study.catalog()[event.metadata]);
        });
  };
  Fields<Exchange> fields = rank_time_fields<Exchange>(study, rank);
  append(
      fields,
      {field("In msg nelems", [](const Cells& c, const Metadata& m) { return c.in_elements(m); }),
       field("Out msg nelems", [](const Cells& c, const Metadata& m) { return c.out_elements(m); }),
       field("In msg size (MB)", [](const Cells&, const Metadata& m) { return real(m.in_mib); }),
       field("Out msg size (MB)", [](const Cells&, const Metadata& m) { return real(m.out_mib); }),
       field("In split size", [](const Cells& c, const Metadata& m) { return c.text(m.in_split); }),
       field("Out split size",
             [](const Cells& c, const Metadata& m) { return c.text(m.out_split); })});
  return fields;
}

Fields<Exchange> skew_fields(const Study& study, std::uint32_t rank) {
  const auto field = [&study, rank](const char* name, const std::vector<double>& values) {
    return rank_field<Exchange>(study, rank, {name, "us", Better::kLower},
                                [&values](std::uint32_t member) { return real(values[member]); });
  };
  return {field("skew in start time", study.late_start_us),
          field("skew in end time", study.early_leave_us)};
}

std::vector<model::Table> build_all2allv(const Study& study) {
  if (study.exchanges.empty()) return {};
  const MetadataFields<Exchange> metadata = item_metadata<Exchange>(study);
  Fields<Exchange> fields = {id_field<Exchange>(study),
                             metadata.group_name(),
                             metadata.group_ranks(),
                             metadata.name(),
                             metadata.group_size(),
                             metadata.dtype(),
                             {{"stream"}, [&study](const Exchange& item) {
                                const Collective& c = study.collective(item.collective);
                                const Member& first = study.matching.members[c.first];
                                return std::int64_t{event_of(study.recording, first).stream};
                              }}};
  append(fields, exchange_fields(study));
  if (!study.is_compat()) {
    fields.push_back(present_field<Exchange>(study));
    append(fields, launch_fields<Exchange>(study));
  }
  const auto rank_count = static_cast<std::uint32_t>(study.recording.ranks.size());
  for (std::uint32_t r = 0; r < rank_count; ++r)
    append(fields, rank_fields(study, r));
  for (std::uint32_t r = 0; r < rank_count; ++r)
    append(fields, skew_fields(study, r));
  if (metadata.cells().knows_nodes()) fields.push_back(metadata.node_span());
  return single(make_long_table("nccl_all2allv",
                                "Each exchange in which ranks may send different amounts", fields,
                                study.exchanges));
}

const CollectiveSheet kAll2AllV{"all2allv", 700, build_all2allv};
ASSAY_REGISTER(CollectiveSheet, kAll2AllV);

}  // namespace
}  // namespace assay::trace::collectives
