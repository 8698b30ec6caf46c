// The prediction of a measured disaggregated deployment.
#pragma once

#include "core/result.h"
#include "plan/validate/validate.h"

namespace assay::plan {

// Fills TTFT and TPOT. Error: the row does not tell its workers, or they have no price or no room.
core::Status predict_disaggregated(const MeasuredDeployment& measured,
                                   const ValidationInputs& inputs,
                                   const AssumedClients& clients,
                                   Prediction& prediction);

}  // namespace assay::plan
