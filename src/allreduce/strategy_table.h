// Which strategy to use for a message: made by `codegen`, looked up by the C library and in
// generated C++ alike.
//
// For each TP, fusion and data type a row per measured hidden size, and in each row borders by
// message size. The lookup is total: any TP, hidden size, token count, type and fusion finds the
// nearest row (by ratio) and the segment of its own size in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/strategy.h"
#include "core/result.h"

namespace assay::allreduce {

struct TableSegment {
  std::int64_t from_bytes = 0;  // up to the next segment's; the first has 0
  Strategy strategy = Strategy::kNccl;

  bool operator==(const TableSegment&) const = default;
};

struct TableRow {
  std::int64_t hidden_size = 0;
  std::vector<TableSegment> segments;  // ascending, at least one
};

struct TableSlice {
  int world_size = 0;
  Fusion fusion = Fusion::kNone;
  DataType data_type = DataType::kBfloat16;
  std::vector<TableRow> rows;  // ascending by hidden size, at least one
};

struct StrategyTable {
  int sm_version = 0;
  Launch launch = Launch::kGraph;
  Strategy fallback = Strategy::kNccl;  // where there is no slice at all
  std::string provenance = {};          // one line: what it was measured on and when
  std::vector<TableSlice> slices = {};

  // The slice of the same fusion whose TP is nearest (ratio; the larger of two equally near),
  // of the same type before another; tokens and hidden size below 1 count as 1.
  [[nodiscard]] Strategy lookup(int world_size,
                                Fusion fusion,
                                DataType data_type,
                                std::int64_t hidden_size,
                                std::int64_t num_tokens) const;
};

std::string table_json(const StrategyTable& table);
// `name` is for messages. Errors: not JSON, an unknown strategy, a slice without rows, ….
core::Result<StrategyTable> table_from_json(std::string_view json, std::string_view name);

}  // namespace assay::allreduce
