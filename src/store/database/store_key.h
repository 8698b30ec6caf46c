// Keys of rows as the store keeps them: a JSON list of the key columns' values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/perf.h"
#include "store/files/frame.h"

namespace assay::store {

// 64 bits that stay the same for the same text ever after (FNV-1a). Not for hostile texts.
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

  // Valid until the next call.
  std::string_view write(std::size_t row);
  // The same as an object without missing values: {"gemm_dtype":"bfloat16","m":1}
  std::string_view write_named(std::size_t row);

 private:
  void append(std::size_t column, std::size_t row);

  std::vector<const FrameColumn*> columns_;
  std::vector<std::vector<std::string>> words_;  // by column: a text column's words as JSON
  std::string json_;
};

}  // namespace assay::store
