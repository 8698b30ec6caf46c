#include "plan/validate/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "core/statistics.h"
#include "plan/validate/measured_stages.h"

namespace assay::plan {
namespace {

using model::Cell;

struct SliceErrors {
  std::vector<const Prediction*> predicted;
  std::int64_t rows = 0;
  Calibration calibration = {};
};

std::vector<double> errors_of(const SliceErrors& slice, double (Prediction::*error)() const) {
  std::vector<double> errors;
  for (const Prediction* one : slice.predicted)
    errors.push_back((one->*error)());
  return errors;
}

Cell percent(double share) {
  return std::isnan(share) ? Cell() : Cell(100 * share);
}

void add_errors(std::vector<Cell>& row, const std::vector<double>& errors) {
  std::vector<double> sizes;
  for (const double error : errors)
    sizes.push_back(std::abs(error));
  row.push_back(percent(core::median(sizes)));
  row.push_back(percent(core::mean(sizes)));
  row.push_back(percent(core::median(errors)));
}

constexpr const char* kAllSlices = "all";

std::vector<model::Column> error_columns(bool is_calibrated) {
  std::vector<model::Column> columns = {{.name = "slice"}, {.name = "rows"}, {.name = "judged"}};
  if (is_calibrated) {
    columns.push_back({.name = "glue", .unit = "ms"});
    columns.push_back({.name = "operators x"});
    columns.push_back({.name = "prompts x"});
    columns.push_back({.name = "TTFT x"});
  }
  for (const char* latency : {"TPOT", "TTFT"}) {
    for (const char* figure : {"median", "mean", "bias"})
      columns.push_back({.name = fmt::format("{} {}", latency, figure), .unit = "%"});
  }
  return columns;
}

model::Table errors_table(const std::map<std::string, SliceErrors>& slices) {
  const bool is_calibrated = std::any_of(slices.begin(), slices.end(), [](const auto& one) {
    return one.second.calibration != Calibration();
  });
  model::Table errors{.name = "errors",
                      .title = "Errors of predictions, by slice",
                      .columns = error_columns(is_calibrated)};
  errors.notes.emplace_back(
      "median and mean are of absolute errors; bias is the median with its sign, above 0 where "
      "predictions are too slow");
  for (const auto& [name, slice] : slices) {
    std::vector<Cell> row = {name, slice.rows, static_cast<std::int64_t>(slice.predicted.size())};
    if (is_calibrated) {
      const bool has = name != kAllSlices && slice.calibration != Calibration();
      row.push_back(has ? Cell(slice.calibration.glue_ms) : Cell());
      row.push_back(has ? Cell(slice.calibration.kernel_factor) : Cell());
      row.push_back(has ? Cell(slice.calibration.prompt_factor) : Cell());
      row.push_back(has ? Cell(slice.calibration.ttft_factor) : Cell());
    }
    add_errors(row, errors_of(slice, &Prediction::tpot_error));
    add_errors(row, errors_of(slice, &Prediction::ttft_error));
    errors.cells.insert(errors.cells.end(), row.begin(), row.end());
  }
  return errors;
}

// Of predictions: the share whose measurement lies in the error bar, and the median half-width.
void add_coverage(std::vector<Cell>& row,
                  const std::vector<const Prediction*>& predicted,
                  double (Prediction::*error)() const,
                  const std::function<ErrorBar(const Prediction&)>& bar_of) {
  std::size_t inside = 0;
  std::vector<double> widths;
  for (const Prediction* one : predicted) {
    const ErrorBar bar = bar_of(*one);
    const double measured = 1 / (1 + (one->*error)());
    if (bar.low <= measured && measured <= bar.high) ++inside;
    widths.push_back(bar.half_width());
  }
  row.push_back(percent(predicted.empty()
                            ? std::numeric_limits<double>::quiet_NaN()
                            : static_cast<double>(inside) / static_cast<double>(predicted.size())));
  row.push_back(percent(core::median(widths)));
}

model::Table coverage_table(const std::map<std::string, SliceErrors>& slices) {
  model::Table table{.name = "intervals",
                     .title = "80 % intervals of predictions, by slice",
                     .columns = {{.name = "slice"}, {.name = "judged"}}};
  for (const char* figure : {"TPOT", "TTFT", "tokens/s"}) {
    table.columns.push_back({.name = fmt::format("{} inside", figure), .unit = "%"});
    table.columns.push_back({.name = fmt::format("{} half-width", figure), .unit = "%"});
  }
  table.notes.emplace_back(
      "inside: measurements within the interval of their prediction; half-width: the median, of "
      "the prediction; tokens/s: of requests in flight, as both latencies give it");
  for (const auto& [name, slice] : slices) {
    std::vector<Cell> row = {name, static_cast<std::int64_t>(slice.predicted.size())};
    add_coverage(row, slice.predicted, &Prediction::tpot_error,
                 [](const Prediction& one) { return one.bars.tpot; });
    add_coverage(row, slice.predicted, &Prediction::ttft_error,
                 [](const Prediction& one) { return one.bars.ttft; });
    add_coverage(row, slice.predicted, &Prediction::rate_error,
                 [](const Prediction& one) { return one.rate_bar(); });
    table.cells.insert(table.cells.end(), row.begin(), row.end());
  }
  return table;
}

// Of own kernels' prices, which are a lower bound: how seldom they exceed a measurement by more
// than a tenth, and how much of it they explain.
void add_bound(std::vector<Cell>& row, std::vector<double> errors) {
  constexpr double kExceeds = 0.10;
  const auto exceeding =
      std::count_if(errors.begin(), errors.end(), [](double error) { return error > kExceeds; });
  row.push_back(percent(static_cast<double>(exceeding) / static_cast<double>(errors.size())));
  row.push_back(percent(1 + core::median(errors)));
}

model::Table bounds_table(const std::map<std::string, SliceErrors>& slices) {
  model::Table table{.name = "bounds",
                     .title = "Times of assay's own kernels, a lower bound, by slice",
                     .columns = {{.name = "slice"}, {.name = "judged"}}};
  for (const char* latency : {"TPOT", "TTFT"}) {
    for (const char* figure : {"exceeds by > 10 %", "of measured"})
      table.columns.push_back({.name = fmt::format("{} {}", latency, figure), .unit = "%"});
  }
  table.notes.emplace_back(
      "exceeds: share of rows; of measured: the median of predicted over measured");
  for (const auto& [name, slice] : slices) {
    SliceErrors own;
    for (const Prediction* one : slice.predicted)
      if (one->parts.mean.is_of_kernels()) own.predicted.push_back(one);
    if (own.predicted.empty()) continue;
    std::vector<Cell> row = {name, static_cast<std::int64_t>(own.predicted.size())};
    add_bound(row, errors_of(own, &Prediction::tpot_error));
    add_bound(row, errors_of(own, &Prediction::ttft_error));
    table.cells.insert(table.cells.end(), row.begin(), row.end());
  }
  return table;
}

// Rows that tell what was deployed, and how many of these have a price.
std::string coverage_note(const std::vector<Prediction>& predictions) {
  const auto all = static_cast<std::int64_t>(predictions.size());
  const auto lacking = std::count_if(predictions.begin(), predictions.end(),
                                     [](const Prediction& one) { return one.lacks_fields; });
  const auto priced = std::count_if(predictions.begin(), predictions.end(),
                                    [](const Prediction& one) { return one.refused.empty(); });
  const std::int64_t whole = all - lacking;
  if (whole == 0) return fmt::format("none of {} rows has the fields that a prediction needs", all);
  return fmt::format(
      "{} of {} rows have the fields that a prediction needs; {} of them are predicted "
      "({:.1f} %)",
      whole, all, priced, 100.0 * static_cast<double>(priced) / static_cast<double>(whole));
}

// What predictions of stages stand on; "" where no row has any.
std::string stages_note(const std::vector<Prediction>& predictions) {
  const auto has_stages = [](const Prediction& one) {
    const MeasuredDeployment& row = *one.measured;
    return one.refused.empty() &&
           std::max({row.widths.pp, row.prefill.widths.pp, row.decode.widths.pp}) > 1;
  };
  const auto rows = std::count_if(predictions.begin(), predictions.end(), has_stages);
  if (rows == 0) return "";
  return fmt::format(
      "{} of the rows {} pipeline stages: what they send each other is reckoned with the rate of a "
      "link, and the error bars were found on rows without stages",
      rows, rows == 1 ? "has" : "have");
}

// The same of rows with state spaces.
std::string bounds_note(const std::vector<Prediction>& predictions) {
  const auto rows = std::count_if(
      predictions.begin(), predictions.end(),
      [](const Prediction& one) { return one.refused.empty() && one.parts.mean.bound_ms > 0; });
  if (rows == 0) return "";
  return fmt::format(
      "{} of the rows {} operators priced by a lower bound, the bytes of state spaces over the "
      "bandwidth: no table has rows of them",
      rows, rows == 1 ? "has" : "have");
}

// The last column has the reasons, too, for which few terminals have room.
void add_refusals(const std::vector<Prediction>& predictions, model::Table& rows) {
  std::map<std::string, std::vector<std::int64_t>> refused;
  for (const Prediction& one : predictions)
    if (!one.refused.empty()) refused[one.refused].push_back(one.measured->row);
  for (const auto& [why, numbers] : refused) {
    rows.notes.push_back(
        numbers.size() == 1
            ? fmt::format("row {} has no prediction: {}", numbers.front(), why)
            : fmt::format("{} rows, the first of which is row {}, have no prediction: {}",
                          numbers.size(), numbers.front(), why));
  }
}

// Pools have widths of their own.
Cell width_of(const MeasuredDeployment& measured, std::int64_t width) {
  return measured.is_disaggregated ? Cell() : Cell(width);
}

std::string pools_text(const MeasuredDeployment& measured) {
  if (!measured.is_disaggregated) return "";
  const auto text = [](const MeasuredPool& pool, char role) {
    const std::string count = pool.workers > 0 ? std::to_string(pool.workers) : "";
    return fmt::format("{}{}({})", count, role, worker_of(pool.widths).text());
  };
  return fmt::format("{} + {}", text(measured.prefill, 'P'), text(measured.decode, 'D'));
}

Cell end_of(const Prediction& one, double ms, double factor) {
  return one.refused.empty() ? Cell(ms * factor) : Cell();
}

}  // namespace

model::Table refused_rows_table(const std::map<std::string, std::int64_t>& refusals) {
  model::Table refused{.name = "refused",
                       .title = "Rows without a prediction",
                       .columns = {{.name = "rows"}, {.name = "why"}}};
  for (const auto& [why, count] : refusals)
    refused.add_row({count, why});
  return refused;
}

model::Book slices_book(const std::vector<Prediction>& predictions) {
  std::map<std::string, SliceErrors> slices;
  std::map<std::string, std::int64_t> refusals;
  for (const Prediction& one : predictions) {
    for (const std::string& name : {slice_of(*one.measured), std::string(kAllSlices)}) {
      SliceErrors& slice = slices[name];
      ++slice.rows;
      if (one.refused.empty() && !one.calibrates) slice.predicted.push_back(&one);
      slice.calibration = one.calibration;
    }
    if (!one.refused.empty()) ++refusals[one.refused];
  }
  model::Table refused = refused_rows_table(refusals);
  model::Book book{.title = "Predictions beside measured deployments"};
  book.tables.push_back(errors_table(slices));
  book.tables.back().notes.push_back(coverage_note(predictions));
  add_note(stages_note(predictions), book.tables.back());
  add_note(bounds_note(predictions), book.tables.back());
  book.tables.push_back(coverage_table(slices));
  model::Table bounds = bounds_table(slices);
  if (bounds.row_count() > 0) book.tables.push_back(std::move(bounds));
  if (refused.row_count() > 0) book.tables.push_back(std::move(refused));
  return book;
}

model::Book rows_book(const std::vector<Prediction>& predictions) {
  model::Table rows{.name = "rows",
                    .title = "Predictions",
                    .columns = {{.name = "row"},
                                {.name = "engine"},
                                {.name = "version"},
                                {.name = "model"},
                                {.name = "system"},
                                {.name = "tp"},
                                {.name = "dp"},
                                {.name = "pp"},
                                {.name = "moe_ep"},
                                {.name = "isl"},
                                {.name = "osl"},
                                {.name = "concurrency"},
                                {.name = "ttft", .unit = "ms"},
                                {.name = "ttft low", .unit = "ms"},
                                {.name = "ttft high", .unit = "ms"},
                                {.name = "measured ttft", .unit = "ms"},
                                {.name = "tpot", .unit = "ms"},
                                {.name = "tpot low", .unit = "ms"},
                                {.name = "tpot high", .unit = "ms"},
                                {.name = "measured tpot", .unit = "ms"},
                                {.name = "experts of a step", .unit = "%"},
                                {.name = "experts of a prompt", .unit = "%"},
                                {.name = "tpot sigma", .unit = "%"},
                                {.name = "ttft sigma", .unit = "%"},
                                {.name = "pools"},
                                {.name = "calibrates"},
                                {.name = "refused"}}};
  for (const Prediction& one : predictions) {
    const MeasuredDeployment& m = *one.measured;
    rows.add_row({m.row,
                  m.engine,
                  m.version,
                  m.model,
                  m.system,
                  width_of(m, m.widths.tp),
                  width_of(m, m.widths.dp),
                  width_of(m, m.widths.pp),
                  width_of(m, m.widths.moe_ep),
                  m.prompt_tokens,
                  m.output_tokens,
                  m.concurrency,
                  end_of(one, one.ttft_ms, 1),
                  end_of(one, one.ttft_ms, one.bars.ttft.low),
                  end_of(one, one.ttft_ms, one.bars.ttft.high),
                  m.ttft_ms,
                  end_of(one, one.tpot_ms, 1),
                  end_of(one, one.tpot_ms, one.bars.tpot.low),
                  end_of(one, one.tpot_ms, one.bars.tpot.high),
                  m.tpot_ms,
                  end_of(one, 100, one.parts.mean.experts_share()),
                  end_of(one, 100, one.parts.prompt.experts_share()),
                  end_of(one, 100, one.sigmas.tpot),
                  end_of(one, 100, one.sigmas.ttft),
                  pools_text(m),
                  one.calibrates,
                  one.refused});
  }
  add_note(stages_note(predictions), rows);
  add_note(bounds_note(predictions), rows);
  add_refusals(predictions, rows);
  model::Book book{.title = "Predictions beside measured deployments"};
  book.tables.push_back(std::move(rows));
  return book;
}

}  // namespace assay::plan
