// Parquet's mix of runs and bit-packed groups (RLE): levels, dictionary indices, booleans.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::store::parquet {

// `count` numbers of `bit_width` bits (0 to 32). Errors: fewer are there.
core::Result<std::vector<std::uint32_t>> read_runs(std::string_view bytes,
                                                   int bit_width,
                                                   std::size_t count);

// Short runs are packed, long ones counted.
std::string write_runs(const std::vector<std::uint32_t>& numbers, int bit_width);

}  // namespace assay::store::parquet
