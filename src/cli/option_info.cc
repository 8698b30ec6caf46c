#include "cli/option_info.h"

#include <cctype>
#include <utility>

#include "cli/options.h"

namespace assay::cli {
namespace {

// cli/options.h tells the convention.
ValueKind kind_of(const std::string& value) {
  if (value.empty()) return ValueKind::kNone;
  if (std::islower(static_cast<unsigned char>(value.front())) != 0) {
    return value.find(',') == std::string::npos ? ValueKind::kChoice : ValueKind::kChoiceList;
  }
  for (const char* word : {"FILE", "TRACE"}) {
    if (value.find(word) != std::string::npos) return ValueKind::kFile;
  }
  return value.ends_with("DIR") ? ValueKind::kFolder : ValueKind::kText;
}

OptionInfo plain_switch(std::vector<std::string> names, const char* help) {
  OptionInfo info;
  info.names = std::move(names);
  info.help = help;
  info.group = "Options";
  return info;
}

}  // namespace

OptionInfo option_info(const CLI::Option& option) {
  OptionInfo info;
  info.positional = option.get_positional();
  if (info.positional) {
    info.names.push_back(option.get_name(true));
    info.value = option.get_name(true);
  } else {
    for (const std::string& name : option.get_snames())
      info.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
      info.names.push_back("--" + name);
    info.value = option.get_items_expected_max() == 0 ? "" : option.get_type_name();
  }
  info.kind = kind_of(info.value);
  info.help = option.get_description();
  info.default_text = option.get_default_str();
  info.group = option.get_group();
  info.required = option.get_required();
  info.repeatable = option.get_expected_max() > 1;
  return info;
}

std::vector<OptionInfo> options_of(const CommandSpec& spec) {
  std::vector<OptionInfo> options{plain_switch({"-h", "--help"}, "show this help and exit")};
  if (spec.name[0] == '\0') {
    options.push_back(plain_switch({"--version"}, "show the version, the build and the libraries"));
  }
  if (spec.make == nullptr) return options;
  CLI::App app;
  app.set_help_flag("");
  const std::unique_ptr<Command> command = spec.make(app);
  for (const CLI::Option* option : std::as_const(app).get_options({}))
    options.push_back(option_info(*option));
  return options;
}

std::vector<std::string> choices_of(const OptionInfo& option) {
  return split(option.value, option.kind == ValueKind::kChoiceList ? ',' : '|');
}

}  // namespace assay::cli
