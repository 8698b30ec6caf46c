// One recorded operator call, with typed access to its arguments. A performance model reads
// nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trace/arguments.h"
#include "trace/options.h"

namespace assay::trace {

using Shape = std::vector<std::int64_t>;

// Positions are those of the operator's signature. Absent arguments are empty lists, "" or, for
// strides, None; PyTorch records concrete values as Python texts ("True", "0.", "[3, 3]").
struct OperatorCall {
  std::string_view name;
  ArgumentList dims = {};
  ArgumentList types = {};
  ArgumentList strides = {};
  ArgumentList concrete = {};
  std::vector<std::string_view> kernel_names = {};  // of the GPU work below it, in launch order
  Compat compat = Compat::kNone;

  // Fails when the argument is not a list of numbers, or not of `rank` numbers.
  [[nodiscard]] core::Result<Shape> shape(std::size_t position) const;
  [[nodiscard]] core::Result<Shape> shape(std::size_t position, std::size_t rank) const;
  [[nodiscard]] bool is_tensor(std::size_t position) const;  // has at least one dimension

  [[nodiscard]] std::string type(std::size_t position) const;
  [[nodiscard]] Argument stride(std::size_t position) const;

  [[nodiscard]] std::string text(std::size_t position) const;
  [[nodiscard]] std::optional<double> number(std::size_t position) const;
  [[nodiscard]] bool flag(std::size_t position, bool otherwise = false) const;
  [[nodiscard]] std::vector<double> numbers(std::size_t position) const;  // "[2.0, 2.0]"
  // "[1, 2]" or "3"; fails for other texts and for none.
  [[nodiscard]] core::Result<Shape> integers(std::size_t position) const;

  [[nodiscard]] bool like_public_tool() const { return compat == Compat::kTraceLens; }
};

// More than any GPU's memory holds: larger shapes are damage, and would overflow. operator_call.cc
// lets neither them nor larger numbers through.
constexpr double kMostElements = 1e12;
bool is_plausible(const Shape& shape);

// Product of the dimensions; 1 for a scalar.
double element_count(const Shape& shape);

// Bytes of one element of a type as PyTorch names it ("c10::BFloat16"); empty when unknown.
std::optional<double> element_bytes(std::string_view type);

// "bf16", "fp8" …; "" for types that no peak rate is given for.
std::string_view precision(std::string_view type);

// "matrix_bf16", "vector_fp32"; "" when the type has no precision.
enum class ComputeUnit { kMatrix, kVector };
std::string compute_spec(ComputeUnit unit, std::string_view type);

// Arguments for parameters.
Argument to_argument(const Shape& shape);
Argument to_argument(std::string_view text);          // None for ""
Argument text_tuple(std::vector<std::string> texts);  // texts; None for ""

}  // namespace assay::trace
