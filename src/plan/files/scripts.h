// The scripts of a deployment: they serve and measure it on machines without Kubernetes.
#pragma once

#include <string>

#include "plan/files/deployment.h"

namespace assay::plan {

// The files of settings that scripts name.
inline constexpr const char* kSettings = "settings.yaml";
inline constexpr const char* kRouterSettings = "router.yaml";

std::string settings_of_pool(const PlannedDeployment& pool);  // "prefill-settings.yaml"
std::string script_of_pool(const PlannedDeployment& pool);    // "serve-prefill.sh"

// Serves one copy: on this machine, or on several, each of which runs the script.
std::string serve_script(const PlannedDeployment& planned);

// Serves an instance of a pool, where variables say.
std::string pool_script(const PlannedDeployment& pool);

// Takes the requests and sends them to the instances of both pools.
std::string router_script(const PlannedDeployment& planned);

// Serves all instances of a machine, and the router on the first.
std::string machines_script(const PlannedDeployment& planned);

// Measures whatever serves.
std::string measure_script(const PlannedDeployment& planned);

}  // namespace assay::plan
