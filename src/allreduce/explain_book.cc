#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "allreduce/explain.h"
#include "allreduce/tuning_summary.h"

namespace assay::allreduce {
namespace {

constexpr double kPercent = 100;
constexpr double kBytesPerUsOfGbps = 1e3;

// Rounded to a picosecond, so that the last bits of an interpolation do not show.
model::Cell time_cell(double time_us) {
  constexpr double kSteps = 1e6;
  return model::cell_of(std::round(time_us * kSteps) / kSteps);
}

const ExplainedTime* time_of(const Explanation& explanation, Strategy strategy) {
  const auto found =
      std::find_if(explanation.times.begin(), explanation.times.end(),
                   [&](const ExplainedTime& time) { return time.timing.strategy == strategy; });
  return found == explanation.times.end() ? nullptr : &*found;
}

bool is_at_measured_size(const Explanation& explanation) {
  return explanation.at && explanation.at->cell.size_bytes() == explanation.size_bytes;
}

std::string why_text(const Explanation& explanation) {
  if (!explanation.slice || !explanation.at) {
    return "Why: nothing was measured with this fusion, so it is the fallback.";
  }
  const Choice& at = *explanation.at;
  if (is_at_measured_size(explanation)) {
    return fmt::format("Why: {}.", meaning_of(at.why));
  }
  const std::string nearest = fmt::format("{} ({} tokens of {})", bytes_text(at.cell.size_bytes()),
                                          at.cell.num_tokens, at.cell.hidden_size);
  if (at.strategy != explanation.strategy) {
    return fmt::format(
        "Why: not measured at this size; between the measured ones the table changes to it at {} "
        "bytes, where the times cross. The nearest, {}, takes {}.",
        explanation.from_bytes > at.cell.size_bytes() ? explanation.from_bytes
                                                      : explanation.to_bytes.value_or(0),
        nearest, name_of(at.strategy));
  }
  return fmt::format("Why, at the nearest measured size, {}: {}.", nearest, meaning_of(at.why));
}

std::string_view why_word(const Explanation& explanation) {
  const Choice& at = *explanation.at;
  return at.strategy == explanation.strategy ? name_of(at.why) : "between measured sizes";
}

// What the table had to take instead of what was asked; "" when nothing.
std::string stand_in_text(const Explanation& explanation) {
  if (!explanation.slice) return "";
  const TableSlice& slice = *explanation.slice;
  const Cell& asked = explanation.asked;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (slice.world_size != asked.world_size) {
    add(fmt::format("TP {} for {}", slice.world_size, asked.world_size));
  }
  if (slice.data_type != asked.data_type) {
    add(fmt::format("{} for {}", name_of(slice.data_type), name_of(asked.data_type)));
  }
  if (explanation.row_hidden_size != asked.hidden_size) {
    add(fmt::format("hidden size {} for {}", explanation.row_hidden_size, asked.hidden_size));
  }
  return text;
}

model::Table choice_table(const TunedTables& tables, const Explanation& explanation) {
  const Cell& asked = explanation.asked;
  model::Table table{
      .name = "choice",
      .title = fmt::format("TP {}, {} tokens of {} {} elements, {}, {} launches", asked.world_size,
                           asked.num_tokens, asked.hidden_size, name_of(asked.data_type),
                           name_of(asked.fusion), name_of(tables.options.launch)),
      .columns = {{.name = "what"}, {.name = "value"}, {.name = "unit"}},
      .notes = {why_text(explanation)}};
  const auto add = [&](const char* what, model::Cell value, const char* unit) {
    table.add_row({std::string(what), std::move(value), std::string(unit)});
  };
  add("strategy", std::string(name_of(explanation.strategy)), "");
  if (explanation.at) add("why", std::string(why_word(explanation)), "");
  if (const std::string text = stand_in_text(explanation); !text.empty()) {
    add("nearest data", text, "");
  }
  if (const ExplainedTime* time = time_of(explanation, explanation.strategy)) {
    add("predicted time", time_cell(time->timing.time_us), "us");
    add("95 % interval from", time_cell(time->timing.low_us), "us");
    add("95 % interval to", time_cell(time->timing.high_us), "us");
  }
  add("message", explanation.size_bytes, "bytes");
  add("chosen from", explanation.from_bytes, "bytes");
  add("chosen to below",
      explanation.to_bytes ? model::Cell(*explanation.to_bytes) : model::Cell("any size"),
      explanation.to_bytes ? "bytes" : "");
  add("tie", tables.options.tie * kPercent, "%");
  return table;
}

std::string from_text(const ExplainedTime& time) {
  switch (time.how) {
    case TimedHow::kMeasured:
      return "measured";
    case TimedHow::kInterpolated:
      return fmt::format("between {} and {} tokens", time.smaller->num_tokens,
                         time.larger->num_tokens);
    case TimedHow::kNearest:
      break;
  }
  return fmt::format("nearest measured: {} tokens", time.smaller->num_tokens);
}

std::string remark_text(const TunedTables& tables,
                        const Explanation& explanation,
                        Strategy strategy) {
  if (strategy == explanation.strategy) return "chosen";
  if (strategy == Strategy::kAuto) return "never chosen";
  const auto& allowed = tables.strategies;
  const bool may = std::find(allowed.begin(), allowed.end(), strategy) != allowed.end();
  return may ? "" : "may not be chosen";
}

model::Table strategies_table(const TunedTables& tables, const Explanation& explanation) {
  model::Table table{.name = "strategies",
                     .title = "Every strategy that was timed in this row, at this size",
                     .columns = {{.name = "strategy"},
                                 {.name = "time", .unit = "us", .better = model::Better::kLower},
                                 {.name = "low", .unit = "us", .description = "95 % interval"},
                                 {.name = "high", .unit = "us"},
                                 {.name = "over fastest", .unit = "%"},
                                 {.name = "from"},
                                 {.name = "runs"},
                                 {.name = "remark"}}};
  for (const ExplainedTime& time : explanation.times) {
    const Timing& timing = time.timing;
    const double over = timing.time_us / explanation.times.front().timing.time_us - 1;
    table.add_row({std::string(name_of(timing.strategy)), time_cell(timing.time_us),
                   time_cell(timing.low_us), time_cell(timing.high_us), time_cell(over * kPercent),
                   from_text(time), timing.runs,
                   remark_text(tables, explanation, timing.strategy)});
  }
  return table;
}

model::Table bounds_table(const Explanation& explanation) {
  model::Table table{
      .name = "bounds",
      .title = "The least that NVLink 4 needs for what must leave every GPU",
      .columns = {{.name = "way"},
                  {.name = "bytes out of a GPU"},
                  {.name = fmt::format("at {:g} GB/s", kLinkBytesPerUs / kBytesPerUsOfGbps),
                   .unit = "us"},
                  {.name = fmt::format("at {:g} GB/s", kUsableBytesPerUs / kBytesPerUsOfGbps),
                   .unit = "us"}},
      .notes = {"450 GB/s is a direction of one GPU's links, about 370 of it usable "
                "for data."}};
  const auto add = [&](const char* way, double (*bound)(int, std::int64_t, double)) {
    const int world_size = explanation.asked.world_size;
    const std::int64_t bytes = explanation.size_bytes;
    table.add_row({std::string(way), std::llround(bound(world_size, bytes, 1)),
                   time_cell(bound(world_size, bytes, kLinkBytesPerUs)),
                   time_cell(bound(world_size, bytes, kUsableBytesPerUs))});
  };
  add("one-shot", oneshot_bound_us);
  add("two-shot", twoshot_bound_us);
  return table;
}

}  // namespace

model::Book explanation_book(const TunedTables& tables, const Explanation& explanation) {
  model::Book book{.title = "Why this all-reduce strategy",
                   .tables = {choice_table(tables, explanation)}};
  if (!explanation.times.empty()) {
    book.tables.push_back(strategies_table(tables, explanation));
  }
  book.tables.push_back(bounds_table(explanation));
  return book;
}

}  // namespace assay::allreduce
