#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "allreduce/codegen/lookup_table.h"
#include "core/counted.h"
#include "core/files.h"

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

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : lines_(split(text, '\n')), name_(name) {}

  core::Result<LookupTable> read() {
    for (line_ = 1; line_ <= lines_.size(); ++line_) {
      const std::string_view line = lines_[line_ - 1];
      if (const auto status = read_axes(line); !status.ok()) return status.error();
      if (const auto status = read_code(line.substr(0, line.find("//"))); !status.ok()) {
        return status.error();
      }
    }
    return finished();
  }

 private:
  [[nodiscard]] core::Error wrong(std::string_view what) const {
    return core::Error{fmt::format("{}:{}: {}", name_, line_, what)};
  }

  core::Status read_axes(std::string_view line) {
    const std::size_t comment = line.find("//");
    if (comment == std::string_view::npos) return {};
    line.remove_prefix(comment);
    ASSAY_TRY(read_numbers(line, "TP:[", world_sizes_));
    ASSAY_TRY(read_numbers(line, "Hidden:[", hidden_sizes_));
    ASSAY_TRY(read_numbers(line, "Tokens:[", tokens_));
    read_hidden_size(line);
    return read_fusions(line);
  }

  // The README layout names the hidden size after each row, so the same sizes recur.
  void read_hidden_size(std::string_view line) {
    constexpr std::string_view kKey = "hidden_size=";
    const std::size_t at = line.find(kKey);
    if (at == std::string_view::npos) return;
    line.remove_prefix(at + kKey.size());
    const auto size = whole_number(line.substr(0, line.find_first_not_of("0123456789")));
    if (!size || *size <= (hidden_sizes_.empty() ? 0 : hidden_sizes_.back())) return;
    hidden_sizes_.push_back(*size);
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
    fusions_.clear();
    for (const std::string_view part : *parts) {
      const auto fusion = fusion_named(trimmed(part));
      if (!fusion) return wrong(fmt::format("no fusion is called '{}'", trimmed(part)));
      fusions_.push_back(*fusion);
    }
    return {};
  }

  core::Status read_code(std::string_view code) {
    if (const std::size_t at = code.find(kTableName); at != std::string_view::npos) {
      if (sm_version_) return wrong("a second table: one file holds one");
      std::string_view number = code.substr(at + kTableName.size());
      number = number.substr(0, number.find_first_not_of("0123456789"));
      sm_version_ = whole_number(number);
      if (!sm_version_) return wrong(fmt::format("no SM version after '{}'", kTableName));
      return {};
    }
    return sm_version_ ? read_row(code) : core::Status();
  }

  // Outside of comments, only rows have numbers.
  core::Status read_row(std::string_view code) {
    const std::size_t from = code.find_first_of("0123456789");
    if (from == std::string_view::npos) return {};
    const std::size_t end = code.find('}', from);
    if (end == std::string_view::npos) return wrong("a row of numbers without its '}'");
    std::size_t width = 0;
    for (const std::string_view part : split(code.substr(from, end - from), ',')) {
      const auto number = whole_number(part);
      const auto strategy = number ? strategy_numbered(*number) : std::nullopt;
      if (!strategy) return wrong(fmt::format("no strategy has the number '{}'", trimmed(part)));
      cells_.push_back({.strategy = *strategy, .is_measured = true});
      ++width;
    }
    if (tokens_.empty()) use_powers_of_two(width);
    if (width != tokens_.size()) {
      return wrong(
          fmt::format("{}, where {}", core::counted(width, "number"),
                      core::counted(tokens_.size(), "token count is", "token counts are")));
    }
    return {};
  }

  // The README layout names no token counts.
  void use_powers_of_two(std::size_t count) {
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 31); ++i)
      tokens_.push_back(std::int64_t{1} << i);
  }

  core::Result<LookupTable> finished() {
    line_ = lines_.size();
    if (!sm_version_) {
      return core::Error{
          fmt::format("{}: no table: nothing is called '{}<version>'", name_, kTableName)};
    }
    if (world_sizes_.empty() || fusions_.empty()) {
      return core::Error{
          fmt::format("{}: no comment '// TP:[...]' with 'Fusion:[...]' says what "
                      "the table's axes are",
                      name_)};
    }
    if (hidden_sizes_.empty())
      hidden_sizes_.assign(kPublicHiddenSizes.begin(), kPublicHiddenSizes.end());
    const std::size_t rows = world_sizes_.size() * fusions_.size() * hidden_sizes_.size();
    if (cells_.size() != rows * tokens_.size() || cells_.empty()) {
      return core::Error{
          fmt::format("{}: {} rows, where {} TP sizes, {} fusions and {} hidden sizes "
                      "make {}",
                      name_, tokens_.empty() ? 0 : cells_.size() / tokens_.size(),
                      world_sizes_.size(), fusions_.size(), hidden_sizes_.size(), rows)};
    }
    LookupTable table{.sm_version = static_cast<int>(*sm_version_),
                      .world_sizes = {},
                      .fusions = std::move(fusions_),
                      .hidden_sizes = std::move(hidden_sizes_),
                      .num_tokens = std::move(tokens_),
                      .cells = std::move(cells_)};
    for (const std::int64_t world_size : world_sizes_)
      table.world_sizes.push_back(static_cast<int>(world_size));
    return table;
  }

  std::vector<std::string_view> lines_;
  std::string_view name_;
  std::size_t line_ = 0;
  std::optional<std::int64_t> sm_version_;
  std::vector<std::int64_t> world_sizes_;
  std::vector<Fusion> fusions_;
  std::vector<std::int64_t> hidden_sizes_;
  std::vector<std::int64_t> tokens_;
  std::vector<LookupCell> cells_;
};

}  // namespace

core::Result<LookupTable> parse_lookup_table(std::string_view text, std::string_view name) {
  return Reader(text, name).read();
}

core::Result<LookupTable> read_lookup_table(const std::filesystem::path& path) {
  const std::string text = ASSAY_TRY(core::read_file(path));
  return parse_lookup_table(text, path.string());
}

}  // namespace assay::allreduce
