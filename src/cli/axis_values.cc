#include "cli/axis_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/options.h"
#include "collect/listing.h"
#include "core/text.h"

namespace assay::cli {
namespace {

using collect::Axis;
using collect::Grid;
using model::PerfValue;

std::vector<PerfValue> known_values(const Axis& axis) {
  std::vector<PerfValue> all;
  for (const Grid grid : {Grid::kCoarse, Grid::kCommon, Grid::kFine}) {
    const auto& values = axis.values(grid);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

template <class Number>
std::optional<Number> number_of(const std::string& word) {
  Number number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return number;
}

// 0 where the axis has it (a window of 0: none); sizes are at least 1.
template <class Number>
core::Result<PerfValue> number_value(const Axis& axis, const std::string& word) {
  const auto known = known_values(axis);
  const bool zero = std::find(known.begin(), known.end(), PerfValue(Number{0})) != known.end();
  const std::optional<Number> number = number_of<Number>(word);
  if (number && (*number > 0 || (zero && *number == 0))) return PerfValue(*number);
  return core::Error{fmt::format("--{}: '{}' is not a {}number of at least {}",
                                 collect::option_name(axis), word,
                                 std::is_integral_v<Number> ? "whole " : "", zero ? 0 : 1)};
}

core::Result<PerfValue> text_value(const Axis& axis, const std::string& word) {
  std::vector<std::string> choices;
  for (const PerfValue& value : known_values(axis)) {
    const auto& text = std::get<std::string>(value);
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) choices.push_back(text);
  }
  const auto is_choice = [&](const std::string& text) {
    return std::find(choices.begin(), choices.end(), text) != choices.end();
  };
  if (is_choice(word)) return PerfValue(word);
  // Other spellings of types: "half", "bf16".
  const auto type = collect::data_type_named(word);
  if (type && is_choice(std::string(name_of(*type)))) return PerfValue(std::string(name_of(*type)));
  return core::Error{
      fmt::format("--{}: {}", collect::option_name(axis), choice_problem(word, choices))};
}

}  // namespace

core::Result<std::vector<PerfValue>> axis_values(const Axis& axis, const std::string& list) {
  std::vector<PerfValue> values;
  for (const std::string& word : split(list, ',')) {
    switch (axis.common.front().index()) {
      case 0:
        values.push_back(ASSAY_TRY(number_value<std::int64_t>(axis, word)));
        break;
      case 1:
        values.push_back(ASSAY_TRY(number_value<double>(axis, word)));
        break;
      default:
        values.push_back(ASSAY_TRY(text_value(axis, word)));
    }
  }
  return values;
}

}  // namespace assay::cli
