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

// "latency", "avg_ms": the first that the table may have; its unit is that of all figures that
// queries and checks of this table give.
inline constexpr std::string_view kLatencyColumns[] = {"latency", "avg_ms"};

// "ms"; "us" of the few public tables in microseconds.
std::string_view latency_unit(std::string_view table);
double milliseconds_per_unit(std::string_view table);

// "gemm", "gemm_perf", "dir/gemm_perf.parquet": "gemm_perf".
std::string table_name(std::string_view text);

}  // namespace assay::store
