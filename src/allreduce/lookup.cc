#include "allreduce/lookup.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allreduce/estimates.h"
#include "allreduce/explain.h"
#include "core/interrupt.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

struct Answer {
  TableMatch match;
  double limit_us = 0;
  std::optional<ExplainedTime> time = {};  // of the strategy
};

// Returns the size at which the segment ends, or an empty cell for the last segment.
model::Cell end_of(const TableMatch& match) {
  const std::size_t next = static_cast<std::size_t>(match.segment - match.row->segments.data()) + 1;
  if (next == match.row->segments.size()) return {};
  return match.row->segments[next].from_bytes;
}

std::string origin_of_slice(const TableMatch& match) {
  if (match.slice->origin == Origin::kExtrapolated)
    return fmt::format("extrapolated from TP {}", match.slice->from_world_size);
  if (match.is_extrapolated) return fmt::format("choice of TP {}", match.slice->world_size);
  return std::string(kOriginNames.at(static_cast<std::size_t>(match.row->origin)));
}

// Returns "measured", or what stands in: "extrapolated from TP 4, bfloat16, 256 MiB".
std::string origin_of(const TableMatch& match) {
  if (match.segment == nullptr) return "fallback";
  std::vector<std::string> stand_ins;
  if (match.is_of_other_type) stand_ins.emplace_back(name_of(match.slice->data_type));
  if (match.is_beyond) stand_ins.push_back(bytes_text(match.row->measured_to_bytes));
  std::string origin = origin_of_slice(match);
  if (stand_ins.empty()) return origin;
  const std::string text = core::join(stand_ins, ", ");
  return match.is_extrapolated ? fmt::format("{}, {}", origin, text)
                               : fmt::format("choice of {}", text);
}

// The measured number of GPUs behind a choice for another one.
int measured_world_size(const TableSlice& slice) {
  return slice.origin == Origin::kExtrapolated ? slice.from_world_size : slice.world_size;
}

constexpr std::ptrdiff_t kTimesFollow = 2;  // columns

std::vector<model::Column> columns(bool has_times) {
  std::vector<model::Column> columns = {
      {.name = "strategy"},
      {.name = "message", .unit = "bytes"},
      {.name = "link limit",
       .unit = "us",
       .description = "the least that NVLink needs for what a GPU sends"},
      {.name = "table_tp", .description = "GPUs of the nearest slice"},
      {.name = "table_dtype"},
      {.name = "table_hidden", .description = "hidden size of the nearest row"},
      {.name = "from", .unit = "bytes", .description = "where the segment begins"},
      {.name = "to",
       .unit = "bytes",
       .description = "where the next one begins; empty: there is none"},
      {.name = "origin", .description = "measured, or how else it is known"},
      {.name = "extrapolated", .description = "whether this number of GPUs was not measured"}};
  if (!has_times) return columns;
  columns.insert(columns.begin() + kTimesFollow,
                 {{.name = "time",
                   .unit = "us",
                   .better = model::Better::kLower,
                   .description = "of the strategy, on the slowest rank"},
                  {.name = "low",
                   .unit = "us",
                   .description = "interval, of what was measured of this very message"},
                  {.name = "high", .unit = "us"},
                  {.name = "time from"}});
  return columns;
}

class Answers final : public model::RowSource {
 public:
  Answers(std::shared_ptr<const TunedTables> tables, std::vector<Answer> answers, bool has_times)
      : tables_(std::move(tables)), answers_(std::move(answers)), has_times_(has_times) {}

  [[nodiscard]] std::size_t row_count() const override { return answers_.size(); }

  void append_row(std::size_t row, std::vector<model::Cell>& cells) const override {
    const Answer& answer = answers_[row];
    cells.emplace_back(std::string(name_of(answer.match.strategy)));
    cells.emplace_back(answer.match.size_bytes);
    if (has_times_) append_time(answer, cells);
    cells.push_back(limit_cell(answer.limit_us));
    append_origin(answer.match, cells);
  }

 private:
  static void append_origin(const TableMatch& match, std::vector<model::Cell>& cells) {
    if (match.segment == nullptr) {
      cells.resize(cells.size() + 5);
    } else {
      cells.emplace_back(static_cast<std::int64_t>(match.slice->world_size));
      cells.emplace_back(std::string(name_of(match.slice->data_type)));
      cells.emplace_back(match.row->hidden_size);
      cells.emplace_back(match.segment->from_bytes);
      cells.push_back(end_of(match));
    }
    cells.emplace_back(origin_of(match));
    cells.push_back(match.segment == nullptr ? model::Cell() : match.is_extrapolated);
  }

  static void append_time(const Answer& answer, std::vector<model::Cell>& cells) {
    if (!answer.time) return cells.resize(cells.size() + 4);
    const Timing& timing = answer.time->timing;
    for (const double time_us : {timing.time_us, timing.low_us, timing.high_us})
      cells.push_back(time_cell(time_us));
    cells.emplace_back(origin_text(*answer.time, measured_world_size(*answer.match.slice)));
  }

  std::shared_ptr<const TunedTables> tables_;  // which the answers point into
  std::vector<Answer> answers_;
  bool has_times_;
};

std::optional<ExplainedTime> time_of_choice(MessageTimes& times,
                                            const TableMatch& match,
                                            const Cell& message) {
  for (const ExplainedTime& time : times.of(match, message))
    if (time.timing.strategy == match.strategy) return time;
  return std::nullopt;
}

}  // namespace

StrategySource::StrategySource(StrategyTable table)
    : tables_(std::make_shared<const TunedTables>(
          TunedTables{.options = {}, .timings = {}, .table = std::move(table)})) {}

StrategySource::StrategySource(TunedTables tables)
    : tables_(std::make_shared<const TunedTables>(std::move(tables))) {}

core::Result<model::Table> StrategySource::lookup(const std::vector<Cell>& messages) const {
  const bool has_times = !tables_->timings.empty();
  MessageTimes times(*tables_);
  std::vector<Answer> answers;
  answers.reserve(messages.size());
  for (const Cell& message : messages) {
    ASSAY_TRY(core::check_interrupt());
    const bool is_possible = message.world_size >= 2 && message.world_size <= kMostRanks;
    Answer answer{.match = table().find(message.world_size, message.fusion, message.data_type,
                                        message.hidden_size, message.num_tokens)};
    answer.limit_us = is_possible ? link_limit_us(answer.match.strategy, message.world_size,
                                                  answer.match.size_bytes, table().sm_version)
                                  : std::numeric_limits<double>::quiet_NaN();
    if (has_times && is_possible) answer.time = time_of_choice(times, answer.match, message);
    answers.push_back(answer);
  }
  model::Table found{
      .name = "lookup",
      .title = "Strategy of a message",
      .columns = columns(has_times),
      .notes = {fmt::format("SM {}, launched by {}; measured on: {}", table().sm_version,
                            name_of(table().launch), table().provenance)}};
  found.source = std::make_shared<Answers>(tables_, std::move(answers), has_times);
  return found;
}

}  // namespace assay::allreduce
