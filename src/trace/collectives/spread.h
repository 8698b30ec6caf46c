// Mean, median, minimum and maximum of a figure over a group of rows, as columns.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "model/table.h"
#include "trace/collectives/fields.h"

namespace assay::trace::collectives {

constexpr double kGigabytesPerGibibyte = 1.073741824;

enum class Statistic { kMean, kMedian, kMinimum, kMaximum };

inline const char* suffix(Statistic statistic) {
  switch (statistic) {
    case Statistic::kMean:
      return "_mean";
    case Statistic::kMedian:
      return "_median";
    case Statistic::kMinimum:
      return "_min";
    case Statistic::kMaximum:
      break;
  }
  return "_max";
}

// Unknown values take no part.
inline double statistic_of(Statistic statistic, std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  switch (statistic) {
    case Statistic::kMean:
      return core::mean(values);
    case Statistic::kMedian:
      return core::median(values);
    case Statistic::kMinimum:
      return core::minimum(values);
    case Statistic::kMaximum:
      break;
  }
  return core::maximum(values);
}

// A figure of single rows that a summary condenses.
template <class Item>
struct Metric {
  model::Column column;
  double Item::*value;
  double scale = 1;
};

// `Group` must have a member `items`: the rows it condenses.
template <class Group, class Item>
Fields<Group> spread_fields(const Metric<Item>& metric, const std::vector<Statistic>& statistics) {
  Fields<Group> fields;
  for (const Statistic statistic : statistics) {
    model::Column column = metric.column;
    column.name += suffix(statistic);
    fields.push_back({std::move(column), [metric, statistic](const Group& group) {
                        std::vector<double> values;
                        values.reserve(group.items.size());
                        for (const Item* item : group.items)
                          values.push_back(item->*metric.value * metric.scale);
                        return real(statistic_of(statistic, std::move(values)));
                      }});
  }
  return fields;
}

// The metric under the public tool's names: bandwidths of 2^30 bytes a second are called GB/s
// there; by default they are named for what they are, and real GB/s stand beside them.
template <class Item>
std::vector<Metric<Item>> bandwidth_metrics(const std::string& name,
                                            double Item::*gibps,
                                            bool is_compat) {
  const auto higher = model::Better::kHigher;
  if (is_compat) return {{{name + " (GB/s)", "GiB/s", higher}, gibps}};
  return {{{name + " (GiB/s)", "GiB/s", higher}, gibps},
          {{name + " (GB/s)", "GB/s", higher}, gibps, kGigabytesPerGibibyte}};
}

template <class Item>
Fields<Item> metric_fields(const std::vector<Metric<Item>>& metrics) {
  Fields<Item> fields;
  for (const Metric<Item>& metric : metrics) {
    fields.push_back({metric.column, [metric](const Item& item) {
                        return real(item.*metric.value * metric.scale);
                      }});
  }
  return fields;
}

inline const std::vector<Statistic> kAllStatistics = {Statistic::kMean, Statistic::kMedian,
                                                      Statistic::kMinimum, Statistic::kMaximum};
inline const std::vector<Statistic> kMeanAndMaximum = {Statistic::kMean, Statistic::kMaximum};

}  // namespace assay::trace::collectives
