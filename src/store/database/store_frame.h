// Builds a frame row by row out of values whose types become known only with the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/files/frame.h"

namespace assay::store {

// Whole numbers as long as all values are, else numbers, else text.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::string name) { column_.name = std::move(name); }

  void add(std::int64_t value);
  void add(double value);  // NaN: missing
  void add(std::string_view value);
  void add_missing();

  [[nodiscard]] bool all_missing() const { return present_ == 0; }

  FrameColumn finish() &&;

 private:
  void become_real();
  void become_text();
  void add_word(std::string_view word);
  // Of the next row, before its value is added.
  void mark(bool missing);

  FrameColumn column_;
  std::unordered_map<std::string, std::uint32_t> codes_;
  std::size_t rows_ = 0;
  std::size_t present_ = 0;
};

// Text of any column, for those that are always text.
TextColumn as_text(const FrameColumn& column);

}  // namespace assay::store
