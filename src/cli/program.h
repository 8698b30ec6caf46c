// The command line as a whole: dispatch, help, exit codes.
#pragma once

#include <string>
#include <vector>

namespace assay::cli {

class Listener;

struct Ending {
  int exit_code = 0;
  std::string error;  // "" if it succeeded or found a regression
};

// Runs the program and returns its exit code: 0 for success, 1 for a failure, 2 for wrong usage, 3
// for a comparison or check that found a regression, 130 when interrupted.
int run_program(int argc, const char* const* argv);

// Runs a command for a caller inside the same process, who takes what it says. The arguments are
// those after the program's name. May be called by several threads at the same time.
Ending run_for(Listener& listener, const std::vector<std::string>& arguments);

}  // namespace assay::cli
