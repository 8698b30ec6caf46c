// Passes a setting's variables through a launcher to ranks on other hosts.
//
// torchrun starts local processes, which inherit the variables, and srun exports all of them by
// default. Open MPI forwards to other hosts only the variables that are named by -x on its command
// line or by a parameter in its environment, but not by both (orterun(1), "mca_base_env_list").
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/setting.h"

namespace assay::sweep {

struct Forwarding {
  // A variable to set for the launcher in addition to those of the setting.
  std::optional<std::pair<std::string, std::string>> variable = std::nullopt;
  std::string warning = {};  // "" if every rank will see the setting, as far as can be told
};

// `inherited` is the value of Open MPI's parameter in our own environment, or "".
Forwarding forwarding(const std::vector<std::string>& command,
                      const Variables& variables,
                      const std::string& inherited);

inline constexpr const char* kOpenMpiForwarding = "OMPI_MCA_mca_base_env_list";

}  // namespace assay::sweep
