#include "plan/compat/measured.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace assay::plan::compat {
namespace {

constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

std::size_t exact_place(const store::WorkRows& rows, const std::string& column) {
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    if (rows.exact[i].name == column) return i;
  }
  return kNoColumn;
}

std::size_t size_place(const store::WorkRows& rows, const std::string& column) {
  const auto found = std::find(rows.sizes.begin(), rows.sizes.end(), column);
  return found == rows.sizes.end() ? kNoColumn
                                   : static_cast<std::size_t>(found - rows.sizes.begin());
}

// The number that is all of the text, whatever the locale.
std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

bool is_same(const std::string& held, const std::string& wanted) {
  if (held == wanted) return true;
  const std::optional<double> left = number_in(held);
  return left && left == number_in(wanted);
}

bool is_launched_alone(const store::WorkRows& rows, std::size_t family) {
  const auto codes = rows.codes_of(family);
  for (std::size_t i = 0; i < rows.exact.size(); ++i) {
    if (rows.exact[i].values[codes[i]].ends_with("_eager")) return true;
  }
  return false;
}

// A number of each row of a family: a size, or what the family has in common.
struct Number {
  std::size_t place = kNoColumn;
  double value = 0;

  [[nodiscard]] double of(std::span<const double> sizes) const {
    return place == kNoColumn ? value : sizes[place];
  }
};

// std::nullopt: the family has the column, and no number there.
std::optional<Number> number_in(const store::WorkRows& rows,
                                std::size_t family,
                                const std::string& column) {
  if (const std::size_t place = size_place(rows, column); place != kNoColumn)
    return Number{.place = place};
  const std::size_t place = exact_place(rows, column);
  if (place == kNoColumn) return Number{};
  const auto value = number_in(rows.exact[place].values[rows.codes_of(family)[place]]);
  return value ? std::optional(Number{.value = *value}) : std::nullopt;
}

// Empty where one of the columns has no number in this family.
std::vector<Number> numbers_in(const store::WorkRows& rows,
                               std::size_t family,
                               std::span<const std::string> columns) {
  std::vector<Number> numbers;
  for (const std::string& column : columns) {
    const std::optional<Number> number = number_in(rows, family, column);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// Returns what rows must have in columns of sizes, or std::nullopt if no row can have it.
std::optional<std::vector<std::pair<std::size_t, double>>> sizes_of_key(
    const store::WorkRows& rows, std::span<const KeyColumn> key) {
  std::vector<std::pair<std::size_t, double>> sizes;
  for (const KeyColumn& wanted : key) {
    const std::size_t place = size_place(rows, wanted.column);
    if (place == kNoColumn) continue;
    const std::optional<double> value = number_in(wanted.value);
    if (!value) return std::nullopt;
    sizes.emplace_back(place, *value);
  }
  return sizes;
}

bool family_has(const store::WorkRows& rows, std::size_t family, const KeyColumn& wanted) {
  if (size_place(rows, wanted.column) != kNoColumn) return true;  // each row tells
  const std::size_t place = exact_place(rows, wanted.column);
  if (place == kNoColumn) return is_same(wanted.absent, wanted.value);
  return is_same(rows.exact[place].values[rows.codes_of(family)[place]], wanted.value);
}

std::string text_of(std::int64_t number) {
  return fmt::format("{}", number);
}

std::string text_of(Quantization quantization) {
  return std::string(name_of(quantization));
}

}  // namespace

void visit_rows(const store::WorkRows& rows,
                std::span<const KeyColumn> key,
                std::span<const std::string> numbers,
                const std::function<void(std::span<const double> values, double ms)>& take) {
  const auto sizes_wanted = sizes_of_key(rows, key);
  if (!sizes_wanted) return;
  std::vector<double> values(numbers.size());
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    if (is_launched_alone(rows, family)) continue;
    if (!std::all_of(key.begin(), key.end(),
                     [&](const KeyColumn& wanted) { return family_has(rows, family, wanted); }))
      continue;
    const std::vector<Number> columns = numbers_in(rows, family, numbers);
    if (columns.size() != numbers.size()) continue;
    for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
      const auto sizes = rows.sizes_of(row);
      if (!std::all_of(sizes_wanted->begin(), sizes_wanted->end(),
                       [&](const auto& wanted) { return sizes[wanted.first] == wanted.second; }))
        continue;
      for (std::size_t i = 0; i < columns.size(); ++i)
        values[i] = columns[i].of(sizes);
      take(values, rows.latencies[row]);
    }
  }
}

Measured::Measured(const SystemFacts& facts, Load load)
    : facts_(std::make_shared<const SystemFacts>(facts)), load_(std::move(load)) {}

core::Result<std::span<const store::WorkRows>> Measured::rows(const std::string& table) {
  auto known = rows_.find(table);
  if (known == rows_.end()) known = rows_.emplace(table, ASSAY_TRY(load_(table))).first;
  return std::span<const store::WorkRows>(known->second);
}

core::Result<Measured::GridOrNull> Measured::grid(const Wanted& wanted) {
  std::string name = wanted.table;
  for (const KeyColumn& column : wanted.key)
    name += fmt::format(" {}={}", column.column, column.value);
  if (const auto known = grids_.find(name); known != grids_.end()) return known->second;
  auto made = std::make_shared<Grid>(wanted.axes, wanted.sqrt_axis);
  bool is_any = false;
  for (const store::WorkRows& table : ASSAY_TRY(rows(wanted.table))) {
    visit_rows(table, wanted.key, wanted.numbers, [&](Values values, double ms) {
      const auto place = wanted.place(values);
      if (!place) return;
      made->add(*place, wanted.least_ms ? std::max(ms, wanted.least_ms(*place)) : ms);
      is_any = true;
    });
  }
  made->finish();
  return grids_.emplace(name, is_any ? std::move(made) : nullptr).first->second;
}

core::Result<std::shared_ptr<const ProductSites>> Measured::products(Quantization weights) {
  const std::string name = text_of(weights);
  if (const auto known = products_.find(name); known != products_.end()) return known->second;
  auto made = std::make_shared<ProductSites>();
  const std::vector<KeyColumn> key = {{.column = "gemm_dtype", .value = name}};
  const std::vector<std::string> numbers = {"m", "n", "k"};
  for (const store::WorkRows& table : ASSAY_TRY(rows("gemm_perf"))) {
    visit_rows(table, key, numbers, [&](Values values, double ms) {
      made->add({values[0], values[1], values[2]}, ms);
    });
  }
  made->finish([&](const Place& place) {
    return product_least_ms(*facts_, weights, place[0], place[1], place[2]);
  });
  if (made->empty()) made = nullptr;
  return products_.emplace(name, std::move(made)).first->second;
}

namespace {

// Rows in which each head has keys and values of its own are one kind, whatever their number.
bool is_of_group(const HeadGroup& group, double heads, double kv_heads) {
  const double kind = heads == kv_heads ? 0 : kv_heads;
  return kind == static_cast<double>(group.kv_heads);
}

}  // namespace

core::Result<Measured::GridOrNull> Measured::prompt_attention(const HeadGroup& group) {
  const auto place = [=](Values values) -> std::optional<Place> {
    if (!is_of_group(group, values[0], values[1])) return std::nullopt;
    return Place{values[0], values[2], values[3]};
  };
  return grid({.table = "context_attention_perf",
               .key = {{"attn_dtype", text_of(group.products)},
                       {"kv_cache_dtype", text_of(group.cache)},
                       {"head_dim", text_of(group.head_dim)},
                       {"window_size", text_of(group.window), "0"},
                       {"(key-value heads)", text_of(group.kv_heads), text_of(group.kv_heads)}},
               .numbers = {"num_heads", "num_key_value_heads", "isl", "batch_size"},
               .place = place,
               .axes = 3,
               .sqrt_axis = 1});
}

core::Result<Measured::GridOrNull> Measured::decode_attention(const HeadGroup& group) {
  const auto place = [=](Values values) -> std::optional<Place> {
    if (!is_of_group(group, values[0], values[1])) return std::nullopt;
    return Place{values[0], values[2], values[3] + values[4]};
  };
  const auto least = [this, group](const Place& at) {
    return decode_attention_least_ms(*facts_, group, at[0], at[1], at[2]);
  };
  return grid({.table = "generation_attention_perf",
               .key = {{"kv_cache_dtype", text_of(group.cache)},
                       {"head_dim", text_of(group.head_dim)},
                       {"window_size", text_of(group.window), "0"},
                       {"(key-value heads)", text_of(group.kv_heads), text_of(group.kv_heads)}},
               .numbers = {"num_heads", "num_key_value_heads", "batch_size", "isl", "step"},
               .place = place,
               .axes = 3,
               .least_ms = least});
}

core::Result<Measured::GridOrNull> Measured::latent_prompt(const serving::Precision& precision,
                                                           bool is_module) {
  std::vector<KeyColumn> key = {{"mla_dtype", text_of(precision.attention)},
                                {"kv_cache_dtype", text_of(precision.cache)}};
  if (is_module) key.push_back({"gemm_type", text_of(precision.linear)});
  return grid({.table = is_module ? "mla_context_module_perf" : "context_mla_perf",
               .key = std::move(key),
               .numbers = {"num_heads", "isl", "batch_size"},
               .place = [](Values values) -> std::optional<Place> {
                 return Place{values[0], values[1], values[2]};
               },
               .axes = 3,
               .sqrt_axis = 1});
}

core::Result<Measured::GridOrNull> Measured::latent_decode(const serving::Precision& precision,
                                                           bool is_module) {
  std::vector<KeyColumn> key = {{"kv_cache_dtype", text_of(precision.cache)}};
  if (is_module) key.push_back({"gemm_type", text_of(precision.linear)});
  return grid({.table = is_module ? "mla_generation_module_perf" : "generation_mla_perf",
               .key = std::move(key),
               .numbers = {"num_heads", "batch_size", "isl", "step"},
               .place = [](Values values) -> std::optional<Place> {
                 return Place{values[0], values[1], values[2] + values[3]};
               },
               .axes = 3});
}

core::Result<Measured::GridOrNull> Measured::absorbing(Quantization quantization,
                                                       std::int64_t heads,
                                                       bool is_first) {
  return grid({.table = "mla_bmm_perf",
               .key = {{"op_name", is_first ? "mla_gen_pre" : "mla_gen_post"},
                       {"bmm_dtype", text_of(quantization)},
                       {"num_heads", text_of(heads)}},
               .numbers = {"num_tokens"},
               .place = [](Values values) -> std::optional<Place> { return Place{values[0]}; }});
}

core::Result<Measured::GridOrNull> Measured::experts(Quantization quantization,
                                                     const ExpertShape& shape,
                                                     const std::string& distribution) {
  return grid({.table = "moe_perf",
               .key = {{"moe_dtype", text_of(quantization)},
                       {"distribution", distribution},
                       {"topk", text_of(shape.top_k)},
                       {"num_experts", text_of(shape.count)},
                       {"hidden_size", text_of(shape.hidden)},
                       {"inter_size", text_of(shape.intermediate)},
                       {"moe_tp_size", text_of(shape.moe_tp)},
                       {"moe_ep_size", text_of(shape.moe_ep)}},
               .numbers = {"num_tokens"},
               .place = [](Values values) -> std::optional<Place> { return Place{values[0]}; }});
}

core::Result<bool> Measured::has_distribution(Quantization quantization,
                                              const std::string& distribution) {
  const auto any = ASSAY_TRY(
      grid({.table = "moe_perf",
            .key = {{"moe_dtype", text_of(quantization)}, {"distribution", distribution}},
            .numbers = {"num_tokens"},
            .place = [](Values values) -> std::optional<Place> { return Place{values[0]}; }}));
  return any != nullptr;
}

core::Result<Measured::GridOrNull> Measured::all_reduce(std::int64_t gpus) {
  return grid({.table = "custom_allreduce_perf",
               .key = {{"num_gpus", text_of(gpus)}},
               .numbers = {"message_size"},
               .place = [](Values values) -> std::optional<Place> { return Place{values[0]}; }});
}

core::Result<Measured::GridOrNull> Measured::collective(const std::string& operation,
                                                        std::int64_t gpus) {
  return grid({.table = "nccl_perf",
               .key = {{"op_name", operation}, {"nccl_dtype", "half"}, {"num_gpus", text_of(gpus)}},
               .numbers = {"message_size"},
               .place = [](Values values) -> std::optional<Place> { return Place{values[0]}; }});
}

core::Result<std::int64_t> Measured::most_gpus(const std::string& operation) {
  double most = 0;
  const std::vector<KeyColumn> key = {{"op_name", operation}, {"nccl_dtype", "half"}};
  const std::vector<std::string> numbers = {"num_gpus"};
  for (const store::WorkRows& table : ASSAY_TRY(rows("nccl_perf"))) {
    visit_rows(table, key, numbers,
               [&](Values values, double /*ms*/) { most = std::max(most, values[0]); });
  }
  return static_cast<std::int64_t>(most);
}

core::Result<Measured::GridOrNull> Measured::scaling(const std::string& table) {
  return grid({.table = table,
               .key = {{"quant_dtype", "fp8"}},
               .numbers = {"m", "k"},
               .place = [](Values values) -> std::optional<Place> {
                 return Place{values[0], values[1]};
               },
               .axes = 2});
}

}  // namespace assay::plan::compat
