#include "trace/perf/operator_call.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace assay::trace {
namespace {

struct DataType {
  std::string_view name;  // lower case
  double bytes;
  std::string_view precision;
};

// The bytes are those of the public tool, which counts 4 for a Python scalar.
constexpr std::array kDataTypes = {
    DataType{"double", 8, "fp64"},
    DataType{"long int", 8, ""},
    DataType{"float", 4, "fp32"},
    DataType{"scalar", 4, ""},
    DataType{"int", 4, ""},
    DataType{"c10::half", 2, "fp16"},
    DataType{"c10::bfloat16", 2, "bf16"},
    DataType{"c10::float8_e4m3fn", 1, "fp8"},
    DataType{"c10::float8_e4m3fnuz", 1, "fp8"},
    DataType{"c10::float8_e5m2", 1, "fp8"},
    DataType{"c10::float8_e5m2fnuz", 1, "fp8"},
    DataType{"c10::float8_e8m0fnu", 1, ""},
    DataType{"unsigned char", 1, "fp8"},
    DataType{"signed char", 1, ""},
    DataType{"fp8", 1, "fp8"},
    DataType{"c10::float4_e2m1fn_x2", 1, "fp4"},  // two elements per byte; shapes count bytes
};

const DataType* find_type(std::string_view type) {
  std::string lower(type);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* const found = std::find_if(kDataTypes.begin(), kDataTypes.end(),
                                         [&](const DataType& t) { return t.name == lower; });
  return found == kDataTypes.end() ? nullptr : found;
}

const Argument* at(const ArgumentList& list, std::size_t position) {
  return position < list.size() ? &list[position] : nullptr;
}

// Settings (strides, paddings, normalised extents) are small numbers. Up to this limit, their sums
// and products with an extent fit 63 bits.
constexpr std::int64_t kLargestSetting = std::int64_t{1} << 21;

bool is_setting(std::int64_t value) {
  return value >= -kLargestSetting && value <= kLargestSetting;
}

std::optional<Shape> flat_integers(const Argument& argument) {
  const ArgumentList* list = argument.list();
  if (list == nullptr) return std::nullopt;
  Shape shape;
  for (const Argument& element : *list) {
    const auto* integer = std::get_if<std::int64_t>(&element.value);
    if (integer == nullptr) return std::nullopt;
    shape.push_back(*integer);
  }
  if (!is_plausible(shape)) return std::nullopt;
  return shape;
}

}  // namespace

core::Result<Shape> OperatorCall::shape(std::size_t position) const {
  const Argument* argument = at(dims, position);
  if (argument == nullptr)
    return core::Error{fmt::format("{}: no recorded argument {}", name, position)};
  std::optional<Shape> shape = flat_integers(*argument);
  if (!shape) return core::Error{fmt::format("{}: argument {} is no tensor", name, position)};
  return std::move(*shape);
}

core::Result<Shape> OperatorCall::shape(std::size_t position, std::size_t rank) const {
  Shape found = ASSAY_TRY(shape(position));
  if (found.size() != rank)
    return core::Error{fmt::format("{}: argument {} has {} dimensions instead of {}", name,
                                   position, found.size(), rank)};
  return found;
}

bool OperatorCall::is_tensor(std::size_t position) const {
  const Argument* argument = at(dims, position);
  return argument != nullptr && argument->list() != nullptr && !argument->list()->empty();
}

std::string OperatorCall::type(std::size_t position) const {
  const Argument* argument = at(types, position);
  const std::string* type = argument == nullptr ? nullptr : argument->text();
  return type == nullptr ? "" : *type;
}

Argument OperatorCall::stride(std::size_t position) const {
  const Argument* argument = at(strides, position);
  return argument == nullptr ? Argument{} : *argument;
}

std::string OperatorCall::text(std::size_t position) const {
  const Argument* argument = at(concrete, position);
  if (argument == nullptr || std::holds_alternative<std::monostate>(argument->value)) return "";
  if (const std::string* text = argument->text()) return *text == "None" ? "" : *text;
  return python_repr(*argument, Brackets::kList);
}

std::optional<double> OperatorCall::number(std::size_t position) const {
  const std::string value = text(position);
  double parsed = 0;
  const char* const end = value.data() + value.size();
  const std::from_chars_result result = std::from_chars(value.data(), end, parsed);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  if (!(std::fabs(parsed) <= kMostElements)) return std::nullopt;
  return parsed;
}

std::vector<double> OperatorCall::numbers(std::size_t position) const {
  std::vector<double> numbers;
  for (const Argument& element : parse_arguments(text(position))) {
    if (const auto* real = std::get_if<double>(&element.value)) numbers.push_back(*real);
    if (const auto* integer = std::get_if<std::int64_t>(&element.value))
      numbers.push_back(static_cast<double>(*integer));
  }
  return numbers;
}

bool OperatorCall::flag(std::size_t position, bool otherwise) const {
  const std::string value = text(position);
  if (value.empty()) return otherwise;
  return value == "True" || value == "true" || value == "1";
}

core::Result<Shape> OperatorCall::integers(std::size_t position) const {
  const std::string value = text(position);
  const ArgumentList parsed = parse_arguments(value.starts_with('[') ? value : "[" + value + "]");
  std::optional<Shape> integers = flat_integers(Argument{parsed});
  if (!integers || (integers->empty() && value != "[]") ||
      !std::all_of(integers->begin(), integers->end(), is_setting))
    return core::Error{
        fmt::format("{}: argument {} is '{}' instead of integers", name, position, value)};
  return std::move(*integers);
}

bool is_plausible(const Shape& shape) {
  double count = 1;
  for (const std::int64_t extent : shape)
    count *= std::max(1.0, std::fabs(static_cast<double>(extent)));
  return count <= kMostElements;
}

double element_count(const Shape& shape) {
  double count = 1;
  for (const std::int64_t extent : shape)
    count *= static_cast<double>(extent);
  return count;
}

std::optional<double> element_bytes(std::string_view type) {
  const DataType* found = find_type(type);
  return found == nullptr ? std::nullopt : std::optional(found->bytes);
}

std::string_view precision(std::string_view type) {
  const DataType* found = find_type(type);
  return found == nullptr ? "" : found->precision;
}

std::string compute_spec(ComputeUnit unit, std::string_view type) {
  const std::string_view name = precision(type);
  if (name.empty()) return "";
  return fmt::format("{}_{}", unit == ComputeUnit::kMatrix ? "matrix" : "vector", name);
}

Argument to_argument(const Shape& shape) {
  ArgumentList list;
  for (const std::int64_t extent : shape)
    list.emplace_back().value = extent;
  return Argument{std::move(list)};
}

Argument to_argument(std::string_view text) {
  return text.empty() ? Argument{} : Argument{std::string(text)};
}

Argument text_tuple(std::vector<std::string> texts) {
  ArgumentList list;
  for (std::string& text : texts)
    list.push_back(text.empty() ? Argument{} : Argument{std::move(text)});
  return Argument{std::move(list)};
}

}  // namespace assay::trace
