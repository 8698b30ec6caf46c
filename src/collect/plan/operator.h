// What `assay collect` can measure. A new operator is one file, src/collect/ops/<name>.cc:
//
//   const Operator kGemm{.name = "gemm", .table = "gemm_perf", .axes = {...}, ...};
//   ASSAY_REGISTER(Operator, kGemm);
//
// It names its axes (columns of its table), which cases a sweep takes, what a case costs at least,
// and the kernels that it consists of. The table, --list, the options of the command line, resuming
// and the checks of the store follow from the declaration.
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

// kCoarse: few points over the whole range; kCommon: the public collector's; kFine: with the
// points beside the edges of tiles and waves.
enum class Grid : std::uint8_t { kCoarse, kCommon, kFine };

// kInner: cases that differ only here share their weights, so they follow each other.
enum class Nesting : std::uint8_t { kOuter, kInner };

struct Axis {
  std::string column;  // "gemm_dtype"
  std::string option;  // "dtype": --dtype; empty: the column, with '-' for '_'
  std::string help;    // "type of input and weight"
  std::string unit;    // "tokens"; empty for names
  std::vector<model::PerfValue> common;
  std::vector<model::PerfValue> coarse = {};  // empty: as common
  std::vector<model::PerfValue> fine = {};    // empty: as common
  Nesting nesting = Nesting::kOuter;
  // What may be asked for besides: integers from `least` to `most`, data types where the values
  // are such, and names that this takes.
  std::int64_t least = 1;
  std::int64_t most = 2147483647;
  std::function<bool(std::string_view)> accepts = nullptr;

  [[nodiscard]] const std::vector<model::PerfValue>& values(Grid grid) const;
  // Whether its values name data types.
  [[nodiscard]] bool has_types() const;
  // Whether every data type may be asked for.
  [[nodiscard]] bool takes_all_types() const;
  // To choose from, for messages; none of numbers.
  [[nodiscard]] std::vector<std::string> names() const;
};

// Axes whose values belong together, as the sizes of a model do: a sweep takes these rows instead
// of every combination of the axes' own values, which list what the rows have.
struct AxisGroup {
  using Rows = std::vector<std::vector<model::PerfValue>>;

  std::vector<std::string> columns;
  Rows common;
  Rows coarse = {};  // empty: as common
  Rows fine = {};    // empty: as common

  [[nodiscard]] const Rows& rows(Grid grid) const;
};

// The value as ids and messages show it.
std::string text_of(const model::PerfValue& value);

struct Operator;

// One point of an operator: a value for each of its axes.
class Case {
 public:
  Case(const Operator& op, std::vector<model::PerfValue> values)
      : operator_(&op), values_(std::move(values)) {}

  [[nodiscard]] const Operator& op() const { return *operator_; }

  [[nodiscard]] const std::vector<model::PerfValue>& values() const { return values_; }

  // By column; our own bug if there is none.
  [[nodiscard]] std::int64_t integer(std::string_view column) const;
  [[nodiscard]] const std::string& text(std::string_view column) const;
  [[nodiscard]] DataType type(std::string_view column) const;

  // The same for the same case ever after: "gemm gemm_dtype=bfloat16 m=1 n=32 k=32".
  [[nodiscard]] std::string id() const;

 private:
  const Operator* operator_;
  std::vector<model::PerfValue> values_;
};

// A row that a case gives, besides what follows from the case itself.
struct Part {
  std::string op_name;  // "compute_scale"
  std::string table;
  std::vector<model::PerfField> key;
  KernelSpec kernel;
  // Of a row that is this kernel's time less another's, clamped at 0: that other.
  std::optional<KernelSpec> less = {};
  // The library whose version the row has, by its name among the device's facts ("NCCL"); empty:
  // assay's own.
  std::string version_of = {};
};

struct Operator {
  const char* name;        // "gemm": as --ops takes it
  const char* summary;     // one line, no capital, no full stop
  const char* table;       // "gemm_perf"
  std::vector<Axis> axes;  // the key columns of its table, in their order
  // Whether a sweep takes this combination: guardrails of memory and time, shapes that exist.
  std::function<bool(const Case&)> takes = nullptr;  // null: all
  // Why it cannot run on this device, or nothing.
  std::function<std::optional<std::string>(const Case&, const DeviceFacts&)> skip = nullptr;
  std::function<Cost(const Case&)> cost;
  std::function<std::vector<Part>(const Case&)> parts;  // usually one
  int ranks_axis = -1;  // index of the axis that counts GPUs; -1: one GPU
  std::vector<AxisGroup> groups = {};
  const char* alias = nullptr;  // as the public collector calls it, where that differs
};

// The case that has this id. Error: none of this program's operators has such a one.
core::Result<Case> case_of(std::string_view id);

std::vector<const Operator*> all_operators();
// By name or alias. Null: there is none.
const Operator* find_operator(std::string_view name);

// "attention": an axis's values instead of its own.
struct AxisOverride {
  std::string column;
  std::vector<model::PerfValue> values;
};

// Error: the operator has no such column, or an axis does not take a value. Overrides for
// cases_of() must have passed this check.
core::Status check_override(const Operator& op, const AxisOverride& given);

// "dtype" for --dtype: the axis's option, or its column with '-' for '_'.
std::string option_name(const Axis& axis);

// The values of an axis that the words of a command line name: "1", "4096" or "fp8". Error, with
// the axis's option: check_override() refuses a value.
core::Result<AxisOverride> parse_override(const Operator& op,
                                          const Axis& axis,
                                          const std::vector<std::string>& words);

// Cases in the order in which they should run: those of as many GPUs together, then those that
// share weights, large ones first, names in the order of their axis.
//
// Overriding all axes (those with one value need not be) gives just the cases asked for, without
// `takes`. Of a group, a value that some rows have picks these rows; another replaces theirs.
std::vector<Case> cases_of(const Operator& op,
                           Grid grid,
                           const std::vector<AxisOverride>& overrides);

}  // namespace assay::collect
