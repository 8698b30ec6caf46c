// The command line as a whole: dispatch, help, exit codes.
#pragma once

namespace assay::cli {

// Runs the program and returns its exit code: 0 for success, 1 for a failure, 2 for wrong usage, 3
// for a comparison or check that found a regression, 130 when interrupted.
int run_program(int argc, const char* const* argv);

}  // namespace assay::cli
