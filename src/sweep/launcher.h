// How a setting's variables get past a launcher to ranks on other hosts.
//
// torchrun starts local processes, which inherit them, and srun exports all by default. Open MPI
// forwards to other hosts only what it is told: by -x on its command line, or by a parameter in
// its environment, but never by both (orterun(1), "mca_base_env_list").
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/setting.h"

namespace assay::sweep {

struct Forwarding {
  // A variable to set for the launcher, besides those of the setting.
  std::optional<std::pair<std::string, std::string>> variable = std::nullopt;
  std::string warning = {};  // "" when every rank will see the setting, as far as one can tell
};

// `inherited` is the parameter's value in our own environment, or "".
Forwarding forwarding(const std::vector<std::string>& command,
                      const Variables& variables,
                      const std::string& inherited);

inline constexpr const char* kOpenMpiForwarding = "OMPI_MCA_mca_base_env_list";

}  // namespace assay::sweep
