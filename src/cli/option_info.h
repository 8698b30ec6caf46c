// A command's options as help and completion see them.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class Option;
}  // namespace CLI

namespace assay::cli {

enum class ValueKind { kNone, kChoice, kChoiceList, kFolder, kFile, kText };

struct OptionInfo {
  std::vector<std::string> names;  // "-o", "--output"; the shown name alone for a positional
  std::string value;               // "DIR"; empty for a switch
  ValueKind kind = ValueKind::kNone;
  std::string help;
  std::string default_text;
  std::string group;  // heading in help
  bool positional = false;
  bool required = false;
  bool repeatable = false;
};

OptionInfo option_info(const CLI::Option& option);

// All options of a command (none of a group), in the order of their declaration, --help first.
std::vector<OptionInfo> options_of(const CommandSpec& spec);

// The words of a kChoice or kChoiceList value.
std::vector<std::string> choices_of(const OptionInfo& option);

}  // namespace assay::cli
