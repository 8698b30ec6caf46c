#include "trace/attribution/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/collective.h"
#include "trace/attribution/details.h"

namespace assay::trace::attribution {
namespace {

using model::Cell;
using model::cell_of;

constexpr std::size_t kPartsTold = 4;
// Parts below this share of the change are not told.
constexpr double kLeastShare = 0.01;
// No part is told as changed by less.
constexpr double kNothingMs = 0.0005;

const char* meaning(Cause cause) {
  switch (cause) {
    case Cause::kContention:
      return "the same kernels take longer beside communication than alone, or wait for room on "
             "the GPU";
    case Cause::kClock:
      return "kernels at another clock, as recorded with the runs";
    case Cause::kPower:
      return "kernels at a clock that the power limit held down, as recorded with the runs";
    case Cause::kKernels:
      return "kernels by themselves: added, removed, replaced, slower or faster";
    case Cause::kVolume:
      return "collectives and messages: more or fewer of them, or of other sizes";
    case Cause::kBandwidth:
      return "collectives and messages from the last rank's arrival on: the part that grows with "
             "the message, where their volume is the same";
    case Cause::kLatency:
      return "collectives and messages: the part that does not grow with the message";
    case Cause::kUnmatched:
      return "sends, receives and collectives that are not matched across ranks: their time may be "
             "transfer or a wait for another rank";
    case Cause::kStraggler:
      return "what a rank takes longer than the middle one, while others wait for it";
    case Cause::kHost:
      return "launches for which the GPUs of most ranks wait";
    case Cause::kOther:
      return "pauses between kernels, and what could not be set side by side";
  }
  return "";
}

// Names the rows that show a message: those of all communication, where its time holds a wait.
std::string evidence_of_message(const Detail& detail) {
  using model::NcclFunction;
  const std::string name = detail.name.substr(0, detail.name.find(','));
  const auto collective = model::torch_collective(name);
  const bool is_compared = collective && (collective->function == NcclFunction::kAllReduce ||
                                          collective->function == NcclFunction::kAllGather ||
                                          collective->function == NcclFunction::kReduceScatter ||
                                          collective->function == NcclFunction::kAllToAll);
  const bool is_of_transfer = detail.cause == Cause::kVolume || detail.cause == Cause::kBandwidth ||
                              detail.cause == Cause::kLatency;
  if (!is_compared || !is_of_transfer)
    return "NCCL_Long_Cmp: " + detail.name.substr(0, detail.name.find(kForRoom));
  if (!collective->may_be_uneven) return "NCCL_ImplSync_Cmp: " + detail.name;
  // Its ranks may send different amounts, so the rows are of all sizes.
  return "NCCL_All2Allv_Cmp: " + detail.name.substr(0, detail.name.rfind(','));
}

// Where the rows are that show a detail.
std::string evidence(const Detail& detail) {
  if (detail.cause == Cause::kStraggler)
    return "GPU_ByRank_Cmp: " + detail.name.substr(0, detail.name.find(','));
  if (!detail.is_message) return "kernel_summary of each rank's report: this kernel";
  return evidence_of_message(detail);
}

// Where the rows are that show a part as a whole.
std::string evidence(Cause cause, bool has_details) {
  std::string details = has_details ? "the details below" : "";
  const char* rows = nullptr;
  if (cause == Cause::kHost) rows = "GPU_Summary_Cmp: idle_time";
  if (cause == Cause::kStraggler) rows = "NCCL_straggler_summary_Raw";
  if (cause == Cause::kClock || cause == Cause::kPower) rows = "Answer: Was all else the same?";
  if (rows == nullptr) return details;
  return details.empty() ? rows : details + "; " + rows;
}

double share_percent(double change_ms, const Attribution& attribution) {
  return attribution.total_ms() == 0 ? std::nan("") : 100 * change_ms / attribution.total_ms();
}

void add_cause(model::Table& table, const Attribution& attribution, std::size_t cause) {
  const auto details = std::count_if(
      attribution.details.begin(), attribution.details.end(),
      [&](const Detail& detail) { return detail.cause == static_cast<Cause>(cause); });
  const double change_ms = attribution.change_ms[cause];
  table.add_row({std::string(kCauseNames[cause]), "part", Cell(), Cell(), change_ms,
                 cell_of(share_percent(change_ms, attribution)), meaning(static_cast<Cause>(cause)),
                 evidence(static_cast<Cause>(cause), details > 0),
                 cell_of(attribution.path_a_ms[cause]), cell_of(attribution.path_b_ms[cause])});
  for (const Detail& detail : attribution.details) {
    if (detail.cause != static_cast<Cause>(cause)) continue;
    table.add_row({detail.name, "detail", detail.a_ms, detail.b_ms, detail.change_ms(), Cell(),
                   detail.words, evidence(detail), Cell(), Cell()});
  }
}

}  // namespace

std::string attribution_in_words(const Attribution& attribution) {
  std::array<std::size_t, kCauses> order{};
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(attribution.change_ms[a]) > std::fabs(attribution.change_ms[b]);
  });
  const auto is_nothing = [](double ms) { return std::fabs(ms) < kNothingMs; };
  if (is_nothing(attribution.total_ms()) &&
      std::all_of(attribution.change_ms.begin(), attribution.change_ms.end(), is_nothing))
    return "A step takes as long, and so do its parts.";
  std::string text = fmt::format("Of {:+.3g} ms a step:", attribution.total_ms());
  for (std::size_t i = 0; i < kPartsTold; ++i) {
    const double change_ms = attribution.change_ms[order[i]];
    const double least_ms = std::max(kNothingMs, kLeastShare * std::fabs(attribution.total_ms()));
    if (i > 0 && std::fabs(change_ms) < least_ms) break;
    text += fmt::format("{} {} {:+.3g} ms", i == 0 ? "" : ",", kCauseNames[order[i]], change_ms);
  }
  return text + ".";
}

model::Table attribution_table(const Attribution& attribution, const Labels& labels) {
  model::Table table{
      .name = "Attribution",
      .title = fmt::format("Why a step takes {:+.3g} ms with {} against {}", attribution.total_ms(),
                           labels.b, labels.a),
      .columns = {{.name = "Part"},
                  {.name = "Row",
                   .description = "parts add up to the total; a part's details are its evidence, "
                                  "also of what the critical path hides, and need not add up"},
                  {.name = labels.a + " (ms)",
                   .unit = "ms",
                   .description = "per step: of a detail, the mean of all ranks; of the total, "
                                  "the step. Details of communication: volume are the time of "
                                  "either side's volume at this side's bandwidth, those of "
                                  "bandwidth and latency the time of the other side's volume at "
                                  "either side's"},
                  {.name = labels.b + " (ms)", .unit = "ms", .description = "the same"},
                  {.name = "Change (ms)",
                   .unit = "ms",
                   .better = model::Better::kLower,
                   .description = "of a part: by how much it changes the step; positive: longer"},
                  {.name = "Share (%)", .unit = "%", .description = "of the step's change"},
                  {.name = "In words"},
                  {.name = "Evidence"},
                  {.name = labels.a + " on the critical path (ms)",
                   .unit = "ms",
                   .description = "of a part, per step; what hides behind it now may not have "
                                  "before, so that the difference is not by how much the part "
                                  "changes the step"},
                  {.name = labels.b + " on the critical path (ms)",
                   .unit = "ms",
                   .description = "the same"}},
      .notes = {attribution_in_words(attribution)}};
  for (std::size_t cause = 0; cause < kCauses; ++cause)
    add_cause(table, attribution, cause);
  table.add_row({"total", "total", attribution.a_ms, attribution.b_ms, attribution.total_ms(),
                 attribution.total_ms() == 0 ? Cell() : Cell(100.0),
                 "a step, mean over ranks, steps and runs", "GPU_Summary_Cmp: total_time", Cell(),
                 Cell()});
  table.notes.insert(table.notes.end(), attribution.notes.begin(), attribution.notes.end());
  table.style.excel_table = true;
  return table;
}

}  // namespace assay::trace::attribution
