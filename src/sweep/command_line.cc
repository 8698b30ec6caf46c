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
