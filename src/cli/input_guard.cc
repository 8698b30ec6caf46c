#include "cli/input_guard.h"

#include <fmt/core.h>

#include <system_error>

namespace assay::cli {

core::Status refuse_to_replace(std::span<const std::filesystem::path> inputs,
                               const std::filesystem::path& output) {
  for (const std::filesystem::path& input : inputs) {
    std::error_code code;
    if (!std::filesystem::equivalent(input, output, code) || code) continue;
    return core::Error{
        fmt::format("'{}' is an input; name another output with -o", output.string())};
  }
  return {};
}

}  // namespace assay::cli
