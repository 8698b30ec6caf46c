// Runs a program as a tool: text in, what it says out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::core {

struct ToolEnd {
  int exit_code = 0;   // as a shell would say it: 128 + N when signal N ended it
  std::string output;  // standard output and error, in the order of their writing
};

// Gives `input` to the program's standard input and waits for its end. `arguments` begin with the
// program, found in PATH. Fails when it cannot be started; safe to call from several threads.
Result<ToolEnd> run_tool(const std::vector<std::string>& arguments, std::string_view input);

}  // namespace assay::core
