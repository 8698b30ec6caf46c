// The recorded arguments of an operator: the JSON arrays "Input Dims", "Input type",
// "Input Strides" and "Concrete Inputs".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::trace {

struct Argument;
using ArgumentList = std::vector<Argument>;

// One JSON value; a null is std::monostate, and an object is not kept.
struct Argument {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, ArgumentList> value;

  [[nodiscard]] const ArgumentList* list() const { return std::get_if<ArgumentList>(&value); }

  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
};

// Returns the elements of a JSON array, or an empty list for "" and for text that is no array.
ArgumentList parse_arguments(std::string_view json);

enum class Brackets { kTuple, kList };

// Return the text that Python's repr() prints for the same data: "((2, 3), ())" or "[[2, 3], []]".
std::string python_repr(const Argument& argument, Brackets brackets);
std::string python_repr(const ArgumentList& list, Brackets brackets);
std::string python_repr(std::string_view text);                          // a quoted string
std::string python_repr_json(std::string_view json, Brackets brackets);  // "" for ""

}  // namespace assay::trace
