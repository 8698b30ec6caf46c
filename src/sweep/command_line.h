// The user's command with the placeholders of a run filled in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sweep/setting.h"

namespace assay::sweep {

struct RunPlace {
  const Setting& setting;
  int repeat = 1;
  std::filesystem::path folder;  // the run's folder, absolute
  std::string config;            // the value of -c
};

// Replaces {dir}, {setting}, {repeat}, {config}, and {NAME} for each variable; an unset variable
// becomes the empty string. Everything else stays as it is, including other braces.
std::vector<std::string> filled_in(const std::vector<std::string>& command, const RunPlace& place);

bool mentions(const std::vector<std::string>& command, const std::string& placeholder);

// Returns the placeholders of the command, each once: what stands in braces and looks like a name.
// "${NAME}" is the shell's.
std::vector<std::string> placeholders(const std::vector<std::string>& command);

// Returns what is suspicious about the placeholders: one that is not among ours, none for the
// run's folder.
std::vector<std::string> placeholder_warnings(const std::vector<std::string>& command,
                                              const RunPlace& place);

// Returns the command as one would type it, quoted where a shell needs it.
std::string shell_text(const std::vector<std::string>& command);

// Returns the prefix that gives a command the variables: "env -u NCCL_PROTO NCCL_ALGO=Ring ".
std::string env_text(const Variables& variables);

// Returns the variables for a reader: "NCCL_ALGO=Ring NCCL_PROTO=(unset)".
std::string variables_text(const Variables& variables);

}  // namespace assay::sweep
