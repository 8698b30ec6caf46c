#include "sweep/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace assay::sweep {
namespace {

using Values = std::map<std::string, std::string>;

Values values_of(const RunPlace& place) {
  Values values{{"dir", place.folder.string()},
                {"setting", place.setting.name},
                {"repeat", std::to_string(place.repeat)},
                {"config", place.config}};
  for (const auto& [name, value] : place.setting.variables)
    values.emplace(name, value);
  return values;
}

std::string replaced(const std::string& argument, const Values& values) {
  std::string result;
  std::size_t at = 0;
  while (at < argument.size()) {
    const std::size_t open = std::min(argument.find('{', at), argument.size());
    result.append(argument, at, open - at);
    const std::size_t close = argument.find('}', open);
    const auto value = close == std::string::npos
                           ? values.end()
                           : values.find(argument.substr(open + 1, close - open - 1));
    if (value != values.end()) {
      result += value->second;
      at = close + 1;
    } else {
      result.append(argument, open, 1);
      at = open + 1;
    }
  }
  return result;
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Returns the name in the braces that open at `open`, or "".
std::string name_in_braces(const std::string& argument, std::size_t open) {
  const char before = open == 0 ? ' ' : argument[open - 1];
  const std::size_t close = argument.find('}', open);
  if (before == '$' || before == '{' || close == std::string::npos) return "";
  const std::string name = argument.substr(open + 1, close - open - 1);
  const bool is_name = !name.empty() && starts_name(name.front()) &&
                       std::all_of(name.begin(), name.end(),
                                   [](char c) { return starts_name(c) || (c >= '0' && c <= '9'); });
  return is_name ? name : "";
}

bool names_folder(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const std::string& argument) {
    return argument.find("{dir}") != std::string::npos ||
           argument.find(kRunFolderVariable) != std::string::npos;
  });
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& argument) {
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), is_plain)) return argument;
  std::string result = "'";
  for (const char c : argument)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

std::vector<std::string> filled_in(const std::vector<std::string>& command, const RunPlace& place) {
  const Values values = values_of(place);
  std::vector<std::string> result;
  result.reserve(command.size());
  for (const std::string& argument : command)
    result.push_back(replaced(argument, values));
  return result;
}

bool mentions(const std::vector<std::string>& command, const std::string& placeholder) {
  return std::any_of(command.begin(), command.end(), [&](const std::string& argument) {
    return argument.find('{' + placeholder + '}') != std::string::npos;
  });
}

std::vector<std::string> placeholders(const std::vector<std::string>& command) {
  std::vector<std::string> names;
  for (const std::string& argument : command) {
    for (std::size_t open = argument.find('{'); open != std::string::npos;
         open = argument.find('{', open + 1)) {
      const std::string name = name_in_braces(argument, open);
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      if (!name.empty() && !known) names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> placeholder_warnings(const std::vector<std::string>& command,
                                              const RunPlace& place) {
  std::vector<std::string> warnings;
  if (!names_folder(command)) {
    warnings.emplace_back(
        "the command has no {dir}: it must write its traces to the folder that $ASSAY_RUN_DIR "
        "names");
  }
  const Values values = values_of(place);
  for (const std::string& name : placeholders(command)) {
    if (values.count(name) == 0) {
      warnings.push_back(fmt::format(
          "{{{}}} in the command means nothing and stays as it is: {{dir}}, {{setting}}, "
          "{{repeat}}, {{config}} and swept variables have a meaning",
          name));
    } else if (name == "config" && place.config.empty()) {
      warnings.emplace_back("{config} in the command is empty: --config names no file");
    }
  }
  return warnings;
}

std::string shell_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& argument : command)
    text += (text.empty() ? "" : " ") + quoted(argument);
  return text;
}

std::string env_text(const Variables& variables) {
  std::string unset;
  std::string set;
  for (const auto& [name, value] : variables) {
    if (value.empty()) {
      unset += "-u " + name + " ";
    } else {
      set += name + "=" + quoted(value) + " ";
    }
  }
  return variables.empty() ? "" : "env " + unset + set;
}

std::string variables_text(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name,
                        value.empty() ? "(unset)" : shell_text({value}));
  return text;
}

}  // namespace assay::sweep
