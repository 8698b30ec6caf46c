// Makes the manual page of a command from its declaration, and shows it in several forms.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace assay::cli {

// One option, argument, command or exit code.
struct ManualEntry {
  std::string term;   // such as "-o, --output"
  std::string value;  // such as "DIR", or empty
  std::string explanation;
};

// A section has paragraphs, entries or lines of text.
struct ManualSection {
  std::string title;
  std::string paragraphs = {};  // separated by empty lines
  std::vector<ManualEntry> entries = {};
  std::string lines = {};  // printed as they are

  // The width of the widest entry among the sections that share columns with this one.
  std::size_t entry_width = 0;
};

struct ManualPage {
  const CommandSpec* spec = nullptr;
  std::string synopsis;
  std::vector<ManualSection> sections = {};
};

// Which commands the page of a group lists: those directly below it, or all.
enum class Listed { kDirectlyBelow, kAll };

ManualPage manual_page(const CommandSpec& spec, Listed listed = Listed::kDirectlyBelow);

// Returns the command and all commands below it, each before those below it.
std::vector<const CommandSpec*> with_all_below(const CommandSpec& spec);

// Splits a text at its empty lines.
std::vector<std::string> paragraphs_of(std::string_view text);

std::string upper(std::string text);

enum class Headings { kPlain, kBold };

// Returns the page for a terminal, in lines of at most `width` characters. Examples and the words
// of the synopsis are not broken.
std::string manual_text(const ManualPage& page, std::size_t width, Headings headings);

// Return the name of the file for man(1), such as "assay-trace-compare.1", and the page for it.
std::string manual_file_name(const CommandSpec& spec);
std::string manual_roff(const ManualPage& page);

// Returns one document about the command and all commands below it.
std::string manual_markdown(const CommandSpec& spec);

}  // namespace assay::cli
