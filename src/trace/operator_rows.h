// The launchers of one rank with what the operator tables show of each.
#pragma once

#include <string_view>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace {

// Names that the trace gives to a track; "" where it gives none.
struct TrackNames {
  std::string_view process_name;
  std::string_view process_label;
  std::string_view thread_name;
};

TrackNames track_names(const model::Trace& trace, model::TrackId track);

// Recorded arguments of an operator; ids of the empty text for a runtime call.
struct ArgumentTexts {
  model::TextId dims = 0;
  model::TextId types = 0;
  model::TextId strides = 0;
  model::TextId concrete = 0;

  auto operator<=>(const ArgumentTexts&) const = default;
};

ArgumentTexts argument_texts(const model::Trace& trace, const Node& node);

struct OperatorRow {
  const Launcher* launcher = nullptr;
  model::TextId name = 0;
  std::string_view category;
};

std::vector<OperatorRow> operator_rows(const RankAnalysis& rank);

// 100·part/total, 0 when there is nothing.
double percent(double part, double total);

}  // namespace assay::trace
