// What makes the work of an operator: which combinations of columns are the same work, and along
// which quantities work is compared. Each operator is declared once, in work.cc; docs/store.md
// ("Same work") shows the table to users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::store {

inline constexpr std::size_t kMostWorkAxes = 8;

// A quantity: the product of some columns over the product of others. Rows whose quantities are all
// equal are the same work and take the same time.
struct WorkAxis {
  std::vector<std::string> times;
  std::vector<std::string> over = {};
  double plus = 0;  // is added to the first of `times` (a cache of 0 tokens has a new one)
  // Kernels fill the quantity up to a multiple of this, if it is larger.
  double tile = 1;
  // Over how many doublings of the quantity the share of the roofline stays alike.
  double reach = 4;
};

// Names sizes that no program has: one that another does not divide, or that is more than another.
struct WorkLimit {
  enum class Kind : std::uint8_t { kDividedBy, kAtMost };

  std::string column;
  Kind kind = Kind::kDividedBy;
  std::string other;
};

struct Work {
  std::string table;
  // The first is the one that curves run along: that of tokens or bytes, which have most values.
  std::vector<WorkAxis> axes;
  // Columns of numbers that change no work on one GPU.
  std::vector<std::string> labels = {};
  std::vector<WorkLimit> limits = {};

  // Whether a column is part of a quantity.
  [[nodiscard]] bool has(std::string_view column) const;
  [[nodiscard]] bool is_label(std::string_view column) const;
};

// "m", "batch_size x num_key_value_heads", "num_tokens x topk / moe_ep_size"
std::string name_of(const WorkAxis& axis);

// Null if the table is not declared.
const Work* find_work(std::string_view table);

// The work of a table that is not declared: each size is a quantity; curves run along the size with
// the most values. `values` counts them.
Work work_of_sizes(std::string table,
                   const std::vector<std::string>& sizes,
                   const std::vector<std::size_t>& values);

}  // namespace assay::store
