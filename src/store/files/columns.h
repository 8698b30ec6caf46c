// What the columns of performance tables mean to queries and checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::store {

// kExact: a query's value must be one that was measured ("head_dim"); kSize: interpolated between
// measured values ("m"); kMeasured: a result ("power"), no part of the key.
enum class Role : std::uint8_t { kExact, kSize, kMeasured };

// Of a column of any table; texts are kExact whatever their name.
Role role_of(std::string_view column);

// How latencies run between two values of a size: a straight line, or a cubic without overshoot
// where they grow faster than the size (attention over its sequence).
enum class Curve : std::uint8_t { kLine, kCubic };

Curve curve_of(std::string_view column);

// "gemm", "gemm_perf", "dir/gemm_perf.parquet": "gemm_perf".
std::string table_name(std::string_view text);

}  // namespace assay::store
