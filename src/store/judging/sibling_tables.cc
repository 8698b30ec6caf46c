#include "store/judging/sibling_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "store/files/table_spec.h"

namespace assay::store {
namespace {

// The exact values that tell what was computed: not who measured it, and with which kernel.
std::map<std::string, std::string> work_values(const WorkRows& rows, std::size_t family) {
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    if (!is_common_column(rows.exact[i].name))
      values[rows.exact[i].name] = rows.exact[i].values[rows.codes_of(family)[i]];
  }
  return values;
}

}  // namespace

std::vector<std::size_t> alike(const WorkRows& rows, std::size_t family, const WorkRows& others) {
  const auto wanted = work_values(rows, family);
  std::vector<std::size_t> found;
  for (std::size_t other = 0; other < others.num_families(); ++other) {
    if (work_values(others, other) == wanted) found.push_back(other);
  }
  return found;
}

std::string row_text(const WorkRows& rows, std::size_t row) {
  std::string text;
  for (std::size_t i = 0; i < rows.sizes.size(); ++i)
    text += fmt::format("{}{}={:.0f}", i == 0 ? "" : " ", rows.sizes[i], rows.sizes_of(row)[i]);
  return text;
}

std::string work_text(const WorkRows& rows, std::size_t family) {
  std::string text;
  for (const auto& [column, value] : work_values(rows, family)) {
    if (column.ends_with("dtype")) text += (text.empty() ? "" : " ") + value;
  }
  return text.empty() ? rows.table : text;
}

std::vector<std::size_t> sample_of(const WorkRows& rows, std::size_t family, std::size_t most) {
  const std::size_t begin = rows.begins[family];
  const std::size_t count = rows.begins[family + 1] - begin;
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    constexpr double kGoldenRatio = 0.6180339887498949;
    const double turn = static_cast<double>(i) * kGoldenRatio;
    const auto spread =
        static_cast<std::size_t>((turn - std::floor(turn)) * static_cast<double>(count));
    sample.push_back(begin + (count <= most ? i : spread));
  }
  return sample;
}

Quarantined whole_family(const WorkRows& rows,
                         std::size_t family,
                         std::string reason,
                         std::string fallback) {
  return {.family = family,
          .begin = rows.begins[family],
          .end = rows.begins[family + 1],
          .reason = std::move(reason),
          .fallback = std::move(fallback)};
}

std::string sound_sibling(
    const WorkRows& rows,
    std::size_t family,
    std::span<const SiblingTable> siblings,
    const std::function<bool(const WorkRows& others, std::size_t other)>& is_sound) {
  for (const SiblingTable& sibling : siblings) {
    const auto families = alike(rows, family, *sibling.rows);
    if (std::any_of(families.begin(), families.end(),
                    [&](std::size_t other) { return is_sound(*sibling.rows, other); })) {
      return sibling.name;
    }
  }
  return "";
}

}  // namespace assay::store
