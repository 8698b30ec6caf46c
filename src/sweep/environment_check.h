// Checks whether the variables of a setting reached the processes that it is meant for. Variables
// that a process sets for itself after its start are not visible.
#pragma once

#include <sys/types.h>

#include <compare>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sweep/observer.h"

namespace assay::sweep {

// The variables that a process was started with. If a name occurs twice, its first value counts, as
// it does for getenv().
using Environment = std::map<std::string, std::string>;

// Returns std::nullopt if the environment cannot be read, because the process has ended or belongs
// to another user.
std::optional<Environment> read_environment(const std::filesystem::path& root, pid_t process);

class EnvironmentCheck {
 public:
  // An empty value means that the variable must not be set.
  explicit EnvironmentCheck(Variables wanted) : wanted_(std::move(wanted)) {}

  void compare(pid_t process, const std::string& name, const Environment& environment);

  // Returns one warning for each variable and each wrong value that was seen.
  [[nodiscard]] std::vector<std::string> warnings() const;

  // Returns the variables that no process had as the setting wants them, though some were seen.
  [[nodiscard]] std::vector<std::string> not_applied() const;

 private:
  struct Wrong {
    std::string variable;
    std::string wanted;
    std::optional<std::string> seen;

    friend bool operator==(const Wrong&, const Wrong&) = default;
    // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the generated code for ours.
    friend auto operator<=>(const Wrong&, const Wrong&) = default;
  };

  Variables wanted_;
  std::map<Wrong, std::set<std::string>> processes_;
  std::set<std::string> applied_;  // variables that some process had as wanted
};

}  // namespace assay::sweep
