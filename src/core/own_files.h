// This finds the programs and libraries of ours.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"

namespace assay::core {

// The file that has this code: the running program, or a library of ours in another program.
std::filesystem::path own_file();

// Returns what there is to do where own_file() is a library that came without our programs, as
// Python's wheel does; "" where it did not.
std::string remedy_without_programs();

// Finds a program of our own, which lies beside own_file() or in libexec/assay/ or bin/ of
// its installation. The error ends with what there is to do, which is `remedy` where the other
// programs of ours are there.
Result<std::filesystem::path> find_own_program(const std::string& name, const std::string& remedy);

// Finds a library of our own, which lies beside own_file() or in lib/ of its installation.
Result<std::filesystem::path> find_own_library(const std::string& name);

}  // namespace assay::core
