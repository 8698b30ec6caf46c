#include "store/answers/use_families.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace assay::store {
namespace {

using serving::OperatorUse;

std::string text_of_value(const model::PerfValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

std::optional<double> number_of(const OperatorUse& use, const std::string& column) {
  const model::PerfValue* value = serving::find_key(use, column);
  if (value == nullptr || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
  return static_cast<double>(std::get<std::int64_t>(*value));
}

// Public tables call both kernels of linear attention, and of state spaces, by one name, and tell
// them apart by that of the kernel.
bool names_operator(const OperatorUse& use, const std::string& op_name, const std::string& kernel) {
  if (op_name == use.op_name) return true;
  if (op_name != use.op || (op_name != "gdn" && op_name != "mamba2")) return false;
  const bool convolves = kernel.find("conv1d") != std::string::npos;
  return use.op_name.ends_with("_conv") == convolves;
}

std::string exact_value(const WorkRows& rows, std::size_t family, std::string_view name) {
  const auto codes = rows.codes_of(family);
  for (std::size_t column = 0; column < rows.exact.size(); ++column) {
    if (rows.exact[column].name == name) return rows.exact[column].values[codes[column]];
  }
  return "";
}

bool has_exact_values(const OperatorUse& use, const WorkRows& rows, std::size_t family) {
  const auto codes = rows.codes_of(family);
  for (std::size_t column = 0; column < rows.exact.size(); ++column) {
    const ExactColumn& exact = rows.exact[column];
    const std::string& value = exact.values[codes[column]];
    if (exact.name == "op_name" &&
        !names_operator(use, value, exact_value(rows, family, "kernel_source")))
      return false;
    const model::PerfValue* key = serving::find_key(use, exact.name);
    if (key != nullptr && text_of_value(*key) != value) return false;
  }
  return true;
}

// `keys`: places of the sizes that a row must have.
bool has_key(const WorkRows& rows,
             std::size_t family,
             const std::vector<double>& sizes,
             const std::vector<std::size_t>& keys) {
  for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
    const auto values = rows.sizes_of(row);
    bool is_equal = true;
    for (std::size_t i = 0; i < keys.size() && is_equal; ++i)
      is_equal = values[keys[i]] == sizes[keys[i]];
    if (is_equal) return true;
  }
  return false;
}

UseFamily bound_family(const OperatorUse& use, const WorkRows& rows, std::size_t family) {
  const auto first = rows.sizes_of(rows.begins[family]);
  UseFamily bound{.family = family, .sizes = {first.begin(), first.end()}};
  std::vector<std::size_t> keys;
  for (std::size_t size = 0; size < rows.sizes.size(); ++size) {
    const std::optional<double> number = number_of(use, rows.sizes[size]);
    if (!number) continue;
    keys.push_back(size);
    bound.sizes[size] = *number;
  }
  for (const serving::SizeField& field : use.sizes) {
    const auto place = std::find(rows.sizes.begin(), rows.sizes.end(), field.column);
    bound.places.push_back(
        place == rows.sizes.end() ? kNoSize : static_cast<std::size_t>(place - rows.sizes.begin()));
  }
  bound.has_key = has_key(rows, family, bound.sizes, keys);
  return bound;
}

}  // namespace

std::vector<UseFamily> families_of(const OperatorUse& use, const WorkRows& rows) {
  std::vector<UseFamily> found;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    if (has_exact_values(use, rows, family)) found.push_back(bound_family(use, rows, family));
  }
  return found;
}

}  // namespace assay::store
