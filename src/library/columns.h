// A table by columns, as it lies in memory for others: Arrow's columns, without Arrow.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "model/table.h"

namespace assay::library {

// A bit for each row, the lowest first.
class Bits {
 public:
  void add(bool bit);

  // Makes the bits of many rows: bit(row) is asked of each in turn.
  template <class BitOfRow>
  static Bits of(std::size_t rows, const BitOfRow& bit) {
    Bits bits;
    bits.size_ = static_cast<std::int64_t>(rows);
    bits.zeros_ = bits.size_;
    bits.bytes_.reserve((rows + 7) / 8);
    for (std::size_t begin = 0; begin < rows; begin += 8) {
      unsigned byte = 0;
      for (std::size_t row = begin; row < std::min(begin + 8, rows); ++row)
        byte |= unsigned{bit(row)} << (row - begin);
      bits.bytes_.push_back(static_cast<std::uint8_t>(byte));
      bits.zeros_ -= std::popcount(byte);
    }
    return bits;
  }

  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }

  [[nodiscard]] std::int64_t zeros() const { return zeros_; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::int64_t size_ = 0;
  std::int64_t zeros_ = 0;
};

struct Texts {
  std::vector<std::int32_t> codes;    // by row; what it is of an empty row does not matter
  std::vector<std::int32_t> ends{0};  // of each distinct text in `bytes`, after a 0
  std::string bytes;
};

// Makes Texts row by row. Fails by throwing std::bad_alloc, also past 2^31 bytes of distinct texts.
class TextsMaker {
 public:
  void add(std::string_view text);

  void add_empty() { texts_.codes.push_back(0); }

  [[nodiscard]] Texts finish() &&;

 private:
  struct Hash {
    using is_transparent = void;  // NOLINT: the name that the standard library looks for

    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  using Codes = std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;

  Codes::iterator add_new(std::string_view text);

  Texts texts_;
  Codes codes_;
  std::string_view last_;  // a key of the codes, if there are any
  std::int32_t last_code_ = 0;
};

using Values = std::variant<std::monostate,  // every row is empty
                            Bits,
                            std::vector<std::int64_t>,
                            std::vector<double>,  // NaN where a row is empty
                            Texts>;

struct Column {
  model::Column about;
  Values values = {};
  Bits present = {};  // which rows have a value
};

struct Columns {
  std::string name;
  std::string title = {};
  std::vector<std::string> notes = {};
  std::int64_t num_rows = 0;
  std::vector<Column> columns = {};
};

// A column is of the widest kind that its cells need: booleans, integers, numbers, or else texts.
std::shared_ptr<const Columns> columns_of(const model::Table& table);

}  // namespace assay::library
