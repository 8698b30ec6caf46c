#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "allreduce/codegen/lookup_table.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

// Above any number of an axis or SM, and small enough that twice as much does not overflow.
constexpr std::int64_t kMostNumber = std::int64_t{1} << 30;
constexpr std::string_view kTableName = "AllReduceBestStrategyTableSM";

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r'");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r'") - from + 1);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < 0 || value > kMostNumber) return {};
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<Strategy> strategy_numbered(std::int64_t number) {
  for (const StrategySpec& spec : kStrategies) {
    const bool is_it = static_cast<std::int64_t>(spec.strategy) == number;
    if (is_it && spec.strategy != Strategy::kAuto) return spec.strategy;
  }
  return {};
}

// The lists of one depth: how many items the one that is read has, and how many the others have.
struct Level {
  std::string_view item;  // "number"
  std::string_view axis;  // "token count"
  std::size_t count = 0;
  std::optional<std::size_t> of_others = {};
};

// The axes of a table, as comments tell them.
struct Axes {
  std::vector<std::int64_t> world_sizes = {};
  std::vector<Fusion> fusions = {};
  std::vector<std::int64_t> hidden_sizes = {};
  std::vector<std::int64_t> num_tokens = {};
};

// The table is a list of TP sizes of fusions of hidden sizes of strategies by token counts. Lists
// in braces give its shape, comments the numbers and names on its axes.
class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : lines_(split(text, '\n')), name_(name) {}

  core::Result<std::vector<LookupTable>> read() {
    for (line_ = 1; line_ <= lines_.size(); ++line_) {
      const std::string_view line = lines_[line_ - 1];
      const std::size_t comment = std::min(line.find("//"), line.size());
      ASSAY_TRY(read_axes(line.substr(comment)));
      ASSAY_TRY(read_code(line.substr(0, comment)));
      if (depth_ > 0) ASSAY_TRY(read_place(line.substr(comment)));
    }
    if (depth_ == kRowDepth) return row_without_end();
    if (depth_ > 0) return core::Error{fmt::format("{}: the table does not end", name_)};
    if (tables_.empty()) {
      return core::Error{
          fmt::format("{}: no table: nothing is called '{}<version>'", name_, kTableName)};
    }
    return std::move(tables_);
  }

 private:
  static constexpr std::size_t kRowDepth = 4;

  [[nodiscard]] core::Error wrong(std::string_view what) const {
    return core::Error{fmt::format("{}:{}: {}", name_, line_, what)};
  }

  [[nodiscard]] core::Error row_without_end() const {
    return core::Error{
        fmt::format("{}:{}: a row of numbers without its '}}'", name_, line_of_row_)};
  }

  core::Status read_axes(std::string_view comment) {
    ASSAY_TRY(read_numbers(comment, "TP:[", listed_.world_sizes));
    ASSAY_TRY(read_numbers(comment, "Hidden:[", listed_.hidden_sizes));
    ASSAY_TRY(read_numbers(comment, "Tokens:[", listed_.num_tokens));
    return read_fusions(comment);
  }

  // Returns the items of "<key>1, 2]", or std::nullopt when the line does not have the key.
  static std::optional<std::vector<std::string_view>> listed(std::string_view line,
                                                             std::string_view key) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at + key.size());
    return split(line.substr(0, line.find(']')), ',');
  }

  core::Status read_numbers(std::string_view line,
                            std::string_view key,
                            std::vector<std::int64_t>& axis) {
    const auto parts = listed(line, key);
    if (!parts) return {};
    axis.clear();
    for (const std::string_view part : *parts) {
      const auto value = whole_number(part);
      if (!value || *value <= (axis.empty() ? 0 : axis.back())) {
        return wrong(fmt::format("'{}' in the list '{}' is not a larger number than the one before",
                                 trimmed(part), key.substr(0, key.size() - 2)));
      }
      axis.push_back(*value);
    }
    return {};
  }

  core::Status read_fusions(std::string_view line) {
    const auto parts = listed(line, "Fusion:[");
    if (!parts) return {};
    listed_.fusions.clear();
    for (const std::string_view part : *parts) {
      const auto fusion = fusion_named(trimmed(part));
      if (!fusion) return wrong(fmt::format("no fusion is called '{}'", trimmed(part)));
      listed_.fusions.push_back(*fusion);
    }
    return {};
  }

  // Comments within the table say of which TP size, fusion and hidden size a list is. Those of the
  // first list of fusions or hidden sizes recur in the others.
  core::Status read_place(std::string_view comment) {
    const auto after = [&](std::string_view key) {
      const std::size_t at = comment.find(key);
      if (at == std::string_view::npos) return std::string_view();
      const std::string_view word = comment.substr(at + key.size());
      constexpr std::string_view kOfWords = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
      return word.substr(0, word.find_first_not_of(kOfWords));
    };
    if (const std::string_view word = after("TP="); !word.empty()) {
      const std::size_t before = places_.world_sizes.size();
      add_number(word, places_.world_sizes);
      if (places_.world_sizes.size() == before)
        return wrong(fmt::format("TP={} is not larger than the one before", word));
    }
    add_number(after("hidden_size="), places_.hidden_sizes);
    const std::string_view name = after("Fusion=");
    if (name.empty()) return {};
    const auto fusion = fusion_named(name);
    if (!fusion) return wrong(fmt::format("no fusion is called '{}'", name));
    const std::vector<Fusion>& known = places_.fusions;
    if (std::find(known.begin(), known.end(), *fusion) == known.end())
      places_.fusions.push_back(*fusion);
    return {};
  }

  static void add_number(std::string_view word, std::vector<std::int64_t>& axis) {
    const auto number = whole_number(word);
    if (number && *number > (axis.empty() ? 0 : axis.back())) axis.push_back(*number);
  }

  core::Status read_code(std::string_view code) {
    while (!code.empty()) {
      if (depth_ == 0) {
        ASSAY_TRY(find_table(code));
        continue;
      }
      const std::size_t end = std::min(code.find_first_of(",{} \t\r"), code.size());
      if (end > 0) ASSAY_TRY(read_number(code.substr(0, end)));
      code.remove_prefix(end);
      if (code.empty()) break;
      if (code.front() == '{') ASSAY_TRY(open());
      if (code.front() == '}') ASSAY_TRY(close());
      code.remove_prefix(1);
    }
    return {};
  }

  // Takes all of the code, or what is in front of the table's first list. A name with something
  // else behind it than that list is a mention of the table.
  core::Status find_table(std::string_view& code) {
    if (!sm_version_) {
      const std::size_t at = code.find(kTableName);
      if (at == std::string_view::npos) {
        code = {};
        return {};
      }
      code.remove_prefix(at + kTableName.size());
      const std::size_t digits = std::min(code.find_first_not_of("0123456789"), code.size());
      sm_version_ = whole_number(code.substr(0, digits));
      if (!sm_version_) return wrong(fmt::format("no SM version after '{}'", kTableName));
      code.remove_prefix(digits);
    }
    code.remove_prefix(std::min(code.find_first_not_of(" \t\r="), code.size()));
    if (code.empty()) return {};
    if (code.front() != '{') {
      sm_version_.reset();
      return {};
    }
    code.remove_prefix(1);
    begin_table();
    return {};
  }

  void begin_table() {
    depth_ = 1;
    places_ = {};
    cells_.clear();
    levels_ = {Level{"TP size", "TP size"}, Level{"fusion", "fusion"},
               Level{"hidden size", "hidden size"}, Level{"number", "token count"}};
    if (!listed_.hidden_sizes.empty()) levels_[2].of_others = listed_.hidden_sizes.size();
    if (!listed_.num_tokens.empty()) levels_[3].of_others = listed_.num_tokens.size();
  }

  core::Status read_number(std::string_view word) {
    if (depth_ < kRowDepth)
      return wrong(fmt::format("'{}' is in no row of numbers", trimmed(word)));
    const auto number = whole_number(word);
    const auto strategy = number ? strategy_numbered(*number) : std::nullopt;
    if (!strategy) return wrong(fmt::format("no strategy has the number '{}'", trimmed(word)));
    cells_.push_back({.strategy = *strategy, .is_measured = true});
    ++levels_[kRowDepth - 1].count;
    return {};
  }

  core::Status open() {
    if (depth_ == kRowDepth) return row_without_end();
    ++levels_[depth_ - 1].count;
    levels_[depth_].count = 0;
    ++depth_;
    if (depth_ == kRowDepth) line_of_row_ = line_;
    return {};
  }

  // Lists of one depth have equally many items.
  core::Status close() {
    --depth_;
    Level& level = levels_[depth_];
    if (level.count == 0) return wrong("an empty list");
    if (level.count != level.of_others.value_or(level.count)) {
      return wrong(fmt::format("{}, where {}", core::counted(level.count, level.item),
                               core::counted(*level.of_others, std::string(level.axis) + " is",
                                             std::string(level.axis) + "s are")));
    }
    level.of_others = level.count;
    return depth_ == 0 ? end_table() : core::Status();
  }

  core::Status end_table() {
    const auto world_sizes =
        ASSAY_TRY(axis<std::int64_t>(0, {places_.world_sizes,
                                         listed_.world_sizes,
                                         {kPublicWorldSizes.begin(), kPublicWorldSizes.end()}}));
    auto fusions = ASSAY_TRY(axis<Fusion>(
        1, {places_.fusions, listed_.fusions, {kPublicFusions.begin(), kPublicFusions.end()}}));
    auto hidden_sizes =
        ASSAY_TRY(axis<std::int64_t>(2, {listed_.hidden_sizes,
                                         places_.hidden_sizes,
                                         {kPublicHiddenSizes.begin(), kPublicHiddenSizes.end()}}));
    auto num_tokens =
        ASSAY_TRY(axis<std::int64_t>(3, {listed_.num_tokens, powers_of_two(levels_[3].count)}));
    LookupTable table{.sm_version = static_cast<int>(*sm_version_),
                      .fusions = std::move(fusions),
                      .hidden_sizes = std::move(hidden_sizes),
                      .num_tokens = std::move(num_tokens),
                      .cells = std::move(cells_)};
    for (const std::int64_t world_size : world_sizes)
      table.world_sizes.push_back(static_cast<int>(world_size));
    const auto is_same = [&](const LookupTable& one) { return one.sm_version == table.sm_version; };
    if (std::any_of(tables_.begin(), tables_.end(), is_same))
      return wrong(fmt::format("a second table of SM {}", table.sm_version));
    tables_.push_back(std::move(table));
    sm_version_.reset();
    return {};
  }

  // Returns what has as many items as the table: what comments say, or else, where none says
  // anything, the usual axis, which is the last of `found`.
  template <class T>
  core::Result<std::vector<T>> axis(std::size_t depth,
                                    std::initializer_list<std::vector<T>> found) const {
    const Level& level = levels_[depth];
    bool is_said = false;
    for (const std::vector<T>& one : found) {
      const bool is_usual = &one == found.end() - 1;
      if (one.size() == level.count && !(is_usual && is_said)) return one;
      is_said = is_said || !one.empty();
    }
    return core::Error{fmt::format("{}: the table of SM {} has {}, and no comment says which",
                                   name_, *sm_version_, core::counted(level.count, level.axis))};
  }

  // The README layout names no token counts.
  static std::vector<std::int64_t> powers_of_two(std::size_t count) {
    std::vector<std::int64_t> powers;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 31); ++i)
      powers.push_back(std::int64_t{1} << i);
    return powers;
  }

  std::vector<std::string_view> lines_;
  std::string_view name_;
  std::size_t line_ = 0;
  std::size_t line_of_row_ = 0;
  std::size_t depth_ = 0;  // of lists; 0: outside of a table
  std::optional<std::int64_t> sm_version_;
  Axes listed_;  // above the tables
  Axes places_;  // within the table
  std::array<Level, kRowDepth> levels_;
  std::vector<LookupCell> cells_;
  std::vector<LookupTable> tables_;
};

}  // namespace

core::Result<std::vector<LookupTable>> parse_lookup_tables(std::string_view text,
                                                           std::string_view name) {
  return Reader(text, name).read();
}

core::Result<LookupTable> read_lookup_table(const std::filesystem::path& path,
                                            std::optional<int> sm_version) {
  const std::string text = ASSAY_TRY(core::read_file(path));
  std::vector<LookupTable> tables = ASSAY_TRY(parse_lookup_tables(text, path.string()));
  std::vector<std::string> others;
  for (LookupTable& table : tables) {
    if (table.sm_version == sm_version || tables.size() == 1) return std::move(table);
    others.push_back(std::to_string(table.sm_version));
  }
  return core::Error{
      fmt::format("{} has tables of SM {}: {}", path.string(), core::join(others, ", "),
                  sm_version ? fmt::format("none of SM {}", *sm_version) : "nothing says which")};
}

}  // namespace assay::allreduce
