#include "allreduce/benchmark_row.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/text.h"

namespace assay::allreduce {
namespace {

enum class Presence : std::uint8_t { kRequired, kOptional };

struct ColumnSpec {
  std::array<std::string_view, 2> names;  // ours, then another dialect's
  Presence presence = Presence::kOptional;
};

// In the order of Column.
constexpr std::array<ColumnSpec, kColumnCount> kColumns{
    {{{"world_size"}, Presence::kRequired},
     {{"dtype"}, Presence::kRequired},
     {{"num_tokens"}, Presence::kRequired},
     {{"hidden_size"}, Presence::kRequired},
     {{"strategy"}, Presence::kRequired},
     {{"fusion", "fusion_op"}, Presence::kRequired},
     {{"time (us)", "time_us"}},
     {{"time_ms"}},
     {{"size", "size_bytes"}},
     {{"op"}},
     {{"launch"}},
     {{"low (us)"}},
     {{"high (us)"}},
     {{"min (us)"}},
     {{"samples"}},
     {{"memory (bytes)"}},
     {{"outcome"}},
     {{"reason"}}}};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// pandas writes whole numbers as "4096.0" where the column has a gap.
std::optional<std::int64_t> whole_number_in(std::string_view text) {
  if (const auto whole = number_in<std::int64_t>(text)) return whole;
  const auto real = number_in<double>(text);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!real || !(std::fabs(*real) <= kExact) || *real != std::floor(*real)) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

core::Error missing(std::string_view name) {
  return core::Error{fmt::format(
      "no column '{}', so this is no benchmark file; its first line must name its columns", name)};
}

core::Result<std::optional<std::size_t>> place_of(const ColumnSpec& spec,
                                                  const std::vector<std::string>& fields) {
  std::optional<std::size_t> place;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::string_view name = trimmed(fields[f]);
    if (name.empty() || (name != spec.names[0] && name != spec.names[1])) continue;
    if (place) {
      return core::Error{fmt::format("columns '{}' and '{}' say the same; one must go",
                                     trimmed(fields[*place]), name)};
    }
    place = f;
  }
  if (!place && spec.presence == Presence::kRequired) return missing(spec.names[0]);
  return place;
}

std::string_view name_of(Column column) {
  return kColumns.at(static_cast<std::size_t>(column)).names[0];
}

}  // namespace

core::Result<BenchmarkColumns> BenchmarkColumns::read(const std::vector<std::string>& fields) {
  BenchmarkColumns columns;
  columns.width_ = fields.size();
  for (std::size_t c = 0; c < kColumnCount; ++c)
    columns.places_.at(c) = ASSAY_TRY(place_of(kColumns.at(c), fields));
  if (!columns.place(Column::kTimeUs) && !columns.place(Column::kTimeMs)) {
    return missing(name_of(Column::kTimeUs));
  }
  return columns;
}

std::string_view BenchmarkRow::text(Column column) const {
  const auto place = columns_.place(column);
  return place ? trimmed(fields_.at(*place)) : std::string_view();
}

std::optional<std::int64_t> BenchmarkRow::whole_number(Column column) const {
  return whole_number_in(text(column));
}

core::Result<std::int64_t> BenchmarkRow::number(Column column,
                                                std::int64_t least,
                                                std::int64_t most) const {
  const auto number = whole_number(column);
  if (number && *number >= least && *number <= most) return *number;
  return core::Error{fmt::format("{} is '{}': it must be a whole number from {} to {}",
                                 name_of(column), text(column), least, most)};
}

core::Result<double> BenchmarkRow::time(Column column) const {
  const std::string_view field = text(column);
  if (field.empty() || field == "nan" || field == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto time = number_in<double>(field);
  constexpr double kMost = 1e15;  // 30 years; so that no unit's factor makes it infinite
  if (time && *time > 0 && *time <= kMost) return *time;
  return core::Error{fmt::format(
      "{} is '{}': it must be a number above 0, or empty if not measured", name_of(column), field)};
}

core::Error BenchmarkRow::unknown(Column column, const std::vector<std::string>& known) const {
  const std::string near = core::nearest(text(column), known);
  return core::Error{fmt::format(
      "no {} is called '{}'; {}", name_of(column), text(column),
      near.empty() ? "there are " + core::join(known, ", ") : "did you mean " + near + "?")};
}

}  // namespace assay::allreduce
