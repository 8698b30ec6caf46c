#include "allreduce/explain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "model/collective.h"

namespace assay::allreduce {
namespace {

struct Point {
  Cell cell;
  Timing timing;
};

// A strategy's measured cells in one row, ascending.
using Curve = std::vector<Point>;

std::map<Strategy, Curve> curves_of_row(const Timings& timings, const Cell& row) {
  std::map<Strategy, Curve> curves;
  Cell first = row;
  first.num_tokens = 0;
  for (auto at = timings.lower_bound(first); at != timings.end(); ++at) {
    Cell same = at->first;
    same.num_tokens = row.num_tokens;
    if (same != row) break;
    for (const Timing& timing : at->second)
      curves[timing.strategy].push_back({at->first, timing});
  }
  return curves;
}

ExplainedTime on_line(const Point& smaller, const Point& larger, std::int64_t bytes) {
  const auto log_of = [](std::int64_t size) { return std::log(static_cast<double>(size)); };
  const double from = log_of(smaller.cell.size_bytes());
  const double part = (log_of(bytes) - from) / (log_of(larger.cell.size_bytes()) - from);
  return {.timing = interpolated(smaller.timing, larger.timing, part),
          .how = TimedHow::kInterpolated,
          .smaller = smaller.cell,
          .larger = larger.cell};
}

ExplainedTime time_at(const Curve& curve, std::int64_t bytes) {
  const auto larger = std::find_if(curve.begin(), curve.end(), [&](const Point& point) {
    return point.cell.size_bytes() >= bytes;
  });
  if (larger != curve.end() && larger->cell.size_bytes() == bytes) {
    return {.timing = larger->timing,
            .how = TimedHow::kMeasured,
            .smaller = larger->cell,
            .larger = larger->cell};
  }
  if (larger != curve.end() && larger != curve.begin()) {
    return on_line(*(larger - 1), *larger, bytes);
  }
  const Point& end = larger == curve.end() ? curve.back() : curve.front();
  return {.timing = end.timing, .how = TimedHow::kNearest, .smaller = end.cell, .larger = end.cell};
}

std::optional<Choice> nearest_choice(const std::vector<DecidedSlice>& slices,
                                     const Cell& row,
                                     std::int64_t bytes) {
  std::optional<Choice> nearest;
  double least = 0;
  for (const DecidedSlice& slice : slices) {
    for (const DecidedRow& decided : slice.rows) {
      for (const Choice& choice : decided.choices) {
        Cell same = choice.cell;
        same.num_tokens = row.num_tokens;
        if (same != row || choice.why == Why::kNoData) continue;
        const double distance = std::abs(
            std::log(static_cast<double>(choice.cell.size_bytes()) / static_cast<double>(bytes)));
        if (nearest && distance >= least) continue;
        nearest = choice;
        least = distance;
      }
    }
  }
  return nearest;
}

void add_borders(Explanation& explanation, const TableMatch& match) {
  explanation.from_bytes = match.segment->from_bytes;
  for (const TableSegment& segment : match.row->segments) {
    if (segment.from_bytes <= match.size_bytes) continue;
    explanation.to_bytes = segment.from_bytes;
    return;
  }
}

void add_times(Explanation& explanation, const TunedTables& tables, const Cell& row) {
  for (const auto& [strategy, curve] : curves_of_row(tables.timings, row))
    explanation.times.push_back(time_at(curve, explanation.size_bytes));
  std::sort(explanation.times.begin(), explanation.times.end(),
            [](const ExplainedTime& a, const ExplainedTime& b) {
              return a.timing.time_us < b.timing.time_us;
            });
}

}  // namespace

double oneshot_bound_us(int world_size, std::int64_t bytes, double bytes_per_us) {
  return (world_size - 1) * static_cast<double>(bytes) / bytes_per_us;
}

double twoshot_bound_us(int world_size, std::int64_t bytes, double bytes_per_us) {
  const double factor = model::bus_factor(model::NcclFunction::kAllReduce, world_size);
  return factor * static_cast<double>(bytes) / bytes_per_us;
}

Explanation explain(const TunedTables& tables, const Cell& asked) {
  const TableMatch match = tables.table.find(asked.world_size, asked.fusion, asked.data_type,
                                             asked.hidden_size, asked.num_tokens);
  Explanation explanation{
      .asked = asked, .size_bytes = match.size_bytes, .strategy = match.strategy};
  if (!match.slice || !match.row || !match.segment) return explanation;
  explanation.slice = *match.slice;
  explanation.row_hidden_size = match.row->hidden_size;
  add_borders(explanation, match);
  const Cell row{.world_size = match.slice->world_size,
                 .data_type = match.slice->data_type,
                 .fusion = match.slice->fusion,
                 .hidden_size = match.row->hidden_size,
                 .num_tokens = asked.num_tokens};
  explanation.at = nearest_choice(tables.choices, row, match.size_bytes);
  add_times(explanation, tables, row);
  return explanation;
}

}  // namespace assay::allreduce
