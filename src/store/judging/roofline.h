// The least time that a row of a performance table can take: what its operator moves and computes,
// over what the device can do at most.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/data_type.h"
#include "model/perf.h"
#include "store/answers/table_index.h"
#include "store/answers/work_index.h"
#include "store/files/table_spec.h"
#include "store/systems/system_yaml.h"

namespace assay::store {

// The lower bounds of a row's time; null if they are unknown. If all data of the row fit into the
// L2 cache, `cached` uses the speed of the cache in place of the memory's, because the launch
// before may have left them there.
struct Rooflines {
  KeyRoofline all;
  KeyRoofline cached;
  RooflineBinder bound = {};  // as `all`, for many sizes of one key
};

struct RowCost {
  double bytes = 0;
  double flops = 0;
  model::DataType type = model::DataType::kBfloat16;  // of the products
  double link_bytes = 0;
};

inline constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

// An operator whose rows a table holds. Callers know operators, this layer does not.
struct CostedOperator {
  struct Column {
    std::string name;
    ColumnKind kind = ColumnKind::kWhole;
  };

  std::string name;             // the op_name of its rows
  std::vector<Column> columns;  // that its cost depends on
  // The cost of the row with these values of the columns.
  std::function<RowCost(const std::vector<model::PerfValue>& values)> cost;
  // The cost of rows that differ in sizes alone: `places` tells for each size which column it is,
  // or kNoPlace. The function that it gives takes no memory, and is for one thread at a time.
  using SizedCost = std::function<RowCost(std::span<const double> sizes)>;
  std::function<SizedCost(std::vector<model::PerfValue> values, std::vector<std::size_t> places)>
      bound_cost = {};
};

// The cost of rows with these exact values over sizes in this order; null if it is unknown. Each
// call gives a function of its own, which one thread at a time may use.
using CostBinder = std::function<CostedOperator::SizedCost(
    const std::vector<model::PerfField>& exact, const std::vector<std::string>& sizes)>;

CostBinder table_costs(const std::vector<CostedOperator>& operators);

// The rooflines of a table whose rows these operators measure; null where there is none. A row is
// unbounded (0) if none of several operators has its op_name, if it lacks a column of its operator
// or has another kind of value there, and if its kernel does less than the operator's cost.
Rooflines table_rooflines(const std::string& table,
                          const std::vector<CostedOperator>& operators,
                          const Peaks& peaks);

}  // namespace assay::store
