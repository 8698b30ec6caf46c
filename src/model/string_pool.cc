#include "model/string_pool.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace assay::model {
namespace {

constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
constexpr std::size_t kBlockBytes = 1 << 16;

}  // namespace

StringPool::StringPool() : slots_(1024, kEmpty) {
  intern("");
}

TextId StringPool::intern(std::string_view text) {
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != kEmpty) {
    const std::uint32_t id = slots_[slot];
    if (hashes_[id] == hash && texts_[id] == text) return id;
    slot = (slot + 1) & mask;
  }
  const auto id = static_cast<TextId>(texts_.size());
  texts_.push_back(store(text));
  hashes_.push_back(hash);
  slots_[slot] = id;
  if (texts_.size() * 2 > slots_.size()) grow();
  return id;
}

std::string_view StringPool::store(std::string_view text) {
  if (text.empty()) return {};
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < text.size()) {
    blocks_.emplace_back().reserve(std::max(kBlockBytes, text.size()));
  }
  std::vector<char>& block = blocks_.back();
  const std::size_t offset = block.size();
  block.insert(block.end(), text.begin(), text.end());
  return {block.data() + offset, text.size()};
}

void StringPool::grow() {
  slots_.assign(slots_.size() * 2, kEmpty);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < texts_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots_[slot] != kEmpty)
      slot = (slot + 1) & mask;
    slots_[slot] = id;
  }
}

}  // namespace assay::model
