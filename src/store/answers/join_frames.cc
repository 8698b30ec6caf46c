#include "store/answers/join_frames.h"

#include <algorithm>
#include <unordered_map>

#include "store/answers/table_index.h"

namespace assay::store {
namespace {

enum class Kind { kWhole, kReal, kText };

Kind kind_of(const FrameColumn& column) {
  if (std::holds_alternative<TextColumn>(column.values)) return Kind::kText;
  return std::holds_alternative<std::vector<double>>(column.values) ? Kind::kReal : Kind::kWhole;
}

Kind widest_kind(const std::vector<Frame>& frames, const std::string& name) {
  Kind widest = Kind::kWhole;
  for (const Frame& frame : frames) {
    if (const FrameColumn* column = frame.find(name)) widest = std::max(widest, kind_of(*column));
  }
  return widest;
}

double real(const model::PerfValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

class Joiner {
 public:
  Joiner(const std::string& name, Kind kind, std::size_t rows) {
    column_.name = name;
    column_.missing.reserve(rows);
    if (kind == Kind::kText) column_.values = TextColumn{};
    if (kind == Kind::kReal) column_.values = std::vector<double>();
    if (kind == Kind::kWhole) column_.values = std::vector<std::int64_t>();
  }

  void add(const FrameColumn* from, std::size_t row) {
    const bool missing = from == nullptr || from->is_missing(row);
    column_.missing.push_back(missing);
    any_missing_ |= missing;
    if (auto* whole = std::get_if<std::vector<std::int64_t>>(&column_.values)) {
      whole->push_back(missing ? 0 : std::get<std::int64_t>(from->value(row)));
    } else if (auto* reals = std::get_if<std::vector<double>>(&column_.values)) {
      reals->push_back(missing ? 0 : real(from->value(row)));
    } else {
      add_word(missing ? std::string() : value_text(from->value(row)));
    }
  }

  FrameColumn finish() && {
    if (!any_missing_) column_.missing.clear();
    return std::move(column_);
  }

 private:
  void add_word(const std::string& word) {
    auto& text = std::get<TextColumn>(column_.values);
    const auto [at, is_new] = known_.emplace(word, static_cast<std::uint32_t>(text.words.size()));
    if (is_new) text.words.push_back(word);
    text.codes.push_back(at->second);
  }

  FrameColumn column_;
  bool any_missing_ = false;
  std::unordered_map<std::string, std::uint32_t> known_;
};

}  // namespace

Frame joined_frames(const std::vector<Frame>& frames) {
  std::vector<std::string> names;
  std::size_t rows = 0;
  for (const Frame& frame : frames) {
    rows += frame.num_rows();
    for (const FrameColumn& column : frame.columns) {
      if (std::find(names.begin(), names.end(), column.name) == names.end())
        names.push_back(column.name);
    }
  }
  Frame joined;
  for (const std::string& name : names) {
    Joiner joiner(name, widest_kind(frames, name), rows);
    for (const Frame& frame : frames) {
      const FrameColumn* column = frame.find(name);
      for (std::size_t row = 0; row < frame.num_rows(); ++row)
        joiner.add(column, row);
    }
    joined.columns.push_back(std::move(joiner).finish());
  }
  return joined;
}

}  // namespace assay::store
