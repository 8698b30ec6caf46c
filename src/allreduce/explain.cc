#include "allreduce/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "allreduce/time_curves.h"
#include "allreduce/tuning.h"
#include "core/counted.h"

namespace assay::allreduce {
namespace {

std::optional<Choice> nearest_choice(const std::vector<DecidedSlice>& slices,
                                     const Cell& row,
                                     std::int64_t bytes) {
  std::optional<Choice> nearest;
  double least = 0;
  for (const DecidedSlice& slice : slices) {
    for (const DecidedRow& decided : slice.rows) {
      for (const Choice& choice : decided.choices) {
        Cell same = choice.cell;
        same.num_tokens = row.num_tokens;
        if (same != row || choice.why == Why::kNoData) continue;
        const double distance = std::abs(
            std::log(static_cast<double>(choice.cell.size_bytes()) / static_cast<double>(bytes)));
        if (nearest && distance >= least) continue;
        nearest = choice;
        least = distance;
      }
    }
  }
  return nearest;
}

void add_borders(Explanation& explanation, const TableMatch& match) {
  explanation.from_bytes = match.segment->from_bytes;
  for (const TableSegment& segment : match.row->segments) {
    if (segment.from_bytes <= match.size_bytes) continue;
    explanation.to_bytes = segment.from_bytes;
    return;
  }
}

// The row that a match took, of the match's own number of GPUs.
Cell row_of_match(const TableMatch& match) {
  return {.world_size = match.slice->world_size,
          .data_type = match.slice->data_type,
          .fusion = match.slice->fusion,
          .hidden_size = match.row->hidden_size,
          .num_tokens = 0};
}

bool is_extrapolated(const ExplainedTime& time) {
  return time.how == TimedHow::kExtrapolated || time.how == TimedHow::kBeyond;
}

bool is_of_the_message(const ExplainedTime& time) {
  return time.how == TimedHow::kMeasured && !time.other_type && !time.other_hidden;
}

// An extrapolated time is never below what the links need. Only samples of this very message have
// an interval: on 240 held-out shapes those of its neighbours held the time of 67.
void keep_what_is_known(ExplainedTime& time) {
  if (is_extrapolated(time)) time.timing.time_us = std::max(time.timing.time_us, time.limit_us);
  if (is_of_the_message(time) && time.timing.confidence > 0) return;
  time.timing.low_us = time.timing.high_us = kUnknown;
}

}  // namespace

ExplainedTime MessageTimes::on_line(const Point& smaller, const Point& larger, std::int64_t bytes) {
  const double part = part_of_bytes(bytes, smaller.cell.size_bytes(), larger.cell.size_bytes());
  return {.timing = interpolated(smaller.timing, larger.timing, part),
          .how = TimedHow::kInterpolated,
          .smaller = smaller.cell,
          .larger = larger.cell};
}

ExplainedTime MessageTimes::failed(const Point& point) {
  ExplainedTime time = nearest(point);
  time.how = TimedHow::kFailed;
  time.failure = point.failure;
  return time;
}

ExplainedTime MessageTimes::at(const Points& points, std::int64_t bytes) {
  const auto larger = std::find_if(points.begin(), points.end(), [&](const Point& point) {
    return point.cell.size_bytes() >= bytes;
  });
  if (larger != points.end() && larger->failure) return failed(*larger);
  if (larger != points.end() && larger->cell.size_bytes() == bytes) {
    return {.timing = larger->timing,
            .how = TimedHow::kMeasured,
            .smaller = larger->cell,
            .larger = larger->cell};
  }
  if (larger != points.begin() && (larger - 1)->failure) return failed(*(larger - 1));
  if (larger != points.end() && larger != points.begin()) {
    return on_line(*(larger - 1), *larger, bytes);
  }
  return larger == points.end() ? beyond(points, bytes) : nearest(points.front());
}

ExplainedTime MessageTimes::nearest(const Point& point) {
  return {.timing = point.timing,
          .how = TimedHow::kNearest,
          .smaller = point.cell,
          .larger = point.cell};
}

ExplainedTime MessageTimes::beyond(const Points& points, std::int64_t bytes) {
  constexpr std::size_t kOfLine = 2;
  Curve curve;
  for (const Point& point : points) {
    if (point.failure) continue;
    curve.push_back(
        {.bytes = static_cast<double>(point.cell.size_bytes()), .timing = point.timing});
  }
  if (curve.size() > kOfLine) curve.erase(curve.begin(), curve.end() - kOfLine);
  return {.timing = time_beyond(curve, static_cast<double>(bytes)),
          .how = TimedHow::kBeyond,
          .smaller = points.back().cell,
          .larger = points.back().cell};
}

const std::map<Strategy, MessageTimes::Points>& MessageTimes::row_of(const Timings& timings,
                                                                     const Failures& failures,
                                                                     Cell row) {
  row.num_tokens = 0;
  const auto [known, is_new] = rows_.try_emplace(row);
  if (!is_new) return known->second;
  const auto is_in_row = [&](Cell cell) {
    cell.num_tokens = row.num_tokens;
    return cell == row;
  };
  std::map<Strategy, Points>& points = known->second;
  for (auto at = timings.lower_bound(row); at != timings.end() && is_in_row(at->first); ++at) {
    for (const Timing& timing : at->second)
      points[timing.strategy].push_back({at->first, timing});
  }
  for (auto at = failures.lower_bound(row); at != failures.end() && is_in_row(at->first); ++at) {
    for (const auto& [strategy, failure] : at->second) {
      points[strategy].push_back(
          {at->first, {.strategy = strategy, .time_us = kUnknown}, &failure});
    }
  }
  for (auto& [strategy, of_strategy] : points) {
    std::sort(of_strategy.begin(), of_strategy.end(),
              [](const Point& a, const Point& b) { return a.cell < b.cell; });
  }
  return points;
}

const Timings& MessageTimes::extrapolated(int world_size) {
  const auto [known, is_new] = extrapolated_.try_emplace(world_size);
  if (is_new) {
    known->second = extrapolated_timings(tables_->timings, {world_size}, tables_->table.sm_version);
  }
  return known->second;
}

std::vector<ExplainedTime> MessageTimes::of(const TableMatch& match, const Cell& asked) {
  if (match.segment == nullptr) return {};
  Cell row = row_of_match(match);
  if (match.is_extrapolated) row.world_size = asked.world_size;
  const Timings& timings =
      match.is_extrapolated ? extrapolated(asked.world_size) : tables_->timings;
  std::vector<ExplainedTime> times;
  const Failures& failures =
      match.is_extrapolated ? tables_->estimated_failures : tables_->failures;
  for (const auto& [strategy, points] : row_of(timings, failures, row)) {
    ExplainedTime time = at(points, match.size_bytes);
    time.limit_us =
        link_limit_us(strategy, asked.world_size, match.size_bytes, tables_->table.sm_version);
    if (match.is_of_other_type) time.other_type = match.slice->data_type;
    if (match.row->hidden_size != asked.hidden_size) time.other_hidden = match.row->hidden_size;
    if (match.is_extrapolated && !time.failure) time.how = TimedHow::kExtrapolated;
    keep_what_is_known(time);
    times.push_back(time);
  }
  const auto order = [](const ExplainedTime& time) {
    return time.failure ? std::numeric_limits<double>::infinity() : time.timing.time_us;
  };
  std::sort(times.begin(), times.end(),
            [&](const ExplainedTime& a, const ExplainedTime& b) { return order(a) < order(b); });
  return times;
}

Explanation explain(const TunedTables& tables, const Cell& asked) {
  const TableMatch match = tables.table.find(asked.world_size, asked.fusion, asked.data_type,
                                             asked.hidden_size, asked.num_tokens);
  Explanation explanation{
      .asked = asked, .size_bytes = match.size_bytes, .strategy = match.strategy};
  if (!match.slice || !match.row || !match.segment) return explanation;
  explanation.slice = *match.slice;
  explanation.row_hidden_size = match.row->hidden_size;
  add_borders(explanation, match);
  Cell row = row_of_match(match);
  row.num_tokens = asked.num_tokens;
  if (match.is_extrapolated) {
    explanation.extrapolated_from = nearest_world_size(
        measured_world_sizes(tables.timings, row.data_type, row.fusion), asked.world_size);
  }
  explanation.at = nearest_choice(match.is_extrapolated ? tables.estimated_choices : tables.choices,
                                  row, explanation.size_bytes);
  explanation.times = MessageTimes(tables).of(match, asked);
  return explanation;
}

model::Cell limit_cell(double limit_us) {
  return limit_us > 0 ? time_cell(limit_us) : model::Cell();
}

model::Cell time_cell(double time_us) {
  constexpr double kSteps = 1e6;
  return model::cell_of(std::round(time_us * kSteps) / kSteps);
}

namespace {

std::string how_text(const ExplainedTime& time, int measured_world_size) {
  switch (time.how) {
    case TimedHow::kMeasured:
      return "measured";
    case TimedHow::kInterpolated:
      return fmt::format("between {} and {}", time.smaller->num_tokens,
                         core::counted(time.larger->num_tokens, "token"));
    case TimedHow::kExtrapolated:
      return fmt::format("extrapolated from TP {}", measured_world_size);
    case TimedHow::kBeyond:
      return "extrapolated from " + core::counted(time.smaller->num_tokens, "token");
    case TimedHow::kFailed:
      return "failed at " + core::counted(time.smaller->num_tokens, "token");
    case TimedHow::kNearest:
      break;
  }
  return "nearest measured: " + core::counted(time.smaller->num_tokens, "token");
}

}  // namespace

std::string origin_text(const ExplainedTime& time, int measured_world_size) {
  std::string text = how_text(time, measured_world_size);
  if (time.other_type) text += fmt::format(", {}", name_of(*time.other_type));
  if (time.other_hidden) text += fmt::format(", hidden size {}", *time.other_hidden);
  return text;
}

namespace {

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
  if (!explanation.slice) {
    return "Why: nothing was measured with this fusion, so it is the fallback.";
  }
  if (!explanation.at) {
    return fmt::format("Why: nothing tells of {} GPUs, so it is the choice of {}.",
                       explanation.asked.world_size, explanation.slice->world_size);
  }
  const Choice& at = *explanation.at;
  if (explanation.extrapolated_from != 0) {
    return fmt::format(
        "Not measured with {0} GPUs: times are those of {1} GPUs for messages of which a GPU sends "
        "as many bytes as of this one with {0}, and never less than the links need. What else "
        "grows with the number of GPUs is not in them.",
        explanation.asked.world_size, explanation.extrapolated_from);
  }
  if (is_at_measured_size(explanation)) {
    return fmt::format("Why: {}.", meaning_of(at.why));
  }
  const std::string nearest =
      fmt::format("{} ({} of {})", bytes_text(at.cell.size_bytes()),
                  core::counted(at.cell.num_tokens, "token"), at.cell.hidden_size);
  if (at.strategy != explanation.strategy) {
    return fmt::format(
        "Why: not measured at this size; the table {}. The nearest measured size, {}, takes {}.",
        explanation.from_bytes > at.cell.size_bytes()
            ? fmt::format("changes to it at {} bytes", explanation.from_bytes)
            : fmt::format("keeps it up to {} bytes", explanation.to_bytes.value_or(0) - 1),
        nearest, name_of(at.strategy));
  }
  return fmt::format("Why, at the nearest measured size, {}: {}.", nearest, meaning_of(at.why));
}

std::string_view why_word(const Explanation& explanation) {
  if (explanation.extrapolated_from != 0) return "extrapolated";
  const Choice& at = *explanation.at;
  return at.strategy == explanation.strategy ? name_of(at.why) : "between measured sizes";
}

// Lists the values that the table used instead of those asked for, or returns "" if there are none.
std::string stand_in_text(const Explanation& explanation) {
  if (!explanation.slice) return "";
  const TableSlice& slice = *explanation.slice;
  const Cell& asked = explanation.asked;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (explanation.extrapolated_from != 0) {
    add(fmt::format("TP {} for {}", explanation.extrapolated_from, asked.world_size));
  } else if (slice.world_size != asked.world_size) {
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

// Adds the interval, named by the confidence that its samples give it, where there is one.
void add_interval(model::Table& table, const Timing& timing) {
  if (std::isnan(timing.low_us)) return;
  const std::string name = confidence_text(timing.confidence) + " interval ";
  table.add_row({name + "from", time_cell(timing.low_us), std::string("us")});
  table.add_row({name + "to", time_cell(timing.high_us), std::string("us")});
}

model::Table choice_table(const TunedTables& tables, const Explanation& explanation) {
  const Cell& asked = explanation.asked;
  model::Table table{
      .name = "choice",
      .title = fmt::format("TP {}, {} of {} {} elements, {}, {} launches", asked.world_size,
                           core::counted(asked.num_tokens, "token"), asked.hidden_size,
                           name_of(asked.data_type), name_of(asked.fusion),
                           name_of(tables.options.launch)),
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
  const ExplainedTime* time = time_of(explanation, explanation.strategy);
  if (time && !time->failure) {
    add(is_extrapolated(*time) ? "extrapolated time" : "predicted time",
        time_cell(time->timing.time_us), "us");
    add_interval(table, time->timing);
    if (time->limit_us > 0) add("least by the links", time_cell(time->limit_us), "us");
  }
  add("message", explanation.size_bytes, "bytes");
  add("chosen from", explanation.from_bytes, "bytes");
  add("chosen to below",
      explanation.to_bytes ? model::Cell(*explanation.to_bytes) : model::Cell("any size"),
      explanation.to_bytes ? "bytes" : "");
  add("tie", tables.options.tie * kPercent, "%");
  return table;
}

std::string remark_text(const TunedTables& tables,
                        const Explanation& explanation,
                        const ExplainedTime& time) {
  const Strategy strategy = time.timing.strategy;
  if (time.failure) {
    const Failure& failure = *time.failure;
    return failure.reason.empty() ? failure.what : failure.what + ": " + failure.reason;
  }
  if (strategy == explanation.strategy) return "chosen";
  if (strategy == Strategy::kAuto) return "never chosen";
  const auto& allowed = tables.strategies;
  const bool may = std::find(allowed.begin(), allowed.end(), strategy) != allowed.end();
  return may ? "" : "may not be chosen";
}

model::Table strategies_table(const TunedTables& tables, const Explanation& explanation) {
  model::Table table{
      .name = "strategies",
      .title = explanation.extrapolated_from == 0
                   ? "Every strategy that was tried in this row, at this size"
                   : "What every strategy would take, extrapolated",
      .columns = {{.name = "strategy"},
                  {.name = "time", .unit = "us", .better = model::Better::kLower},
                  {.name = "low",
                   .unit = "us",
                   .description = "interval, of what was measured of this very message"},
                  {.name = "high", .unit = "us"},
                  {.name = "confidence",
                   .unit = "%",
                   .description = "with which the interval holds the time"},
                  {.name = "link limit",
                   .unit = "us",
                   .description = "the least that NVLink needs for what a GPU sends"},
                  {.name = "over fastest", .unit = "%"},
                  {.name = "from"},
                  {.name = "runs"},
                  {.name = "remark"}}};
  for (const ExplainedTime& time : explanation.times) {
    const Timing& timing = time.timing;
    const double over = timing.time_us / explanation.times.front().timing.time_us - 1;
    table.add_row(
        {std::string(name_of(timing.strategy)), time_cell(timing.time_us), time_cell(timing.low_us),
         time_cell(timing.high_us),
         std::isnan(timing.low_us) ? model::Cell() : model::Cell(timing.confidence * kPercent),
         limit_cell(time.limit_us), time_cell(over * kPercent),
         origin_text(time, explanation.extrapolated_from), timing.runs,
         remark_text(tables, explanation, time)});
  }
  return table;
}

// These are the known rates of the links, and a sentence that names them.
struct Rates {
  std::vector<double> bytes_per_us;
  std::string note;
};

Rates rates_of(int world_size, int sm_version) {
  const double link = link_bytes_per_us(sm_version);
  if (link == 0) return {{}, fmt::format("The links of SM {} are not known.", sm_version)};
  Rates rates{{link},
              fmt::format("{:g} GB/s is a direction of one GPU's links", link / kBytesPerUsOfGbps)};
  const std::optional<UsableRate> usable = usable_rate(world_size, sm_version);
  if (usable) {
    rates.bytes_per_us.push_back(usable->bytes_per_us);
    rates.note += fmt::format("; {} {:g} of it",
                              usable->is_measured ? "on H200, kernels that only send carried"
                                                  : "data are said to have about",
                              usable->bytes_per_us / kBytesPerUsOfGbps);
  }
  rates.note += ".";
  return rates;
}

model::Table bounds_table(const Explanation& explanation, int sm_version) {
  const Rates rates = rates_of(explanation.asked.world_size, sm_version);
  model::Table table{.name = "bounds",
                     .title = "The least that the links need for what must leave every GPU",
                     .columns = {{.name = "way"}, {.name = "bytes out of a GPU"}},
                     .notes = {rates.note}};
  for (const double rate : rates.bytes_per_us) {
    table.columns.push_back(
        {.name = fmt::format("at {:g} GB/s", rate / kBytesPerUsOfGbps), .unit = "us"});
  }
  const auto add = [&](const char* way, Strategy strategy) {
    const auto sending = [&](double bytes_per_us) {
      return sending_us(strategy, explanation.asked.world_size,
                        static_cast<double>(explanation.size_bytes), bytes_per_us);
    };
    std::vector<model::Cell> row = {std::string(way), std::llround(sending(1))};
    for (const double rate : rates.bytes_per_us)
      row.push_back(time_cell(sending(rate)));
    table.add_row(std::move(row));
  };
  add("one-shot", Strategy::kOneshot);
  add("two-shot", Strategy::kTwoshot);
  return table;
}

}  // namespace

model::Book explanation_book(const TunedTables& tables, const Explanation& explanation) {
  model::Book book{.title = "Why this all-reduce strategy",
                   .tables = {choice_table(tables, explanation)}};
  if (!explanation.times.empty()) {
    book.tables.push_back(strategies_table(tables, explanation));
  }
  book.tables.push_back(bounds_table(explanation, tables.table.sm_version));
  return book;
}

}  // namespace assay::allreduce
