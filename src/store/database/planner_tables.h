// What the public planner (aiconfigurator) needs of the tables that are placed for it. Seen in its
// release 0.11.0, the last one that reads tables in Python, and at its commit 095f58a51 of August
// 2026, which reads them in Rust.
//
// For each table it has a list of the columns that tell one point from another; a row that differs
// from another in no such column is ignored, whichever comes first. In 0.11.0 one row with a value
// that an enumeration lacks makes every query of the table fail, and so does a row without power
// in a table that has the column.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

// The names under which it looks for tables.
inline constexpr std::array<std::string_view, 3> kPlannerBackends = {"trtllm", "vllm", "sglang"};

bool is_planner_backend(std::string_view backend);

// "trtllm, vllm, sglang"
std::string planner_backends();

// The values of a column that it can tell apart. Of a column that it does not look at, such as
// `step` of context attention, this is the one value that it takes all rows for.
struct KnownValues {
  std::string_view column;
  std::vector<std::string_view> values;
};

// A step of a layer, which it finds by the name of the kernel that one engine runs for it.
struct LayerStep {
  std::string_view op_name;
  std::string_view phase;
  std::string_view kernel;
};

struct PlannerTable {
  std::string_view table;
  std::vector<std::string_view> key;
  // One of `key`, where rows that differ in this column alone are a curve of their own; empty where
  // the sizes are a grid. A point between those of a grid misleads: it is taken for a line of it.
  std::string_view curve = {};
  std::vector<KnownValues> known = {};
  std::vector<LayerStep> steps = {};  // empty: it looks at no names of kernels
};

const std::vector<PlannerTable>& planner_tables();

// Null for a table that it does not read, or that assay does not measure.
const PlannerTable* find_planner_table(std::string_view table);

// Rows, or values, that were not placed.
struct LeftOut {
  std::string table;
  std::string reason;
  std::int64_t rows = 0;
};

// A column that rows may have besides those of the table: the state of the cache.
inline constexpr std::string_view kL2Column = "l2";

// Takes the rows that it can read. Of several with one key it takes one that was measured as
// engines find the cache, if there is any, and of those the fastest. `left_out` tells of the others
// by reason.
Frame rows_for_planner(const PlannerTable& table,
                       const Frame& rows,
                       std::vector<LeftOut>& left_out);

// Gives rows of files that lack the columns of windows and steps, where others have them, what
// their absence means: 0.
Frame with_absent_sizes(Frame rows);

// Takes all rows but those without a time, a type or a size, whoever measured them.
Frame rows_without_flaws(const std::string& table,
                         const Frame& rows,
                         std::vector<LeftOut>& left_out);

// What ran, in rows whose kernel_source is the name by which the planner finds a step.
inline constexpr std::string_view kMeasuredKernelColumn = "measured_kernel_source";

// Gives rows of steps the names by which it finds them; the names of what ran go to a column of
// their own, which it does not look at.
Frame with_names_of_steps(const PlannerTable& table, Frame rows);

// Adds to the rows of grids those of `all` that lie on curves which the grid began with at least
// two points. Both are of the same table; the result has the rows in the order of `all`.
Frame with_points_of_curves(const PlannerTable& table, const Frame& grid, const Frame& all);

// Without the columns of power if some rows lack them.
Frame with_power_of_all(const std::string& table, Frame rows, std::vector<LeftOut>& left_out);

}  // namespace assay::store
