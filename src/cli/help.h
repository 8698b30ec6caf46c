// The manual page of a command, made from its declaration.
#pragma once

#include <cstddef>
#include <string>

#include "cli/command.h"

namespace assay::cli {

enum class Headings { kPlain, kBold };

// Lines of at most `width` characters (examples and the synopsis' words are never broken).
std::string help_text(const CommandSpec& spec, std::size_t width, Headings headings);

}  // namespace assay::cli
