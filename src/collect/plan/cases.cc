// The cases of a sweep over the axes of an operator.
#include <algorithm>
#include <iterator>
#include <optional>

#include "collect/kernels/kernel_cost.h"
#include "collect/plan/operator.h"
#include "core/check.h"

namespace assay::collect {
namespace {

using Values = std::vector<model::PerfValue>;

// An override or a group that names a missing column is our own bug.
std::size_t axis_of(const Operator& op, std::string_view column) {
  const auto has_column = [&](const Axis& axis) { return axis.column == column; };
  const auto found = std::find_if(op.axes.begin(), op.axes.end(), has_column);
  ASSAY_CHECK(found != op.axes.end(), "the operator has no such axis");
  return static_cast<std::size_t>(found - op.axes.begin());
}

// Spells data types as this axis does: "bf16" becomes "bfloat16", and "float16" becomes "half" in
// NCCL's table.
model::PerfValue spelled_as(const Axis& axis, const model::PerfValue& value) {
  const auto* name = std::get_if<std::string>(&value);
  if (name == nullptr || !axis.has_types()) return value;
  const std::optional<DataType> type = data_type_named(*name);
  for (const model::PerfValue& known : axis.common) {
    if (data_type_named(std::get<std::string>(known)) == type) return known;
  }
  return type ? model::PerfValue(std::string(name_of(*type))) : value;
}

// Compares numbers; names have no order of their own.
bool is_larger(const model::PerfValue& a, const model::PerfValue& b) {
  return a.index() == b.index() && !std::holds_alternative<std::string>(a) && b < a;
}

bool is_larger_row(const Values& a, const Values& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), is_larger);
}

// Axes that a sweep varies together, and the rows of values that they take.
struct Dimension {
  std::vector<std::size_t> axes;
  std::vector<Values> rows;
};

// Rows are sorted, the largest first; the smallest stays.
void leave_out_every_second(std::vector<Values>& rows) {
  std::vector<Values> kept;
  for (std::size_t i = (rows.size() + 1) % 2; i < rows.size(); i += 2)
    kept.push_back(std::move(rows[i]));
  rows = std::move(kept);
}

bool is_quick_on_cpu(const Cost& cost) {
  return cost.flops <= kMostCpuFlops && std::max(cost.bytes, cost.link_bytes) <= kMostCpuBytes;
}

bool computes_on_cpu(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

class Sweep {
 public:
  Sweep(const Operator& op, Grid grid, const std::vector<AxisOverride>& overrides)
      : operator_(op), grid_(grid), overridden_(op.axes.size()) {
    for (const AxisOverride& given : overrides) {
      const std::size_t axis = axis_of(op, given.column);
      overridden_[axis] = Values();
      for (const model::PerfValue& value : given.values) {
        overridden_[axis]->push_back(spelled_as(op.axes[axis], value));
      }
    }
    add_dimensions();
  }

  [[nodiscard]] std::vector<Case> cases() && {
    std::vector<Case> found = guarded_cases();
    while (grid_ == Grid::kCpu && found.size() > kMostCpuCases && leave_some_out())
      found = guarded_cases();
    return found;
  }

 private:
  [[nodiscard]] std::vector<Case> guarded_cases() const {
    std::vector<Case> found;
    Values values(operator_.axes.size());
    add_cases(0, !is_all_given(), values, found);
    return found;
  }

  [[nodiscard]] bool takes(const Case& point) const {
    const bool is_for_models = grid_ == Grid::kModels && operator_.takes_for_models;
    const auto& takes = is_for_models ? operator_.takes_for_models : operator_.takes;
    if (takes && !takes(point)) return false;
    if (grid_ != Grid::kCpu) return true;
    const Cost cost = operator_.cost(point);
    return is_quick_on_cpu(cost) && (chooses_no_type() || computes_on_cpu(cost.type));
  }

  // All data types stay for collectives, which move any, and where users ask for some.
  [[nodiscard]] bool chooses_no_type() const {
    if (operator_.ranks_axis >= 0) return true;
    for (std::size_t i = 0; i < operator_.axes.size(); ++i) {
      if (is_given(i) && operator_.axes[i].has_types()) return true;
    }
    return false;
  }

  // Names, ranks and what the user gave stay as they are.
  [[nodiscard]] bool may_be_fewer(const Dimension& dimension) const {
    if (level_of(dimension) == 0 || dimension.rows.size() < 3) return false;
    return std::all_of(dimension.axes.begin(), dimension.axes.end(), [&](std::size_t axis) {
      return !is_given(axis) && operator_.axes[axis].names().empty();
    });
  }

  // Returns false if every size has less than three values.
  bool leave_some_out() {
    Dimension* most = nullptr;
    for (Dimension& dimension : dimensions_) {
      if (!may_be_fewer(dimension)) continue;
      if (most == nullptr || dimension.rows.size() > most->rows.size()) most = &dimension;
    }
    if (most == nullptr) return false;
    leave_out_every_second(most->rows);
    return true;
  }

  [[nodiscard]] bool is_given(std::size_t axis) const { return overridden_[axis].has_value(); }

  [[nodiscard]] bool is_all_given() const {
    bool any = false;
    for (std::size_t i = 0; i < operator_.axes.size(); ++i) {
      if (!is_given(i) && operator_.axes[i].values(grid_).size() > 1) return false;
      any = any || is_given(i);
    }
    return any;
  }

  [[nodiscard]] Dimension dimension_of(std::size_t axis) const {
    Dimension made{{axis}, {}};
    const Values& values = is_given(axis) ? *overridden_[axis] : operator_.axes[axis].values(grid_);
    for (const model::PerfValue& value : values)
      made.rows.push_back({value});
    return made;
  }

  void override_column(std::vector<Values>& rows, std::size_t column, const Values& given) const {
    std::vector<Values> changed;
    for (const model::PerfValue& value : given) {
      const std::size_t before = changed.size();
      const auto has_value = [&](const Values& row) { return row[column] == value; };
      std::copy_if(rows.begin(), rows.end(), std::back_inserter(changed), has_value);
      if (changed.size() > before) continue;
      for (Values row : rows) {
        row[column] = value;
        changed.push_back(std::move(row));
      }
    }
    rows = std::move(changed);
  }

  // std::nullopt: every axis of the group is overridden, so that its rows do not matter.
  [[nodiscard]] std::optional<Dimension> dimension_of(const AxisGroup& group) const {
    Dimension made{{}, group.rows(grid_)};
    bool is_open = false;
    for (std::size_t column = 0; column < group.columns.size(); ++column) {
      const std::size_t axis = axis_of(operator_, group.columns[column]);
      made.axes.push_back(axis);
      is_open = is_open || !is_given(axis);
      if (is_given(axis)) override_column(made.rows, column, *overridden_[axis]);
    }
    if (!is_open) return std::nullopt;
    return made;
  }

  // The number of ranks varies most slowly, then names, weights and shapes, then what shares them.
  [[nodiscard]] int level_of(const Dimension& dimension) const {
    const auto is_ranks = [&](std::size_t axis) {
      return static_cast<int>(axis) == operator_.ranks_axis;
    };
    const auto is_inner = [&](std::size_t axis) {
      return operator_.axes[axis].nesting == Nesting::kInner;
    };
    if (std::any_of(dimension.axes.begin(), dimension.axes.end(), is_ranks)) return 0;
    return std::all_of(dimension.axes.begin(), dimension.axes.end(), is_inner) ? 2 : 1;
  }

  void add_dimensions() {
    std::vector<bool> is_grouped(operator_.axes.size(), false);
    for (const AxisGroup& group : operator_.groups) {
      std::optional<Dimension> made = dimension_of(group);
      if (!made) continue;
      for (const std::size_t axis : made->axes)
        is_grouped[axis] = true;
      dimensions_.push_back(std::move(*made));
    }
    for (std::size_t axis = 0; axis < operator_.axes.size(); ++axis) {
      if (!is_grouped[axis]) dimensions_.push_back(dimension_of(axis));
    }
    for (Dimension& dimension : dimensions_)
      tidy(dimension.rows);
    std::sort(dimensions_.begin(), dimensions_.end(), [&](const Dimension& a, const Dimension& b) {
      const int level_a = level_of(a);
      const int level_b = level_of(b);
      return level_a != level_b ? level_a < level_b : a.axes.front() < b.axes.front();
    });
  }

  // Sorts large values first and removes duplicates.
  static void tidy(std::vector<Values>& rows) {
    std::vector<Values> once;
    for (Values& row : rows) {
      if (std::find(once.begin(), once.end(), row) == once.end()) once.push_back(std::move(row));
    }
    std::stable_sort(once.begin(), once.end(), is_larger_row);
    rows = std::move(once);
  }

  void add_cases(std::size_t depth,
                 bool is_guarded,
                 Values& values,
                 std::vector<Case>& found) const {
    if (depth == dimensions_.size()) {
      Case made(operator_, values);
      if (!is_guarded || takes(made)) found.push_back(std::move(made));
      return;
    }
    const Dimension& dimension = dimensions_[depth];
    for (const Values& row : dimension.rows) {
      for (std::size_t i = 0; i < row.size(); ++i)
        values[dimension.axes[i]] = row[i];
      add_cases(depth + 1, is_guarded, values, found);
    }
  }

  const Operator& operator_;
  Grid grid_;
  std::vector<std::optional<Values>> overridden_;  // by axis
  std::vector<Dimension> dimensions_;              // the first varies most slowly
};

}  // namespace

std::vector<Case> cases_of(const Operator& op,
                           Grid grid,
                           const std::vector<AxisOverride>& overrides) {
  return Sweep(op, grid, overrides).cases();
}

}  // namespace assay::collect
