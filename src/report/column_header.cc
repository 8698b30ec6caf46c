#include "report/column_header.h"

#include <fmt/core.h>

#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "model/table.h"

namespace assay::report {
namespace {

// Names tell these units by other words, too.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSpelled{
    {{"%", "percent"}, {"GB/s", "gbps"}, {"B", "bytes"}}};

// Returns whether the name has this as a word of its own: "time (s)" has s, "kernels" has not.
bool has_word(std::string_view name, std::string_view word) {
  const auto is_part_of_word = [&](std::size_t at) {
    return at < name.size() && std::isalnum(static_cast<unsigned char>(name[at])) != 0;
  };
  for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
    if ((at == 0 || !is_part_of_word(at - 1)) && !is_part_of_word(at + word.size())) return true;
  }
  return false;
}

bool tells_unit(const model::Column& column) {
  if (column.unit.empty() || has_word(column.name, column.unit)) return true;
  for (const auto& [unit, word] : kSpelled) {
    if (column.unit == unit && has_word(column.name, word)) return true;
  }
  return false;
}

}  // namespace

std::string column_header(const model::Column& column) {
  if (tells_unit(column)) return column.name;
  return fmt::format("{} ({})", column.name, column.unit);
}

}  // namespace assay::report
