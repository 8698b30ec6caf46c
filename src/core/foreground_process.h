// Runs a program in our place: with our terminal, streams and process group, as time(1) does.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::core {

struct ForegroundLaunch {
  std::vector<std::string> arguments;  // the program, found in PATH, and its arguments
  // Changes to our own environment; no value removes the variable.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment = {};
};

// Waits for its end and returns its exit code, as a shell would: 128 + N when signal N ended it.
// Meanwhile Ctrl-C is the program's business; other signals that end programs are passed on to it.
// Fails when it cannot be started.
Result<int> run_in_foreground(const ForegroundLaunch& launch);

}  // namespace assay::core
