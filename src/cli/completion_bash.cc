#include <fmt/core.h>

#include <string_view>
#include <vector>

#include "cli/command_tree.h"
#include "cli/completion.h"
#include "cli/options.h"
#include "core/text.h"

namespace assay::cli {
namespace {

// `_assay_words`, `_assay_list`, `_assay_paths`, `_assay_either` and `_assay_program` fill
// COMPREPLY. Completed paths may hold spaces, so replies are read line by line. "--option=value"
// arrives as three words, because bash breaks words at "=". Words after "--" are those of another
// program.
constexpr std::string_view kHead =
    R"(# bash completion for assay. To load it:  source <(assay completion bash)

_assay_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_assay_list() {
  local last="${current##*,}" word words=""
  local before="${current%"$last"}"
  for word in $1; do
    [[ ",$before" == *",$word,"* ]] || words+=" $word"
  done
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$last")
}

_assay_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$current")
}

_assay_either() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -W "$1" -- "$current")
}

_assay_program() {
  compopt -o filenames 2>/dev/null
  if ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -f -- "$current" | sort -u)
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

_assay() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}"
  local command="" word i first=1
  if [[ $current == "=" ]]; then
    current=""
  elif [[ $previous == "=" ]]; then
    previous="${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  COMPREPLY=()
  [[ ${COMP_WORDS[1]} == help ]] && ((COMP_CWORD > 1)) && first=2
  for ((i = first; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
)";

constexpr std::string_view kTail = R"(}

complete -F _assay assay
)";

std::string quoted_words(const std::vector<std::string>& words) {
  return fmt::format("\"{}\"", core::join(words, " "));
}

std::string completer(const OptionInfo& option) {
  if (!option.suggestions.empty()) {
    return fmt::format("{} {}", is_path(option) ? "_assay_either" : "_assay_words",
                       quoted_words(option.suggestions));
  }
  switch (option.kind) {
    case ValueKind::kChoice:
      return "_assay_words " + quoted_words(choices_of(option));
    case ValueKind::kChoiceList:
      return "_assay_list " + quoted_words(choices_of(option));
    case ValueKind::kFolder:
      return "_assay_paths -d";
    case ValueKind::kFile:
      return "_assay_paths -f";
    case ValueKind::kNone:
    case ValueKind::kText:
      break;
  }
  return ":";
}

std::string option_words(const std::vector<OptionInfo>& options) {
  std::vector<std::string> words;
  for (const OptionInfo& option : options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return core::join(words, " ");
}

std::string subcommand_words(const CommandSpec& group) {
  std::vector<std::string> words;
  for (const CommandSpec* spec : subcommands(group))
    words.emplace_back(last_word(*spec));
  return core::join(words, " ");
}

// Returns "|--format|-o|--output|": the options of a command that take a value.
std::string options_with_value(const CommandSpec& spec) {
  std::string text = "|";
  for (const OptionInfo& option : options_of(spec)) {
    if (option.kind != ValueKind::kNone && !option.names.empty())
      text += core::join(option.names, "|") + "|";
  }
  return text;
}

// The words after "help" are those of another command, but its options are its own.
std::string help_step() {
  return fmt::format(
      "  if ((first == 2)) && [[ $current == -* || \"{}\" == *\"|$previous|\"* ]]; then\n"
      "    command=help\n  fi\n",
      options_with_value(*find_command("help")));
}

// Completes a word that is neither an option nor the value of one.
std::string argument_completer(const CommandSpec& spec, const std::vector<OptionInfo>& options) {
  if (is_group(spec)) return fmt::format("_assay_words \"{}\"", subcommand_words(spec));
  for (const OptionInfo& option : options) {
    if (option.is_argument()) return completer(option);
  }
  return ":";
}

// Completes the value of an option if that option is the word before the typed one.
std::string value_cases(const std::vector<OptionInfo>& options) {
  std::string text;
  for (const OptionInfo& option : options) {
    if (option.names.empty() || option.kind == ValueKind::kNone) continue;
    text += fmt::format("        {}) {}; return ;;\n", core::join(option.names, " | "),
                        completer(option));
  }
  if (text.empty()) return "";
  return "      case \"$previous\" in\n" + text + "        *) ;;\n      esac\n";
}

std::string command_case(const CommandSpec& spec) {
  const std::vector<OptionInfo> options = options_of(spec);
  std::string text = fmt::format(
      "    \"{}\")\n{}"
      "      if [[ $current == -* ]]; then\n        _assay_words \"{}\"\n"
      "      else\n        {}\n      fi\n      ;;\n",
      spec.name, value_cases(options), option_words(options), argument_completer(spec, options));
  for (const CommandSpec* below : subcommands(spec))
    text += command_case(*below);
  return text;
}

}  // namespace

std::string bash_completion() {
  return fmt::format(
      "{}    if [[ $word == -- && \"|{}|\" == *\"|$command|\"* ]]; then\n"
      "      _assay_program $((i + 1))\n      return\n    fi\n"
      "    case \"$command/$word\" in\n      {})\n"
      "        command=\"${{command:+$command }}$word\" ;;\n      *) ;;\n    esac\n  done\n{}"
      "  case \"$command\" in\n{}    *) ;;\n  esac\n{}",
      kHead, core::join(names_with_rest(), "|"), core::join(quoted_steps(), " | "), help_step(),
      command_case(root_command()), kTail);
}

}  // namespace assay::cli
