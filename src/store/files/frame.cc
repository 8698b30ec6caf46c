#include "store/files/frame.h"

#include <algorithm>

namespace assay::store {

std::vector<std::string> words_of(const model::StringPool& pool) {
  std::vector<std::string> words;
  words.reserve(pool.size());
  for (model::TextId id = 0; id < pool.size(); ++id)
    words.emplace_back(pool.view(id));
  return words;
}

std::size_t FrameColumn::size() const {
  if (const auto* text = std::get_if<TextColumn>(&values)) return text->codes.size();
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&values)) return whole->size();
  return std::get<std::vector<double>>(values).size();
}

model::PerfValue FrameColumn::value(std::size_t row) const {
  if (const auto* text = std::get_if<TextColumn>(&values)) return text->words[text->codes[row]];
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&values)) return (*whole)[row];
  return std::get<std::vector<double>>(values)[row];
}

const FrameColumn* Frame::find(std::string_view name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const FrameColumn& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

}  // namespace assay::store
