#include "sweep/environment_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/files.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string named(const std::set<std::string>& processes) {
  std::vector<std::string> names(processes.begin(), processes.end());
  const std::size_t more = names.size() > kMostNamed ? names.size() - kMostNamed : 0;
  names.resize(names.size() - more);
  const std::string rest = more == 0 ? "" : fmt::format(" and {} more", more);
  return (processes.size() == 1 ? "process " : "processes ") + core::join(names, ", ") + rest;
}

// A process that shows a title of its own writes it over its arguments and its environment.
bool is_overwritten(std::string_view environment) {
  if (environment.empty()) return false;
  const std::string_view first = environment.substr(0, environment.find('\0'));
  return first.find('=') == std::string_view::npos;
}

}  // namespace

std::optional<Environment> read_environment(const std::filesystem::path& root, pid_t process) {
  const auto content = core::read_file(root / "proc" / std::to_string(process) / "environ");
  if (!content.ok()) return {};
  Environment environment;
  std::string_view rest = content.value();
  if (is_overwritten(rest)) return {};
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

void EnvironmentCheck::compare(pid_t process,
                               const std::string& name,
                               const Environment& environment) {
  for (const auto& [variable, wanted] : wanted_) {
    const auto found = environment.find(variable);
    const bool is_set = found != environment.end();
    if (wanted.empty() ? !is_set : is_set && found->second == wanted) {
      applied_.insert(variable);
      continue;
    }
    const auto seen = is_set ? std::optional(found->second) : std::nullopt;
    processes_[{variable, wanted, seen}].insert(
        name.empty() ? std::to_string(process) : fmt::format("{} ({})", process, name));
  }
}

std::vector<std::string> EnvironmentCheck::warnings() const {
  std::vector<std::string> warnings;
  for (const auto& [wrong, processes] : processes_) {
    const std::string seen = wrong.seen ? "'" + *wrong.seen + "'" : "not set";
    const std::string wanted = wrong.wanted.empty() ? "not set" : "'" + wrong.wanted + "'";
    const char* hint = wrong.seen ? "does the command set it itself?" : "mpirun without -x?";
    warnings.push_back(fmt::format("{} was {} in {}, wanted {}: {}", wrong.variable, seen,
                                   named(processes), wanted, hint));
  }
  return warnings;
}

std::vector<std::string> EnvironmentCheck::not_applied() const {
  std::set<std::string> variables;
  for (const auto& [wrong, processes] : processes_)
    if (applied_.count(wrong.variable) == 0) variables.insert(wrong.variable);
  return {variables.begin(), variables.end()};
}

}  // namespace assay::sweep
