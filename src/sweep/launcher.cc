#include "sweep/launcher.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "core/text.h"

namespace assay::sweep {
namespace {

bool is_open_mpi(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string();
  return name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "prterun";
}

bool forwards(const std::vector<std::string>& command, const std::string& variable) {
  return std::any_of(command.begin(), command.end(), [&](const std::string& argument) {
    return argument == variable || argument.starts_with(variable + "=");
  });
}

std::vector<std::string> set_variables(const Variables& variables) {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables)
    if (!value.empty()) names.push_back(name);
  return names;
}

}  // namespace

Forwarding forwarding(const std::vector<std::string>& command,
                      const Variables& variables,
                      const std::string& inherited) {
  std::vector<std::string> names = set_variables(variables);
  if (!is_open_mpi(command.front()) || names.empty()) return {};
  if (std::find(command.begin(), command.end(), "-x") == command.end()) {
    if (!inherited.empty()) names.insert(names.begin(), inherited);
    return {.variable = std::pair(std::string(kOpenMpiForwarding), core::join(names, ";"))};
  }
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) { return forwards(command, name); }),
              names.end());
  if (names.empty()) return {};
  return {.warning = fmt::format("ranks on other hosts will not see {}: add '-x {}' to mpirun",
                                 core::join(names, ", "), core::join(names, " -x "))};
}

}  // namespace assay::sweep
