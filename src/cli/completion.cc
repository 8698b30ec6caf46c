#include "cli/completion.h"

#include "cli/command_tree.h"
#include "core/text.h"

namespace assay::cli {

std::string step_patterns(std::string_view separator) {
  std::vector<std::string> patterns;
  for (const CommandSpec* spec : core::Registry<CommandSpec>::all()) {
    const std::string_view name = spec->name;
    const std::string_view word = last_word(*spec);
    const std::string_view group = name.substr(0, name.size() - word.size());
    const std::string_view group_name = group.substr(0, group.find_last_not_of(' ') + 1);
    patterns.push_back("'" + std::string(group_name) + "/" + std::string(word) + "'");
  }
  return core::join(patterns, separator);
}

}  // namespace assay::cli
