#include "store/answers/table_index.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace assay::store {
namespace {

model::PerfField* find_field(std::vector<model::PerfField>& key, std::string_view column) {
  const auto found = std::find_if(key.begin(), key.end(), [&](const model::PerfField& field) {
    return field.column == column;
  });
  return found == key.end() ? nullptr : &*found;
}

Grid grid_of(const GroupedRows& rows, std::size_t group) {
  const std::size_t count = rows.sizes.size();
  std::vector<double> sizes;
  std::vector<double> latencies;
  for (const std::uint32_t row : rows.rows_of_group[group]) {
    for (std::size_t i = 0; i < count; ++i)
      sizes.push_back(rows.size_values[row * count + i]);
    latencies.push_back(rows.latencies[row]);
  }
  return Grid(count, sizes, latencies);
}

std::vector<std::optional<MedianInterval>> intervals_of(const GroupedRows& rows,
                                                        std::size_t group) {
  std::vector<std::optional<MedianInterval>> intervals;
  if (rows.intervals.empty()) return intervals;
  for (const std::uint32_t row : rows.rows_of_group[group])
    intervals.push_back(rows.intervals[row]);
  return intervals;
}

}  // namespace

Roofline group_roofline(const KeyRoofline& roofline, const GroupedRows& rows, std::size_t group) {
  if (!roofline) return nullptr;
  std::vector<model::PerfField> key = group_key(rows, group);
  const std::size_t num_sizes = rows.sizes.size();
  const std::size_t first_size = key.size() - num_sizes;
  const model::PerfField* kv_heads = find_field(key, "num_key_value_heads");
  const bool follows = kv_heads != nullptr && kv_heads->value == model::PerfValue(kAsHeads);
  return [=](std::span<const double> sizes) {
    std::vector<model::PerfField> filled = key;
    for (std::size_t i = 0; i < num_sizes; ++i)
      filled[first_size + i].value = static_cast<std::int64_t>(std::llround(sizes[i]));
    if (follows) {
      const model::PerfValue heads = find_field(filled, "num_heads")->value;
      find_field(filled, "num_key_value_heads")->value = heads;
    }
    return roofline(filled);
  };
}

core::Result<TableIndex> TableIndex::make(const std::string& table,
                                          const Frame& frame,
                                          const KeyRoofline& roofline) {
  GroupedRows rows = ASSAY_TRY(group_rows(table, frame));
  std::vector<SurfaceAxis> axes;
  for (const std::string& size : rows.sizes)
    axes.push_back({.column = size, .curve = curve_of(size)});
  TableIndex index;
  index.table_ = table;
  for (std::size_t group = 0; group < rows.rows_of_group.size(); ++group) {
    Roofline bound = group_roofline(roofline, rows, group);
    index.groups_.push_back({.exact = rows.exact_of_group[group],
                             .surface = GridSurface(axes, grid_of(rows, group), std::move(bound)),
                             .intervals = intervals_of(rows, group)});
  }
  index.exact_ = std::move(rows.exact);
  index.sizes_ = std::move(rows.sizes);
  index.unused_ = rows.unused;
  return index;
}

std::string TableIndex::group_name(const Group& group) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < exact_.size(); ++i) {
    if (exact_[i].values.size() > 1) parts.push_back(exact_[i].name + "=" + exact_value(group, i));
  }
  return core::join(parts, " ");
}

}  // namespace assay::store
