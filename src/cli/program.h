// The command line as a whole: dispatch, help, exit codes.
#pragma once

namespace assay::cli {

// Runs the program and returns its exit code: 0 ok, 1 failed, 2 usage, 3 a comparison found a
// regression, 130 interrupted.
int run_program(int argc, const char* const* argv);

}  // namespace assay::cli
