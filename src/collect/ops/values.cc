#include "collect/ops/values.h"

#include <algorithm>

namespace assay::collect {

std::vector<model::PerfValue> integers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<model::PerfValue> texts(std::initializer_list<const char*> values) {
  std::vector<model::PerfValue> made;
  for (const char* value : values)
    made.emplace_back(std::string(value));
  return made;
}

std::vector<model::PerfValue> powers(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<model::PerfValue> made;
  for (std::int64_t value = first; value <= last; value *= factor)
    made.emplace_back(value);
  return made;
}

std::vector<model::PerfValue> decoding_steps(std::int64_t factor) {
  constexpr std::int64_t kLongest = 131072;
  std::vector<model::PerfValue> made;
  for (std::int64_t length = 2; length <= kLongest; length *= factor)
    made.emplace_back(length - 1);
  return made;
}

std::vector<model::PerfValue> joined(std::vector<model::PerfValue> first,
                                     const std::vector<model::PerfValue>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

AxisGroup::Rows integer_rows(std::initializer_list<std::initializer_list<std::int64_t>> rows) {
  AxisGroup::Rows made;
  for (const auto& row : rows)
    made.push_back(integers(row));
  return made;
}

std::vector<model::PerfValue> column_of(const AxisGroup::Rows& rows, std::size_t column) {
  std::vector<model::PerfValue> made;
  for (const auto& row : rows) {
    if (std::find(made.begin(), made.end(), row[column]) == made.end()) {
      made.push_back(row[column]);
    }
  }
  return made;
}

std::vector<model::PerfField> key_of(const Case& point) {
  std::vector<model::PerfField> made;
  for (std::size_t i = 0; i < point.values().size(); ++i) {
    made.push_back({point.op().axes[i].column, point.values()[i]});
  }
  return made;
}

}  // namespace assay::collect
