#include "library/commands.h"

#include <nlohmann/json.hpp>

#include <array>
#include <string_view>

#include "cli/command.h"
#include "cli/command_tree.h"
#include "cli/options.h"
#include "core/registry.h"

namespace assay::library {
namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_name(cli::ValueKind kind) {
  static constexpr std::array<std::string_view, 6> kNames = {"none",   "choice", "choice_list",
                                                             "folder", "file",   "text"};
  return kNames[static_cast<std::size_t>(kind)];
}

Json json_of(const cli::OptionInfo& option) {
  return {{"names", option.names},
          {"argument", option.argument},
          {"value", option.value},
          {"kind", kind_name(option.kind)},
          {"choices", cli::choices_of(option)},
          {"default", option.default_text},
          {"group", option.group},
          {"required", option.required},
          {"repeatable", option.takes_several()},
          {"help", option.help}};
}

Json json_of(const cli::CommandSpec& spec) {
  std::string description = spec.description;
  if (spec.more_description != nullptr) description += "\n\n" + spec.more_description();
  Json options = Json::array();
  for (const cli::OptionInfo& option : cli::options_of(spec))
    options.push_back(json_of(option));
  return {{"name", spec.name},
          {"summary", spec.summary},
          {"description", description},
          {"examples", spec.examples},
          {"found_means", spec.regression_means},
          {"rest", spec.rest},
          {"options", options}};
}

void add_below(const cli::CommandSpec& group, Json& list) {
  for (const cli::CommandSpec* spec : cli::subcommands(group)) {
    if (!cli::is_group(*spec)) list.push_back(json_of(*spec));
    add_below(*spec, list);
  }
}

}  // namespace

std::string commands_json() {
  Json list = Json::array();
  add_below(cli::root_command(), list);
  return list.dump();
}

}  // namespace assay::library
