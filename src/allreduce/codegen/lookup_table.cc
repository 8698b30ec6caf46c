#include "allreduce/codegen/lookup_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "core/text.h"

namespace assay::allreduce {
namespace {

template <class Axis, class Name>
std::string joined(const Axis& axis, const Name& name, std::string_view separator) {
  std::vector<std::string> parts;
  parts.reserve(axis.size());
  for (const auto& value : axis)
    parts.push_back(name(value));
  return core::join(parts, separator);
}

template <class Axis>
std::string list(const Axis& axis) {
  return joined(
      axis, [](auto value) { return std::to_string(value); }, ", ");
}

std::string fusion_list(const std::vector<Fusion>& fusions) {
  return joined(
      fusions, [](Fusion fusion) { return fmt::format("'{}'", name_of(fusion)); }, ", ");
}

std::string header(const LookupTable& table, LookupLayout layout) {
  std::string text = "// AllReduce lookup: [tp][fusion][hidden][tokens] = strategy\n";
  const std::string world_sizes = list(table.world_sizes);
  const std::string fusions = fusion_list(table.fusions);
  if (layout == LookupLayout::kReadme) {
    text += fmt::format("// TP:[{}] Fusion:[{}]\n", world_sizes, fusions);
  } else {
    text += fmt::format("// TP:[{}]\n// Fusion:[{}]\n// Hidden:[{}]\n// Tokens:[{}]\n", world_sizes,
                        fusions, list(table.hidden_sizes), list(table.num_tokens));
  }
  return text +
         fmt::format("inline AllReduceBestStrategyTableType AllReduceBestStrategyTableSM{} = {{\n",
                     table.sm_version);
}

int number_of(Strategy strategy) {
  return static_cast<int>(strategy);
}

bool none_measured(std::span<const LookupCell> cells) {
  return std::none_of(cells.begin(), cells.end(),
                      [](const LookupCell& cell) { return cell.is_measured; });
}

class Writer {
 public:
  Writer(const LookupTable& table, LookupLayout layout) : table_(table), layout_(layout) {}

  std::string text() {
    text_ = header(table_, layout_);
    for (std::size_t i = 0; i < table_.world_sizes.size(); ++i)
      write_world_size(i);
    return text_ + "};\n";
  }

 private:
  void write_world_size(std::size_t world_size) {
    const std::size_t count =
        table_.fusions.size() * table_.hidden_sizes.size() * table_.num_tokens.size();
    const bool is_missing =
        none_measured(std::span(table_.cells).subspan(world_size * count, count));
    text_ += fmt::format("    {{\n        // TP={}\n", table_.world_sizes[world_size]);
    if (is_missing) text_ += "        " + missing_comment();
    for (std::size_t i = 0; i < table_.fusions.size(); ++i)
      write_fusion(world_size, i, is_missing);
    text_ += "    }" + end(world_size, table_.world_sizes.size());
  }

  void write_fusion(std::size_t world_size, std::size_t fusion, bool all_missing) {
    const std::size_t count = table_.hidden_sizes.size() * table_.num_tokens.size();
    const std::size_t from = (world_size * table_.fusions.size() + fusion) * count;
    const bool is_missing = none_measured(std::span(table_.cells).subspan(from, count));
    text_ += fmt::format("        {{ // Fusion={}\n", name_of(table_.fusions[fusion]));
    if (is_missing && !all_missing) text_ += "            " + missing_comment();
    for (std::size_t i = 0; i < table_.hidden_sizes.size(); ++i) {
      write_row(std::span(table_.cells)
                    .subspan(from + i * table_.num_tokens.size(), table_.num_tokens.size()),
                i, is_missing);
    }
    text_ += "        }" + end(fusion, table_.fusions.size());
  }

  void write_row(std::span<const LookupCell> cells, std::size_t hidden, bool is_missing) {
    text_ += fmt::format(
        "            {{{}}}{}",
        joined(
            cells, [](const LookupCell& cell) { return std::to_string(number_of(cell.strategy)); },
            ","),
        hidden + 1 < table_.hidden_sizes.size() ? "," : "");
    if (layout_ == LookupLayout::kReadme) {
      text_ += fmt::format(" // hidden_size={}", table_.hidden_sizes[hidden]);
      if (!is_missing) text_ += gap_comment(cells);
    }
    text_ += '\n';
  }

  // Names the cells that were not measured in a row that has data.
  [[nodiscard]] std::string gap_comment(std::span<const LookupCell> cells) const {
    std::vector<std::int64_t> missing;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].is_measured) missing.push_back(table_.num_tokens[i]);
    }
    if (missing.empty()) return "";
    if (missing.size() == cells.size()) return " (not measured)";
    return fmt::format(" (not measured: {} tokens)", list(missing));
  }

  [[nodiscard]] std::string missing_comment() const {
    if (!table_.base.empty()) {
      return fmt::format("// not measured: taken from {}\n", core::printable_line(table_.base));
    }
    return fmt::format("// not measured: filled with {} ({})\n", name_of(table_.fallback),
                       number_of(table_.fallback));
  }

  static std::string end(std::size_t place, std::size_t count) {
    return place + 1 < count ? ",\n" : "\n";
  }

  const LookupTable& table_;
  LookupLayout layout_;
  std::string text_;
};

// Returns the position of the last entry that is not above `value`. Returns std::nullopt below the
// first entry and from twice the last on, where a floored logarithm is outside the table.
template <class Value>
std::optional<std::size_t> floor_place(const std::vector<Value>& axis, std::int64_t value) {
  if (axis.empty() || value < axis.front() || value >= std::int64_t{2} * axis.back()) return {};
  const auto after = std::upper_bound(axis.begin(), axis.end(), value);
  return static_cast<std::size_t>(after - axis.begin()) - 1;
}

}  // namespace

const LookupCell& LookupTable::at(std::size_t world_size,
                                  std::size_t fusion,
                                  std::size_t hidden_size,
                                  std::size_t tokens) const {
  return cells[((world_size * fusions.size() + fusion) * hidden_sizes.size() + hidden_size) *
                   num_tokens.size() +
               tokens];
}

std::size_t LookupTable::measured_count() const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const LookupCell& cell) { return cell.is_measured; }));
}

Strategy LookupTable::lookup(int world_size,
                             Fusion fusion,
                             std::int64_t hidden_size,
                             std::int64_t tokens) const {
  const auto of_world_size = floor_place(world_sizes, world_size);
  const auto of_fusion = std::find(fusions.begin(), fusions.end(), fusion);
  const auto of_hidden_size = floor_place(hidden_sizes, hidden_size);
  const auto of_tokens = floor_place(num_tokens, tokens);
  if (!of_world_size || of_fusion == fusions.end() || !of_hidden_size || !of_tokens) {
    return Strategy::kNccl;
  }
  return at(*of_world_size, static_cast<std::size_t>(of_fusion - fusions.begin()), *of_hidden_size,
            *of_tokens)
      .strategy;
}

LookupTable empty_lookup_table(int sm_version, Strategy fallback) {
  LookupTable table{.sm_version = sm_version,
                    .fallback = fallback,
                    .world_sizes = {kPublicWorldSizes.begin(), kPublicWorldSizes.end()},
                    .fusions = {kPublicFusions.begin(), kPublicFusions.end()},
                    .hidden_sizes = {kPublicHiddenSizes.begin(), kPublicHiddenSizes.end()},
                    .num_tokens = {kPublicTokens.begin(), kPublicTokens.end()}};
  table.cells.assign(table.world_sizes.size() * table.fusions.size() * table.hidden_sizes.size() *
                         table.num_tokens.size(),
                     {.strategy = fallback, .is_measured = false});
  return table;
}

LookupTable lookup_table_of(const std::vector<DecidedSlice>& slices,
                            DataType data_type,
                            int sm_version,
                            Strategy fallback) {
  LookupTable table = empty_lookup_table(sm_version, fallback);
  auto filled = table.cells.begin();
  for (const int world_size : table.world_sizes) {
    for (const Fusion fusion : table.fusions) {
      for (const std::int64_t hidden_size : table.hidden_sizes) {
        for (const std::int64_t tokens : table.num_tokens) {
          const Choice* choice = find_choice(slices, {.world_size = world_size,
                                                      .data_type = data_type,
                                                      .fusion = fusion,
                                                      .hidden_size = hidden_size,
                                                      .num_tokens = tokens});
          if (choice) *filled = {choice->strategy, choice->why != Why::kNoData};
          ++filled;
        }
      }
    }
  }
  return table;
}

std::size_t fill_from(LookupTable& table, const LookupTable& base, const std::string& name) {
  const std::size_t count = table.hidden_sizes.size() * table.num_tokens.size();
  std::size_t filled = 0;
  auto cell = table.cells.begin();
  for (const int world_size : table.world_sizes) {
    for (const Fusion fusion : table.fusions) {
      const auto end = cell + static_cast<std::ptrdiff_t>(count);
      const bool is_missing = none_measured(std::span(&*cell, count));
      for (std::size_t i = 0; cell != end; ++i, ++cell) {
        if (!is_missing) continue;
        cell->strategy =
            base.lookup(world_size, fusion, table.hidden_sizes[i / table.num_tokens.size()],
                        table.num_tokens[i % table.num_tokens.size()]);
        ++filled;
      }
    }
  }
  if (filled > 0) table.base = name;
  return filled;
}

std::string lookup_table_cpp(const LookupTable& table, LookupLayout layout) {
  return Writer(table, layout).text();
}

}  // namespace assay::allreduce
