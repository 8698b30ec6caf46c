#pragma once

#include "model/schedule.h"

namespace assay::simulate {

using model::LogGops;

}  // namespace assay::simulate
