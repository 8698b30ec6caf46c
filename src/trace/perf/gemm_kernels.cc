#include "trace/perf/gemm_kernels.h"

#include <algorithm>

namespace assay::trace {
namespace {

// Three index letters after `operand`: "_Alik_" → "lik".
std::string_view tensile_indices(std::string_view name, char operand) {
  for (std::size_t at = name.find('_'); at != std::string_view::npos; at = name.find('_', at + 1)) {
    if (at + 5 > name.size()) break;
    const std::string_view indices = name.substr(at + 2, 3);
    if (name[at + 1] == operand &&
        std::all_of(indices.begin(), indices.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
      return indices;
  }
  return "";
}

Argument transposed_if(std::string_view indices, std::string_view no, std::string_view yes) {
  if (indices == no) return Argument{false};
  if (indices == yes) return Argument{true};
  return {};
}

}  // namespace

std::optional<Argument> transposes(std::string_view kernel) {
  const std::string_view a = tensile_indices(kernel, 'A');
  const std::string_view b = tensile_indices(kernel, 'B');
  if (kernel.find("Cijk") != std::string_view::npos && !a.empty() && !b.empty())
    return Argument{ArgumentList{transposed_if(a, "ilk", "lik"), transposed_if(b, "ljk", "jlk")}};
  const std::string_view last = kernel.substr(kernel.rfind('_') + 1);
  if (kernel.rfind("nvjet", 0) == 0 && last.size() >= 2)
    return Argument{ArgumentList{Argument{last[0] == 'T'}, Argument{last[1] == 'T'}}};
  return std::nullopt;
}

}  // namespace assay::trace
