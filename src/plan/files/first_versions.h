// The first versions of engines that serve a family of models.
#pragma once

#include <string>

#include "plan/engine.h"

namespace assay::plan {

// Says that the engine's version ("": the one that files are for) lacks models of the family; ""
// where it has them, and where neither is known.
std::string lacking_model_in_words(Engine engine,
                                   const std::string& version,
                                   const std::string& family);

}  // namespace assay::plan
