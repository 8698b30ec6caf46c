// The table that says which strategy to use for a message. `codegen` makes it; the C library and
// generated C++ look strategies up in it by the same rule.
//
// For each TP, fusion and data type it has one row for each measured hidden size, and each row is
// divided into segments by message size. The lookup is total: any TP, hidden size, token count,
// type and fusion finds the nearest row (by ratio) and the segment of its own size in bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/strategy.h"
#include "core/result.h"

namespace assay::allreduce {

struct TableSegment {
  std::int64_t from_bytes = 0;  // the segment ends where the next begins; the first begins at 0
  Strategy strategy = Strategy::kNccl;

  bool operator==(const TableSegment&) const = default;
};

// Where a part of a table comes from (estimates.h has the rules).
enum class Origin : std::uint8_t {
  kMeasured = 0,
  kInterpolated = 1,  // a row between measured rows; of tables made before 27 November 2026
  kExtrapolated = 2,  // a number of GPUs that was not measured
};

inline constexpr std::array<std::string_view, 3> kOriginNames = {"measured", "interpolated",
                                                                 "extrapolated"};

struct TableRow {
  std::int64_t hidden_size = 0;
  std::vector<TableSegment> segments;  // ascending, at least one
  Origin origin = Origin::kMeasured;   // measured or interpolated
  std::int64_t measured_to_bytes = 0;  // the largest message; 0: not known, nothing is beyond it
};

struct TableSlice {
  int world_size = 0;
  Fusion fusion = Fusion::kNone;
  DataType data_type = DataType::kBfloat16;
  std::vector<TableRow> rows;         // ascending by hidden size, at least one
  Origin origin = Origin::kMeasured;  // measured or extrapolated
  int from_world_size = 0;            // the measured number of GPUs it is extrapolated from
};

// The result of a lookup and the parts of the table that it comes from. The pointers are null where
// the fallback was taken.
struct TableMatch {
  Strategy strategy = Strategy::kNccl;
  std::int64_t size_bytes = 0;  // the size of the message; INT64_MAX where it would overflow
  const TableSlice* slice = nullptr;
  const TableRow* row = nullptr;
  const TableSegment* segment = nullptr;
  // The choice was not measured with this many GPUs: the slice is extrapolated, or it is that of
  // another number of GPUs.
  bool is_extrapolated = false;
  bool is_of_other_type = false;  // the slice is that of another data type
  bool is_beyond = false;         // the message is larger than all that the row was measured with

  // Returns whether the choice was measured with this number of GPUs, fusion and type, and with
  // messages up to this size.
  [[nodiscard]] bool is_measured() const {
    return slice != nullptr && !is_extrapolated && !is_of_other_type && !is_beyond;
  }
};

// Limits on the numbers that a table may hold. Lookups may ask for any number.
inline constexpr int kMostTableRanks = 1 << 20;
inline constexpr std::int64_t kMostTableHidden = std::int64_t{1} << 28;
inline constexpr std::int64_t kMostTableBytes = std::int64_t{1} << 62;

struct StrategyTable {
  int sm_version = 0;
  Launch launch = Launch::kGraph;
  Strategy fallback = Strategy::kNccl;  // the choice for a fusion that has no slice
  std::string provenance = {};          // one line: what it was measured on and when
  std::vector<TableSlice> slices = {};

  // Considers the slices of the same fusion whose TP is nearest (by ratio; the larger of two
  // equally near), and takes the one of the same type, or else of the first type there is. In that
  // slice it takes the row of the nearest hidden size, by the same rule. TP, tokens and hidden size
  // below 1 count as 1.
  [[nodiscard]] TableMatch find(int world_size,
                                Fusion fusion,
                                DataType data_type,
                                std::int64_t hidden_size,
                                std::int64_t num_tokens) const;

  [[nodiscard]] Strategy lookup(int world_size,
                                Fusion fusion,
                                DataType data_type,
                                std::int64_t hidden_size,
                                std::int64_t num_tokens) const {
    return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
  }
};

// Returns tokens x hidden x bytes of an element, each at least 1, or INT64_MAX where that
// overflows.
std::int64_t message_bytes(std::int64_t num_tokens, std::int64_t hidden_size, DataType data_type);

// Writes version 3 of the format, which says what was not measured, with the least time that the
// links need for it: link_limit_us() of a MiB with each strategy that an extrapolated slice
// chooses. That is for readers; it follows from the rest and is not read back. Versions 1, of which
// all counts as measured, and 2, which knows no largest message, are read, too.
std::string table_json(const StrategyTable& table);

// `name` is for messages. Errors name the place in the JSON. Examples are text that is not JSON, a
// missing or unknown field, an unknown strategy, AUTO, a slice without rows, a slice that is there
// twice, and borders that do not ascend.
core::Result<StrategyTable> table_from_json(std::string_view json, std::string_view name);

}  // namespace assay::allreduce
