#pragma once

#include "model/loggops.h"

namespace assay::simulate {

using model::LogGops;

}  // namespace assay::simulate
