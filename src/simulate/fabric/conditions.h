// What may be wrong with a network, of a network file or of a study's failure: `changes`,
// `background` and `noise`.
#pragma once

#include "core/result.h"
#include "simulate/fabric/fabric_spec.h"
#include "simulate/yaml_fields.h"

namespace assay::simulate {

// Adds to what the specification has; noise replaces it.
core::Status take_conditions(Fields& fields, FabricSpec& spec);

}  // namespace assay::simulate
