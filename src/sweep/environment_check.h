// Whether the variables of a setting reached the processes that it is meant for. What a process
// sets for itself after its start does not show.
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

// What a process was started with; of a name that is there twice, the first, as getenv() finds it.
using Environment = std::map<std::string, std::string>;

// Empty when it cannot be read: the process is gone or another user's.
std::optional<Environment> read_environment(const std::filesystem::path& root, pid_t process);

class EnvironmentCheck {
 public:
  // An empty value: the variable must not be set.
  explicit EnvironmentCheck(Variables wanted) : wanted_(std::move(wanted)) {}

  void compare(pid_t process, const std::string& name, const Environment& environment);

  // One for each variable and value seen.
  [[nodiscard]] std::vector<std::string> warnings() const;

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
};

}  // namespace assay::sweep
