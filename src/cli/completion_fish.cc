#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "cli/command_tree.h"
#include "cli/completion.h"
#include "cli/options.h"
#include "core/text.h"

namespace assay::cli {
namespace {

std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// The words after "help" are those of another command, but its options are its own.
std::string at(const CommandSpec& spec) {
  if (std::string_view(spec.name) == "help") return "complete -c assay -n __assay_is_in_help";
  return fmt::format("complete -c assay -n {}",
                     fish_quoted(fmt::format("__assay_at {}", fish_quoted(spec.name))));
}

std::string fish_value(const OptionInfo& option) {
  if (!option.suggestions.empty()) {
    return fmt::format(" {} -a {}", is_path(option) ? "-r -F" : "-x",
                       fish_quoted(core::join(option.suggestions, " ")));
  }
  switch (option.kind) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kChoice:
      return fmt::format(" -x -a {}", fish_quoted(core::join(choices_of(option), " ")));
    case ValueKind::kChoiceList:
      return fmt::format(
          " -x -a {}",
          fish_quoted(fmt::format("(__assay_list {})", core::join(choices_of(option), " "))));
    case ValueKind::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kText:
      break;
  }
  return " -x";
}

// -x and -r concern the value of an option, so for an argument only the words or files remain.
std::string argument_line(const CommandSpec& spec, const OptionInfo& option) {
  const std::string words = fish_value(option).substr(3);
  return words.empty() ? "" : at(spec) + ' ' + words.substr(words.find('-')) + '\n';
}

std::string option_line(const CommandSpec& spec, const OptionInfo& option) {
  std::string line = at(spec);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return line + fish_value(option) + " -d " + fish_quoted(option.help) + '\n';
}

std::string command_lines(const CommandSpec& spec) {
  std::string text;
  for (const CommandSpec* below : subcommands(spec)) {
    text +=
        fmt::format("{} -a {} -d {}\n", at(spec), last_word(*below), fish_quoted(below->summary));
  }
  for (const OptionInfo& option : options_of(spec)) {
    if (!option.names.empty()) text += option_line(spec, option);
    if (option.is_argument()) text += argument_line(spec, option);
  }
  if (takes_rest(spec)) {
    const std::string place =
        fmt::format("__assay_at {}; and __assay_is_behind_dashes", fish_quoted(spec.name));
    text += fmt::format("complete -c assay -n {} -x -a '(__assay_program)'\n", fish_quoted(place));
  }
  for (const CommandSpec* below : subcommands(spec))
    text += command_lines(*below);
  return text;
}

constexpr std::string_view kProgram =
    R"(# Whether the words typed so far begin with that of the command "help".
function __assay_is_in_help
  test (count (commandline -opc)) -ge 2; and test (commandline -opc)[2] = help
end

# Offers the words of a list that are not in it yet.
function __assay_list
  set -l typed (string split , -- (commandline -ct))
  for word in $argv
    contains -- $word $typed[1..-2]; or echo (string join , -- $typed[1..-2] $word)
  end
end

# Whether words of another program stand before the cursor.
function __assay_is_behind_dashes
  contains -- -- (commandline -opc)
end

# Completes the words after "--", which are those of another program.
function __assay_program
  set -l words (commandline -opc)
  set -e words[1..(contains -i -- -- $words)]
  complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

)";

}  // namespace

std::string fish_completion() {
  return fmt::format(
      "# fish completion for assay. To load it:  assay completion fish | source\n\n"
      "# Whether the words typed so far lead to this command.\n"
      "function __assay_at\n"
      "  set -l words (commandline -opc)[2..-1]\n"
      "  test (count $words) -ge 1; and test $words[1] = help; and set -e words[1]\n"
      "  set -l command ''\n"
      "  for word in $words\n"
      "    switch $command/$word\n"
      "      case {}\n"
      "        set command (string trim \"$command $word\")\n"
      "    end\n"
      "  end\n"
      "  test \"$command\" = \"$argv[1]\"\n"
      "end\n\n{}"
      "complete -c assay -f\n{}",
      core::join(quoted_steps(), " "), kProgram, command_lines(root_command()));
}

}  // namespace assay::cli
