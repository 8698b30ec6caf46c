// The operators that `assay collect` measures. A new operator is one file,
// src/collect/ops/<name>.cc:
//
//   const Operator kGemm{.name = "gemm", .table = "gemm_perf", .axes = {...}, ...};
//   ASSAY_REGISTER(Operator, kGemm);
//
// It declares its axes (columns of its table), which cases a sweep takes, the least cost of a case,
// and the kernels of which it consists. The table, --list, the options of the command line,
// resuming and the checks of the store follow from the declaration.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/kernels/device.h"
#include "collect/kernels/kernel_cost.h"
#include "core/registry.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

// kCoarse has few points over the whole range, kCommon those of the public collector, and kFine
// also points beside the edges of tiles and waves. kCpu has the points of kCoarse in data types
// that workers of CPUs have, and that take a CPU a few milliseconds. They are at most
// kMostCpuCases, which take two cores about a minute: of the size with most values every second one
// is left out, again and again, until there are so few. kModels has the sizes between which a store
// answers for the shapes of models; everything else is as in kCoarse.
enum class Grid : std::uint8_t { kCoarse, kCommon, kFine, kCpu, kModels };

inline constexpr std::size_t kMostCpuCases = 100;
inline constexpr double kMostCpuFlops = 1e9;
inline constexpr double kMostCpuBytes = 64e6;

// "common"
std::string_view name_of(Grid grid);

// Cases that differ only in a kInner axis share their weights, so that they are measured in
// succession.
enum class Nesting : std::uint8_t { kOuter, kInner };

struct Axis {
  std::string column;  // "gemm_dtype"
  std::string option;  // "dtype" for --dtype; empty: the column, with '-' for '_'
  std::string help;    // "type of input and weight"
  std::string unit;    // "tokens"; empty for names
  std::vector<model::PerfValue> common;
  std::vector<model::PerfValue> coarse = {};  // empty: as common
  std::vector<model::PerfValue> fine = {};    // empty: as common
  std::vector<model::PerfValue> models = {};  // empty: as coarse
  Nesting nesting = Nesting::kOuter;
  // The values that users may also request: integers from `least` to `most`, data types if the
  // values name data types, and names that `accepts` takes.
  std::int64_t least = 1;
  std::int64_t most = 2147483647;
  std::function<bool(std::string_view)> accepts = nullptr;

  [[nodiscard]] const std::vector<model::PerfValue>& values(Grid grid) const;
  // Returns whether its values name data types.
  [[nodiscard]] bool has_types() const;
  // Returns whether users may request every data type.
  [[nodiscard]] bool takes_all_types() const;
  // The names to choose from, for messages. An axis of numbers has none.
  [[nodiscard]] std::vector<std::string> names() const;
};

// Axes whose values belong together, such as the sizes of a model. A sweep takes these rows instead
// of every combination of the axes' own values. The axes list all values of the rows.
struct AxisGroup {
  using Rows = std::vector<std::vector<model::PerfValue>>;

  std::vector<std::string> columns;
  Rows common;
  Rows coarse = {};  // empty: as common
  Rows fine = {};    // empty: as common

  [[nodiscard]] const Rows& rows(Grid grid) const;
};

// Returns the value as ids and messages show it.
std::string text_of(const model::PerfValue& value);

struct Operator;

// One point of an operator: a value for each of its axes.
class Case {
 public:
  Case(const Operator& op, std::vector<model::PerfValue> values)
      : operator_(&op), values_(std::move(values)) {}

  [[nodiscard]] const Operator& op() const { return *operator_; }

  [[nodiscard]] const std::vector<model::PerfValue>& values() const { return values_; }

  // Makes it another point. Precondition: the axis has integers.
  void set(std::size_t axis, std::int64_t value) { values_[axis] = value; }

  // The value in a column. Precondition: the operator has this column.
  [[nodiscard]] std::int64_t integer(std::string_view column) const;
  [[nodiscard]] const std::string& text(std::string_view column) const;
  [[nodiscard]] DataType type(std::string_view column) const;

  // Names the case, and never changes between versions: "gemm gemm_dtype=bfloat16 m=1 n=32 k=32".
  [[nodiscard]] std::string id() const;

 private:
  const Operator* operator_;
  std::vector<model::PerfValue> values_;
};

inline constexpr std::string_view kSumEnding = "_sum";

// A row of a case's results, without the columns that follow from the case itself.
struct Part {
  std::string op_name;  // "compute_scale"
  std::string table;
  std::vector<model::PerfField> key;
  KernelSpec kernel;
  // If it has a value, the row's time is that of `kernel` less that of this one, and at least 0.
  std::optional<KernelSpec> less = {};
  // Kernels that are launched after `kernel`, all in one graph: the row has the time of them all.
  // A second row, whose op_name ends in kSumEnding, has the sum of their times one by one.
  std::vector<KernelSpec> then = {};
  // The row has the version of this library, which is named as in the device's facts: "NCCL".
  // Empty: the version of assay.
  std::string version_of = {};
};

struct Operator {
  const char* name;        // as --ops takes it: "gemm"
  const char* summary;     // one line, no capital, no full stop
  const char* table;       // "gemm_perf"
  std::vector<Axis> axes;  // the key columns of its table, in their order
  // Returns whether a sweep includes this combination. Sweeps leave out cases that need too much
  // memory or time, and shapes that no model has.
  std::function<bool(const Case&)> takes = nullptr;  // nullptr: all
  // The same for Grid::kModels, which is not bound to the public collector's sweeps; nullptr: as
  // `takes`.
  std::function<bool(const Case&)> takes_for_models = nullptr;
  // Returns why the case cannot run on this device, or std::nullopt if it can.
  std::function<std::optional<std::string>(const Case&, const DeviceFacts&)> skip = nullptr;
  std::function<Cost(const Case&)> cost;
  std::function<std::vector<Part>(const Case&)> parts;  // usually one
  int ranks_axis = -1;  // index of the axis that counts GPUs; -1: one GPU
  std::vector<AxisGroup> groups = {};
  const char* alias = nullptr;  // name in the public collector, if it differs
};

// Returns the case with this id. Error: no operator of this program has such a case.
core::Result<Case> case_of(std::string_view id);

std::vector<const Operator*> all_operators();
// Returns the operator with this name or alias, or nullptr if there is none.
const Operator* find_operator(std::string_view name);

// The values that replace those of an axis.
struct AxisOverride {
  std::string column;
  std::vector<model::PerfValue> values;
};

// Error: the operator has no such column, or an axis does not accept a value. cases_of() only takes
// overrides that have passed this check.
core::Status check_override(const Operator& op, const AxisOverride& given);

// The name of an axis's option: "dtype" for --dtype.
std::string option_name(const Axis& axis);

// Reads an axis's values from words of a command line: "1", "4096" or "fp8". Error:
// check_override() refuses a value. The message names the axis's option.
core::Result<AxisOverride> parse_override(const Operator& op,
                                          const Axis& axis,
                                          const std::vector<std::string>& words);

// Returns the cases of an operator in the order in which they should run: cases with the same
// number of GPUs together, among these the cases that share weights, large ones first, and names in
// the order of their axis.
//
// If the overrides cover all axes that have several values, the result has every requested case,
// even those that `takes` refuses. If an override of an axis in a group names values that rows
// have, only these rows stay; other values replace those of the rows.
std::vector<Case> cases_of(const Operator& op,
                           Grid grid,
                           const std::vector<AxisOverride>& overrides);

}  // namespace assay::collect
