#include "goal/synth/operator_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/serving/attention_chunks.h"

namespace assay::goal {
namespace {

std::string sizes_text(const serving::OperatorUse& use, const LaunchAmounts& amounts) {
  std::string text;
  for (const serving::SizeField& field : use.sizes) {
    double amount = amounts.tokens;
    if (field.amount == serving::Amount::kRequests) amount = amounts.requests;
    if (field.amount == serving::Amount::kNewTokens) amount = amounts.new_tokens;
    if (field.amount == serving::Amount::kCachedTokens) amount = amounts.cached_tokens;
    if (field.amount == serving::Amount::kExpertTokens) amount = amounts.expert_tokens;
    text += fmt::format(" {}={:.0f}", field.column, amount * static_cast<double>(field.factor));
  }
  return text;
}

std::string derived_text(const LaunchTime& time) {
  if (time.sustained_flops > 0)
    return fmt::format("at the rate of long launches, {:.0f} TFLOP/s", time.sustained_flops / 1e12);
  if (time.is_formula) return "bytes over bandwidth";
  if (time.is_beyond && !time.has_key) return "between other keys, beyond measured sizes";
  if (time.is_beyond) return "beyond measured sizes";
  return time.has_key ? "" : "between other keys";
}

// Attention knows neither tokens of all requests nor experts: prompts tell all of it.
std::vector<LaunchAmounts> amounts_of_chunks(const LaunchAmounts& amounts, std::int64_t length) {
  std::vector<LaunchAmounts> all;
  for (const serving::Prompts& part :
       serving::cut_at_chunks({std::llround(amounts.requests), std::llround(amounts.new_tokens),
                               std::llround(amounts.cached_tokens)},
                              length)) {
    const auto requests = static_cast<double>(part.requests);
    const auto new_tokens = static_cast<double>(part.new_tokens);
    all.push_back({.tokens = requests * new_tokens,
                   .requests = requests,
                   .new_tokens = new_tokens,
                   .cached_tokens = static_cast<double>(part.cached_tokens)});
  }
  return all;
}

// The sum tells what any of its launches would.
void add_launch(const LaunchTime& one, LaunchTime& sum) {
  sum.ns += one.ns;
  sum.flops += one.flops;
  sum.source = one.source;
  sum.has_key = sum.has_key && one.has_key;
  sum.is_beyond = sum.is_beyond || one.is_beyond;
  sum.is_formula = sum.is_formula || one.is_formula;
  sum.sustained_flops = std::max(sum.sustained_flops, one.sustained_flops);
}

}  // namespace

core::Result<LaunchTime> OperatorLog::time(const std::string& what,
                                           const serving::OperatorUse& use,
                                           const LaunchAmounts& amounts) {
  if (use.chunk == 0) return launch(what, use, amounts);
  LaunchTime sum;
  for (const LaunchAmounts& part : amounts_of_chunks(amounts, use.chunk))
    add_launch(ASSAY_TRY(launch(what, use, part)), sum);
  return sum;
}

core::Result<LaunchTime> OperatorLog::launch(const std::string& what,
                                             const serving::OperatorUse& use,
                                             const LaunchAmounts& amounts) {
  const std::string key =
      fmt::format("{} {}{}", use.op_name, serving::key_text(use), sizes_text(use, amounts));
  auto known = known_.find(key);
  if (known == known_.end())
    known = known_.emplace(key, ASSAY_TRY(times_.time(use, amounts))).first;
  const LaunchTime& time = known->second;
  add({use.role, what, key, time.ns, time.source, derived_text(time)});
  return time;
}

void OperatorLog::note_multiple(const std::string& what,
                                const serving::OperatorUse& use,
                                const LaunchTime& of,
                                double factor) {
  add({use.role, what, fmt::format("{} {}", use.op_name, serving::key_text(use)), factor * of.ns,
       fmt::format("{:.3g} x forward", factor), derived_text(of)});
}

void OperatorLog::add(Row row) {
  const bool is_known = std::any_of(rows_.begin(), rows_.end(), [&](const Row& other) {
    return other.role == row.role && other.what == row.what && other.key == row.key;
  });
  if (!is_known) rows_.push_back(std::move(row));
}

model::Table OperatorLog::table() const {
  model::Table table{.name = "operators",
                     .title = "What computes, one launch each, and where its time comes from",
                     .columns = {{.name = "operator"},
                                 {.name = "part"},
                                 {.name = "time", .unit = "us"},
                                 {.name = "source"},
                                 {.name = "derived", .description = "empty: measured so"},
                                 {.name = "sizes"}}};
  for (const Row& row : rows_)
    table.add_row({row.role, row.what, row.ns / 1e3, row.source, row.derived, row.key});
  return table;
}

std::size_t OperatorLog::num_derived() const {
  return static_cast<std::size_t>(std::count_if(
      rows_.begin(), rows_.end(), [](const Row& row) { return !row.derived.empty(); }));
}

}  // namespace assay::goal
