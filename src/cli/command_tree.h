// The registered commands as a tree of words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace assay::cli {

// The program itself: the group above all commands.
const CommandSpec& root_command();

// The command with exactly this name ("" is the root), or nullptr.
const CommandSpec* find_command(std::string_view name);

bool is_group(const CommandSpec& spec);

// The commands directly below a group, by name.
std::vector<const CommandSpec*> subcommands(const CommandSpec& group);

// "report" of "trace report".
std::string_view last_word(const CommandSpec& spec);

// The command as it is typed: "assay trace report".
std::string typed_name(const CommandSpec& spec);

// The command that words lead to. The first `used` words are its name, the others its arguments.
// A command may have further commands below it, whose names come before arguments.
struct Found {
  const CommandSpec* spec;
  std::size_t used;
};

// Fails, with a suggestion, where a group does not know the next word.
core::Result<Found> follow_words(std::span<const std::string> words);

// Every step from a command to one below it, as 'trace/report', quoted for a shell. Completion
// scripts follow the typed words by these steps.
std::vector<std::string> quoted_steps();

}  // namespace assay::cli
