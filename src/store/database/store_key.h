// The keys of rows as the store keeps them: a JSON list of the key columns' values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/perf.h"
#include "store/files/frame.h"

namespace assay::store {

// The columns of a table that are neither its key nor common columns.
inline constexpr std::array<std::string_view, 3> kValueColumns = {"latency", "power",
                                                                  "power_limit"};

bool is_value_column(std::string_view column);

// 64 bits that are the same for the same text in every version of assay (FNV-1a). Hostile texts can
// make them collide.
std::uint64_t stable_hash(std::string_view text);

std::string json_value(const model::PerfValue& value);

// ["bfloat16",1,32,32]
std::string key_json(const std::vector<model::PerfField>& key);

std::string columns_json(const std::vector<std::string>& columns);
std::vector<std::string> parse_columns(std::string_view json);

// Writes the keys of a frame's rows; every text is escaped once.
class KeyWriter {
 public:
  explicit KeyWriter(std::vector<const FrameColumn*> columns);

  // The text is valid until the next call.
  std::string_view write(std::size_t row);
  // Writes an object without missing values instead: {"gemm_dtype":"bfloat16","m":1}
  std::string_view write_named(std::size_t row);

 private:
  void append(std::size_t column, std::size_t row);

  std::vector<const FrameColumn*> columns_;
  std::vector<std::vector<std::string>> words_;  // by column: the words of a text column as JSON
  std::string json_;
};

}  // namespace assay::store
