// The registered commands as a tree of words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace assay::cli {

// Returns the program itself, the group above all commands.
const CommandSpec& root_command();

// Returns the command with exactly this name ("" for the root), or nullptr.
const CommandSpec* find_command(std::string_view name);

bool is_group(const CommandSpec& spec);

// Returns whether words after "--" are those of another program's command.
bool takes_rest(const CommandSpec& spec);

// Returns the names of all commands that take them: "sweep run".
std::vector<std::string> names_with_rest();

// Returns the commands directly below a group, sorted by name.
std::vector<const CommandSpec*> subcommands(const CommandSpec& group);

// Returns "report" for "trace report".
std::string_view last_word(const CommandSpec& spec);

// Returns the command as it is typed: "assay trace report".
std::string typed_name(const CommandSpec& spec);

// The command that words lead to. The first `used` words are its name, and the others its
// arguments. A command may have further commands below it; a word counts as one of their names
// before it counts as an argument.
struct Found {
  const CommandSpec* spec;
  std::size_t used;
};

// Fails with a suggestion if a group does not know the next word.
core::Result<Found> follow_words(std::span<const std::string> words);

// Returns every step from a command to one below it, as 'trace/report', quoted for a shell.
// Completion scripts follow the typed words along these steps.
std::vector<std::string> quoted_steps();

}  // namespace assay::cli
