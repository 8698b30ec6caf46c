#include "sweep/library_variables.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace assay::sweep {
namespace {

constexpr std::string_view kStem = "CCL_";

bool is_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

void add_variable_names(std::string_view piece, VariableNames& names) {
  for (auto at = piece.find(kStem); at != std::string_view::npos;
       at = piece.find(kStem, at + kStem.size())) {
    if (at == 0 || (piece[at - 1] != 'N' && piece[at - 1] != 'R')) continue;
    if (at > 1 && is_name(piece[at - 2])) continue;
    const std::string_view from_name = piece.substr(at - 1);
    const auto end = std::find_if_not(from_name.begin(), from_name.end(), is_name);
    // A piece's end may have cut the name, which the next piece then has whole.
    if (end == from_name.end()) continue;
    names.emplace(from_name.begin(), end);
  }
}

bool are_of_a_library(const VariableNames& names) {
  return names.contains("NCCL_ALGO") && names.contains("NCCL_BUFFSIZE");
}

bool is_own_variable(std::string_view name) {
  constexpr std::array kOfOthers = {
      "NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT",
      "NCCL_DESYNC_DEBUG",         "NCCL_ENABLE_TIMING",
      "NCCL_TUNER_CONFIG_FILE",    "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"};
  if (!name.starts_with("NCCL_") && !name.starts_with("RCCL_")) return false;
  if (name.starts_with("NCCL_TESTS_")) return false;
  return std::find(kOfOthers.begin(), kOfOthers.end(), name) == kOfOthers.end();
}

}  // namespace assay::sweep
