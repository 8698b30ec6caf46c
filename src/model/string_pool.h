// Stores each distinct text once; users keep 4-byte ids.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

namespace assay::model {

// Index into a StringPool. Id 0 is the empty text.
using TextId = std::uint32_t;

class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;

  TextId intern(std::string_view text);

  [[nodiscard]] std::string_view view(TextId id) const { return texts_[id]; }

  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::string_view store(std::string_view text);
  void grow();

  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;      // open addressing; kEmpty or an id
  std::deque<std::vector<char>> blocks_;  // blocks never move, so views stay valid
};

}  // namespace assay::model
