// What the stream behind stdout or stderr can show.
#pragma once

#include <cstddef>
#include <cstdio>

namespace assay::core {

bool is_terminal(std::FILE* stream);

// A terminal that understands escape sequences, and no wish against colours
// (https://no-color.org: NO_COLOR set to anything but nothing).
bool shows_colors(std::FILE* stream);

// Columns of the terminal; `otherwise` for pipes, files and terminals that do not tell.
std::size_t terminal_columns(std::FILE* stream, std::size_t otherwise);

}  // namespace assay::core
