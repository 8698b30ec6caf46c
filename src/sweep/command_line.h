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
  std::filesystem::path folder;  // of the run, absolute
  std::string config;            // what -c named
};

// {dir}, {setting}, {repeat}, {config} and {NAME} of each variable (nothing where it is unset).
// Everything else, other braces included, stays as it is.
std::vector<std::string> filled_in(const std::vector<std::string>& command, const RunPlace& place);

bool mentions(const std::vector<std::string>& command, const std::string& placeholder);

// As one would type it: quoted where a shell needs it.
std::string shell_text(const std::vector<std::string>& command);

// "env -u NCCL_PROTO NCCL_ALGO=Ring ": what stands before a command to give it the variables.
std::string env_text(const Variables& variables);

// "NCCL_ALGO=Ring NCCL_PROTO=(unset)"
std::string variables_text(const Variables& variables);

}  // namespace assay::sweep
