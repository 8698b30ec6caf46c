// A command of the command line.
//
// To add one: write src/cli/commands/<verb>.cc with a CommandSpec and
//   ASSAY_REGISTER(CommandSpec, kMyCommand);
// `setup` declares options on the given CLI11 app, binding them to a struct that `run` captures:
// parse, one library call, print. Help, completion and "did you mean" follow.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

#include "core/registry.h"
#include "core/result.h"

namespace assay::cli {

enum class Outcome : int { kOk = 0, kRegressionFound = 3 };

using RunCommand = std::function<core::Result<Outcome>()>;

struct CommandSpec {
  const char* name;     // words, outermost first: "trace report"
  const char* summary;  // one line
  const char* example;  // shown at the end of --help
  RunCommand (*setup)(CLI::App& app);
};

}  // namespace assay::cli
