// Manifests for clusters: plain Kubernetes, Dynamo's operator, and values of llm-d's chart.
#pragma once

#include <string>

#include "plan/files/deployment.h"

namespace assay::plan {

// A Deployment with a pod for each copy, its Service, and the settings as a ConfigMap.
// Disaggregated: a StatefulSet with a pod for each instance of a pool, and the router before them.
std::string kubernetes_manifest(const PlannedDeployment& planned);

// A DynamoGraphDeployment (nvidia.com/v1alpha1) with a frontend and a worker for each copy.
std::string dynamo_manifest(const PlannedDeployment& planned);

// Values of the chart llm-d-modelservice; without a prefill role where every copy does both.
std::string llmd_values(const PlannedDeployment& planned);

}  // namespace assay::plan
