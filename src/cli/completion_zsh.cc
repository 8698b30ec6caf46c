#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"
#include "cli/completion.h"
#include "cli/options.h"
#include "core/text.h"

namespace assay::cli {
namespace {

// Quotes text for use inside single quotes. Brackets and colons are escaped because they have a
// meaning for _arguments and _describe.
std::string zsh_quoted(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result;
}

// Returns "_assay_trace_report" for "trace report".
std::string function_name(const CommandSpec& spec) {
  std::string name = typed_name(spec);
  std::replace(name.begin(), name.end(), ' ', '_');
  return "_" + name;
}

std::string action(const OptionInfo& option) {
  if (!option.suggestions.empty()) {
    const std::string words = core::join(option.suggestions, " ");
    return is_path(option) ? fmt::format("{{compadd -- {}; _files}}", words)
                           : fmt::format("({})", words);
  }
  switch (option.kind) {
    case ValueKind::kChoice:
      return fmt::format("({})", core::join(choices_of(option), " "));
    case ValueKind::kChoiceList:
      return fmt::format("_values -s , {} {}", option.value, core::join(choices_of(option), " "));
    case ValueKind::kFolder:
      return "_files -/";
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kNone:
    case ValueKind::kText:
      break;
  }
  return " ";
}

std::string zsh_value(const OptionInfo& option) {
  if (option.kind == ValueKind::kNone) return "";
  return fmt::format(":{}:{}", zsh_quoted(option.value), action(option));
}

// Returns what stands in a place of its own, the first being 1, for _arguments.
std::string in_place(const OptionInfo& option, int place) {
  return fmt::format("'{}{}'", option.repeatable ? "*" : std::to_string(place), zsh_value(option));
}

// The value of an option may stand in its own word: --format=json, -oDIR.
std::string with_place(const OptionInfo& option, const std::string& name) {
  if (option.kind == ValueKind::kNone) return name;
  return name + (name.starts_with("--") ? '=' : '+');
}

// Returns what has a name, for _arguments.
std::string named(const OptionInfo& option) {
  const std::string help = fmt::format("[{}]{}", zsh_quoted(option.help), zsh_value(option));
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(with_place(option, name));
  if (names.size() == 1) return fmt::format("'{}{}'", names[0], help);
  return fmt::format("'({})'{{{}}}'{}'", core::join(option.names, " "), core::join(names, ","),
                     help);
}

std::string arguments_of(const CommandSpec& spec) {
  std::string text;
  int places = 0;
  for (const OptionInfo& option : options_of(spec)) {
    if (!option.names.empty()) text += fmt::format(" \\\n    {}", named(option));
    if (option.is_argument()) text += fmt::format(" \\\n    {}", in_place(option, ++places));
  }
  return text;
}

std::string command_function(const CommandSpec& spec) {
  return fmt::format("{}() {{\n{}  _arguments -s{}\n}}\n\n", function_name(spec),
                     takes_rest(spec) ? "  _assay_program && return\n" : "", arguments_of(spec));
}

std::string group_function(const CommandSpec& group) {
  std::string descriptions;
  std::string calls;
  for (const CommandSpec* spec : subcommands(group)) {
    descriptions += fmt::format("        '{}:{}'\n", last_word(*spec), zsh_quoted(spec->summary));
    calls += fmt::format("        {}) {} ;;\n", last_word(*spec), function_name(*spec));
  }
  return fmt::format(
      "{}() {{\n  local state line\n"
      "  _arguments -C{} \\\n    '1: :->command' \\\n    '*:: :->rest'\n"
      "  case $state in\n    command)\n      local -a commands\n      commands=(\n{}      )\n"
      "      _describe command commands ;;\n    rest)\n      case $line[1] in\n{}      esac ;;\n"
      "  esac\n}}\n\n",
      function_name(group), arguments_of(group), descriptions, calls);
}

// After "help", the words of a command follow as they do after the program's name; the options are
// its own.
std::string help_function(const CommandSpec& spec) {
  std::string options;
  for (const OptionInfo& option : options_of(spec)) {
    if (!option.names.empty()) options += fmt::format(" \\\n    {}", named(option));
  }
  return fmt::format(
      "_assay_help_words() {{\n  words=(help $words)\n  (( CURRENT++ ))\n  _assay\n}}\n\n"
      "_assay_help() {{\n  _arguments -s -C{} \\\n    '*:: :_assay_help_words'\n}}\n\n",
      options);
}

std::string functions(const CommandSpec& spec) {
  std::string text;
  for (const CommandSpec* below : subcommands(spec))
    text += functions(*below);
  if (std::string_view(spec.name) == "help") return text + help_function(spec);
  return text + (is_group(spec) ? group_function(spec) : command_function(spec));
}

}  // namespace

std::string zsh_completion() {
  return "#compdef assay\n"
         "# zsh completion for assay. To load it:  source <(assay completion zsh)\n\n"
         "# Completes the words after \"--\", which are those of another program.\n"
         "_assay_program() {\n"
         "  local -i dashes=${words[(i)--]}\n"
         "  (( dashes < CURRENT )) || return 1\n"
         "  shift $dashes words\n"
         "  (( CURRENT -= dashes ))\n"
         "  _normal\n  return 0\n}\n\n" +
         functions(root_command()) +
         "if [[ $funcstack[1] == _assay ]]; then\n  _assay \"$@\"\nelse\n  compdef _assay assay\n"
         "fi\n";
}

}  // namespace assay::cli
