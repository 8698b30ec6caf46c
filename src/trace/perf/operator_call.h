// One recorded operator call with typed access to its arguments: all that a performance model
// reads.
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

// The position of an argument is that in the operator's signature. An absent argument is an empty
// list, "" or, for strides, None. PyTorch records concrete values as Python texts ("True", "0.",
// "[3, 3]").
struct OperatorCall {
  std::string_view name;
  ArgumentList dims = {};
  ArgumentList types = {};
  ArgumentList strides = {};
  ArgumentList concrete = {};
  std::vector<std::string_view> kernel_names = {};  // of its GPU work, in launch order
  Compat compat = Compat::kNone;

  // Both fail when the argument is no list of numbers; the second, when it has not `rank` numbers.
  [[nodiscard]] core::Result<Shape> shape(std::size_t position) const;
  [[nodiscard]] core::Result<Shape> shape(std::size_t position, std::size_t rank) const;
  [[nodiscard]] bool is_tensor(std::size_t position) const;  // has at least one dimension

  [[nodiscard]] std::string type(std::size_t position) const;
  [[nodiscard]] Argument stride(std::size_t position) const;

  [[nodiscard]] std::string text(std::size_t position) const;
  [[nodiscard]] std::optional<double> number(std::size_t position) const;
  [[nodiscard]] bool flag(std::size_t position, bool otherwise = false) const;
  [[nodiscard]] std::vector<double> numbers(std::size_t position) const;  // reads "[2.0, 2.0]"
  // Reads "[1, 2]" or "3". Fails for other texts and for an absent argument.
  [[nodiscard]] core::Result<Shape> integers(std::size_t position) const;

  [[nodiscard]] bool like_public_tool() const { return compat == Compat::kTraceLens; }
};

// No GPU's memory holds more elements. A larger shape or number is damage and would overflow, so
// OperatorCall does not return one.
constexpr double kMostElements = 1e12;
bool is_plausible(const Shape& shape);

// Returns the product of the dimensions, which is 1 for a scalar.
double element_count(const Shape& shape);

// Returns the bytes of one element of a type as PyTorch names it ("c10::BFloat16"). std::nullopt:
// the type is unknown.
std::optional<double> element_bytes(std::string_view type);

// Returns "bf16", "fp8" …, or "" for types without a peak rate.
std::string_view precision(std::string_view type);

// Returns the name of a peak rate: "matrix_bf16", "vector_fp32", or "" when the type has none.
enum class ComputeUnit { kMatrix, kVector };
std::string compute_spec(ComputeUnit unit, std::string_view type);

// Make arguments that may stand as values of parameters.
Argument to_argument(const Shape& shape);
Argument to_argument(std::string_view text);          // None for ""
Argument text_tuple(std::vector<std::string> texts);  // texts; None for ""

}  // namespace assay::trace
