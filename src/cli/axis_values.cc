#include "cli/axis_values.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <vector>

#include "cli/options.h"
#include "collect/plan/listing.h"
#include "core/text.h"

namespace assay::cli {
namespace {

using collect::Axis;
using model::PerfValue;

template <class Number>
std::optional<PerfValue> number_of(const std::string& word) {
  Number number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return PerfValue(number);
}

// A word that is no number stays a text, which an axis of numbers does not take.
PerfValue value_of(const Axis& axis, const std::string& word) {
  std::optional<PerfValue> number;
  if (std::holds_alternative<std::int64_t>(axis.common.front())) {
    number = number_of<std::int64_t>(word);
  } else if (std::holds_alternative<double>(axis.common.front())) {
    number = number_of<double>(word);
  }
  return number ? *number : PerfValue(word);
}

std::string hint(const Axis& axis, const std::string& word) {
  const std::string near = core::nearest(word, axis.names());
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

}  // namespace

core::Result<collect::AxisOverride> axis_override(const collect::Operator& of,
                                                  const Axis& axis,
                                                  const std::string& list) {
  collect::AxisOverride made{.column = axis.column, .values = {}};
  for (const std::string& word : split(list, ',')) {
    PerfValue value = value_of(axis, word);
    const core::Status taken = check_override(of, {.column = axis.column, .values = {value}});
    if (!taken.ok()) {
      return core::Error{fmt::format("--{}: {}{}", collect::option_name(axis),
                                     taken.error().message, hint(axis, word))};
    }
    made.values.push_back(std::move(value));
  }
  return made;
}

}  // namespace assay::cli
