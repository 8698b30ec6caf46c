// What the program says and writes: data on standard output, talk on standard error, and never an
// output in the place of an input.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "core/result.h"

namespace assay::cli {

struct CommandSpec;

// Data. Failures to write show at the end, in flush_output().
void print(std::string_view text);

// A manual page: as wide as the terminal, at most 100 columns.
void print_help(const CommandSpec& spec);

// Talk: "assay: <message>" with the word before it in colour on a terminal.
void print_error(std::string_view message);
void print_warning(std::string_view message);
void print_note(std::string_view message);

// Everything printed has reached standard output. A reader that went away (`assay … | head`) is
// no failure: it has what it wanted.
core::Status flush_output();

// Fails when the output is one of the inputs, under whatever name.
core::Status refuse_to_replace(std::span<const std::filesystem::path> inputs,
                               const std::filesystem::path& output);

}  // namespace assay::cli
