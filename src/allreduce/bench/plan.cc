#include "allreduce/bench/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <tuple>

namespace assay::allreduce {
namespace {

constexpr std::int64_t kHiddenSizeUnit = 8;  // the kernels load 16 bytes at a time
constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

template <class Value>
std::vector<Value> without_duplicates(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::int64_t> powers_of_two(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; value *= 2)
    values.push_back(value);
  return values;
}

std::vector<std::int64_t> with(std::vector<std::int64_t> values,
                               const std::vector<std::int64_t>& more) {
  values.insert(values.end(), more.begin(), more.end());
  std::sort(values.begin(), values.end());
  return values;
}

// Returns how many times the spacing of a coarse grid has to be halved until the grid contains
// `index`: 0 for every eighth index from the first on, 1 for those halfway between, and so on.
int fineness(std::size_t index) {
  constexpr int kFinest = 3;
  int level = kFinest;
  while (level > 0 && index % 2 == 0) {
    index /= 2;
    --level;
  }
  return level;
}

core::Status check_values(const std::vector<std::int64_t>& values, const char* what) {
  for (const std::int64_t value : values) {
    if (value < 1) return core::Error{fmt::format("{} {} is less than 1", what, value)};
  }
  return {};
}

}  // namespace

// Among the hidden sizes are some of models between the powers of two, because strategies change at
// other message sizes there. None of the held-out shapes is in the grid.
Axes default_axes(Shapes shapes) {
  Axes axes{.data_types = {DataType::kBfloat16},
            .fusions = {Fusion::kNone, Fusion::kResidualRmsNorm, Fusion::kResidualRmsNormQuantFp8,
                        Fusion::kResidualRmsNormQuantNvfp4},
            .hidden_sizes = with(powers_of_two(128, 8192), {1536, 2880, 3072, 5120, 6144, 7168}),
            .num_tokens = powers_of_two(1, 16384)};
  if (shapes == Shapes::kHeldOut) {
    axes.hidden_sizes = {640, 896, 2304, 2880, 3584, 5376, 7168};
    axes.num_tokens = {3, 6, 12, 24, 50, 100, 200, 400, 750, 1500, 3000, 6000, 12000};
  }
  return axes;
}

std::vector<Cell> plan_cells(int world_size, const Axes& axes, const CellFilter& filter) {
  const auto hidden_sizes = without_duplicates(axes.hidden_sizes);
  const auto num_tokens = without_duplicates(axes.num_tokens);

  struct Placed {
    int fineness = 0;
    Cell cell;
  };

  std::vector<Placed> placed;
  for (const DataType type : without_duplicates(axes.data_types)) {
    for (const Fusion fusion : without_duplicates(axes.fusions)) {
      for (std::size_t h = 0; h < hidden_sizes.size(); ++h) {
        for (std::size_t t = 0; t < num_tokens.size(); ++t) {
          const Cell cell{world_size, type, fusion, hidden_sizes[h], num_tokens[t]};
          if (cell.size_bytes() < filter.min_size_bytes) continue;
          if (cell.size_bytes() > filter.max_size_bytes) continue;
          placed.push_back({std::max(fineness(h), fineness(t)), cell});
        }
      }
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tuple(a.cell.data_type, a.fineness) < std::tuple(b.cell.data_type, b.fineness);
  });
  placed.resize(std::min(placed.size(), filter.most_cells));
  std::vector<Cell> cells;
  cells.reserve(placed.size());
  for (const Placed& one : placed)
    cells.push_back(one.cell);
  return cells;
}

core::Status check_axes(const Axes& axes) {
  if (axes.data_types.empty() || axes.fusions.empty() || axes.hidden_sizes.empty() ||
      axes.num_tokens.empty()) {
    return core::Error{"nothing to measure: an axis has no value"};
  }
  ASSAY_TRY(check_values(axes.hidden_sizes, "hidden size"));
  ASSAY_TRY(check_values(axes.num_tokens, "token count"));
  for (const std::int64_t size : axes.hidden_sizes) {
    if (size % kHiddenSizeUnit == 0) continue;
    return core::Error{
        fmt::format("hidden size {} is not a multiple of {}", size, kHiddenSizeUnit)};
  }
  const std::int64_t hidden = *std::max_element(axes.hidden_sizes.begin(), axes.hidden_sizes.end());
  const std::int64_t tokens = *std::max_element(axes.num_tokens.begin(), axes.num_tokens.end());
  if (hidden <= kLargestSize / bytes_of(DataType::kFloat32) / tokens) return {};
  return core::Error{
      fmt::format("{} tokens of hidden size {} are more than 1 TiB", tokens, hidden)};
}

core::Result<std::vector<int>> default_world_sizes(int gpus) {
  std::vector<int> sizes;
  for (const int size : {2, 4, 8}) {
    if (size <= gpus) sizes.push_back(size);
  }
  if (!sizes.empty()) return sizes;
  return core::Error{fmt::format("an all-reduce takes at least 2 GPUs, and {} here",
                                 gpus == 0 ? "none is" : "only one is")};
}

}  // namespace assay::allreduce
