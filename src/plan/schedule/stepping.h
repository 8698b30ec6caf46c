// How the steps of a simulation are taken.
#pragma once

#include <cstdint>

namespace assay::plan {

enum class Stepping : std::uint8_t { kManyAtOnce, kOneByOne };

}  // namespace assay::plan
