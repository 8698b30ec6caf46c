#include "sweep/setting.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/files.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kShortNames{{
    {"NCCL_MIN_CTAS", "mincta"},
    {"NCCL_MAX_CTAS", "maxcta"},
    {"NCCL_MIN_NCHANNELS", "minch"},
    {"NCCL_MAX_NCHANNELS", "maxch"},
    {"NCCL_NTHREADS", "threads"},
    {"NCCL_ALGO", "algo"},
    {"NCCL_PROTO", "proto"},
    {"NCCL_BUFFSIZE", "buffsize"},
    {"RCCL_WARP_SPEED_CU_COUNT", "cu"},
    {"RCCL_THREADS_PER_BLOCK", "threads"},
    {"RCCL_UNROLL_FACTOR", "unroll"},
    {"NCCL_P2P_NET_CHUNKSIZE", "netchunk"},
}};

constexpr unsigned char kFirstBeyondAscii = 0x80;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || core::is_digit(c); });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string short_name(const std::string& variable) {
  for (const auto& [name, abbreviation] : kShortNames)
    if (name == variable) return std::string(abbreviation);
  const bool prefixed = variable.starts_with("NCCL_") || variable.starts_with("RCCL_");
  return lower(variable.substr(prefixed ? 5 : 0));
}

bool is_of_the_sweep(const std::string& variable) {
  return variable == kMark || variable == kRunFolderVariable || variable == kRunSettingVariable;
}

std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',';
    if (text[i] == ',') {
      values.emplace_back();
    } else {
      values.back() += text[escaped ? ++i : i];
    }
  }
  return values;
}

// Adds the names of the settings' variables that are not among `names` yet.
void add_variable_names(const Settings& settings, std::vector<std::string>& names) {
  for (const Setting& setting : settings) {
    for (const auto& [variable, value] : setting.variables) {
      const bool known = std::find(names.begin(), names.end(), variable) != names.end();
      if (!known) names.push_back(variable);
    }
  }
}

// Different values can give one name ("a/b" and "a:b"), and different settings need different
// folders.
void number_equal_names(Settings& settings) {
  for (Setting& setting : settings) {
    // A folder that is hidden or looks like an option would surprise.
    if (setting.name.starts_with('.') || setting.name.starts_with('-')) setting.name.insert(0, "_");
  }
  std::set<std::string> names;
  for (Setting& setting : settings) {
    const std::string name = setting.name;
    for (int number = 2; !names.insert(setting.name).second; ++number)
      setting.name = fmt::format("{}_{}", name, number);
  }
}

}  // namespace

core::Result<Axis> parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == std::string::npos || !is_variable_name(name)) {
    return core::Error{fmt::format("'{}' is not NAME=value,value,...", text)};
  }
  if (core::valid_utf8(text) != text) {
    return core::Error{fmt::format("'{}' is not UTF-8", core::valid_utf8(text))};
  }
  if (is_of_the_sweep(name)) {
    return core::Error{
        fmt::format("'{}' cannot be swept: the sweep itself sets {} for every run", text, name)};
  }
  Axis axis{name, split_values(std::string_view(text).substr(equals + 1))};
  const std::set<std::string> distinct(axis.values.begin(), axis.values.end());
  if (distinct.size() != axis.values.size()) {
    return core::Error{fmt::format("'{}' holds a value twice", text)};
  }
  return axis;
}

std::string name_part(const std::string& variable, const std::string& value) {
  const std::string name = short_name(variable);
  if (value.empty()) return "default-" + name;
  const bool number = std::all_of(value.begin(), value.end(), core::is_digit);
  return number ? value + name : folder_text(value) + "-" + name;
}

std::string folder_text(const std::string& value) {
  std::string result = lower(core::printable(value));
  for (char& c : result) {
    const bool other_alphabet = static_cast<unsigned char>(c) >= kFirstBeyondAscii;
    if (!is_letter(c) && !core::is_digit(c) && c != '.' && !other_alphabet) c = '-';
  }
  return result;
}

Settings with_axis(const Settings& settings, const Axis& axis) {
  Settings result;
  const Settings none{Setting{}};
  for (const Setting& setting : settings.empty() ? none : settings) {
    for (const std::string& value : axis.values) {
      Setting next = setting;
      next.name += (next.name.empty() ? "" : "_") + name_part(axis.variable, value);
      next.variables.emplace_back(axis.variable, value);
      result.push_back(std::move(next));
    }
  }
  return result;
}

core::Status complete(Settings& settings, const Settings& others) {
  std::set<Variables> distinct;
  for (const Setting& setting : settings) {
    if (!distinct.insert(setting.variables).second) {
      return core::Error{fmt::format("the setting '{}' is given twice", setting.name)};
    }
  }
  std::vector<std::string> variables;
  add_variable_names(settings, variables);
  add_variable_names(others, variables);
  for (Setting& setting : settings) {
    std::set<std::string> own;
    for (const auto& [variable, value] : setting.variables) {
      if (own.insert(variable).second) continue;
      return core::Error{fmt::format("{} is given twice for '{}'", variable, setting.name)};
    }
    for (const std::string& variable : variables)
      if (own.count(variable) == 0) setting.variables.emplace_back(variable, "");
  }
  number_equal_names(settings);
  return check_names(settings);
}

core::Status check_names(const Settings& settings) {
  for (const Setting& setting : settings) {
    const auto checked = core::check_file_name(setting.name);
    if (!checked.ok()) return checked.error().context("the name of a setting");
    for (const auto& [variable, value] : setting.variables) {
      if (!is_variable_name(variable))
        return core::Error{fmt::format("'{}' cannot be the name of a variable", variable)};
    }
  }
  return {};
}

}  // namespace assay::sweep
