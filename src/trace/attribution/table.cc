#include "trace/attribution/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/text.h"
#include "model/collective.h"
#include "trace/attribution/details.h"
#include "trace/attribution/resolution.h"

namespace assay::trace::attribution {
namespace {

using model::Cell;
using model::cell_of;

constexpr std::size_t kPartsTold = 4;
// Parts below this share of the change are not told in words.
constexpr double kLeastShare = 0.01;
constexpr const char* kSmallPart = "small part";

// Messages of one size do not tell what grows with it.
std::string_view name_of(Cause cause, const Attribution& attribution) {
  if (cause == Cause::kBandwidth && attribution.has_one_size)
    return "communication: latency or bandwidth";
  return kCauseNames[static_cast<std::size_t>(cause)];
}

const char* meaning(Cause cause, const Attribution& attribution) {
  switch (cause) {
    case Cause::kContention:
      return "the same kernels take longer beside communication than alone, or wait while other "
             "streams work: for room on the GPU, or for that work, which traces do not tell apart";
    case Cause::kClock:
      return "kernels at another clock, as recorded with the runs";
    case Cause::kPower:
      return "kernels at a clock that the power limit held down, as recorded with the runs";
    case Cause::kKernels:
      return "kernels by themselves: added, removed, replaced, slower or faster";
    case Cause::kVolume:
      return "collectives and messages: more or fewer of them, or of other sizes";
    case Cause::kBandwidth:
      if (attribution.has_one_size)
        return "collectives and messages from the last rank's arrival on, where their volume is "
               "the same: one size does not tell what grows with it from what does not";
      return "collectives and messages from the last rank's arrival on: the part that grows with "
             "the message, where their volume is the same";
    case Cause::kLatency:
      return "collectives and messages: the part that does not grow with the message";
    case Cause::kUnmatched:
      return "sends, receives and collectives that are not matched across all of their ranks: "
             "their "
             "time may be transfer or a wait for another rank";
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
  const bool is_told = attribution.tells(cause);
  const double change_ms = is_told ? attribution.change_ms[cause] : std::nan("");
  table.add_row({std::string(name_of(static_cast<Cause>(cause), attribution)),
                 is_told ? "part" : kSmallPart, Cell(), Cell(), cell_of(change_ms),
                 cell_of(share_percent(change_ms, attribution)),
                 meaning(static_cast<Cause>(cause), attribution),
                 evidence(static_cast<Cause>(cause), details > 0),
                 cell_of(attribution.path_a_ms[cause]), cell_of(attribution.path_b_ms[cause])});
  for (const Detail& detail : attribution.details) {
    if (detail.cause != static_cast<Cause>(cause)) continue;
    table.add_row({detail.name, "detail", detail.a_ms, detail.b_ms, detail.change_ms(), Cell(),
                   detail.words, evidence(detail), Cell(), Cell()});
  }
}

// Adds one part for all that are below the resolution, so that the parts add up.
void add_small_parts(model::Table& table, const Attribution& attribution) {
  double sum_ms = 0;
  std::size_t count = 0;
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    if (attribution.tells(cause)) continue;
    sum_ms += attribution.change_ms[cause];
    ++count;
  }
  if (count == 0) return;
  table.add_row({fmt::format("parts below {:g} ms each", attribution.resolution_ms), "part", Cell(),
                 Cell(), sum_ms, cell_of(share_percent(sum_ms, attribution)),
                 "less than the clocks and the noise of the runs can tell by cause",
                 fmt::format("the rows '{}'", kSmallPart), Cell(), Cell()});
}

// Writes changes with the digits that they deserve beside the largest.
class ChangeText {
 public:
  explicit ChangeText(double largest_ms) : largest_ms_(largest_ms) {}

  std::string operator()(double ms) const {
    const double rounded = rounded_beside(ms, largest_ms_);
    return rounded == 0 ? "0 ms" : fmt::format("{:+.3g} ms", rounded);
  }

 private:
  double largest_ms_;
};

// Returns the causes, the largest changes first.
std::array<std::size_t, kCauses> by_change(const Attribution& attribution) {
  std::array<std::size_t, kCauses> order{};
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(attribution.change_ms[a]) > std::fabs(attribution.change_ms[b]);
  });
  return order;
}

// Returns " (rank 0, its host)" for what explains more than half of the stragglers' details; else
// "".
std::string straggler_in_words(const Attribution& attribution) {
  const Detail* largest = nullptr;
  double all_ms = 0;
  for (const Detail& detail : attribution.details) {
    if (detail.cause != Cause::kStraggler) continue;
    all_ms += std::fabs(detail.change_ms());
    if (largest == nullptr || std::fabs(detail.change_ms()) > std::fabs(largest->change_ms()))
      largest = &detail;
  }
  if (largest == nullptr || std::fabs(largest->change_ms()) <= all_ms / 2) return "";
  const double part_ms = attribution.change_ms[static_cast<std::size_t>(Cause::kStraggler)];
  if (std::signbit(largest->change_ms()) != std::signbit(part_ms)) return "";
  return fmt::format(" ({})", largest->name);
}

// Says what 'other' may be where it is told and hosts are not known; else "".
std::string unknown_hosts_in_words(const Attribution& attribution, double least_ms) {
  const std::vector<int>& ranks = attribution.ranks_without_launches;
  const double other_ms = attribution.change_ms[static_cast<std::size_t>(Cause::kOther)];
  if (ranks.empty() || std::fabs(other_ms) < least_ms) return "";
  return fmt::format(
      " No launch records tell how long rank{} {} waited for {} host{}: 'other' may hold that.",
      ranks.size() == 1 ? "" : "s", core::join(ranks, ", "), ranks.size() == 1 ? "its" : "their",
      ranks.size() == 1 ? "" : "s");
}

}  // namespace

std::string attribution_in_words(const Attribution& attribution) {
  if (largest_change_ms(attribution) < attribution.resolution_ms)
    return "A step takes as long, and so do its parts.";
  const ChangeText text(largest_change_ms(attribution));
  const double least_ms =
      std::max(attribution.resolution_ms, kLeastShare * std::fabs(attribution.total_ms()));
  std::vector<std::string> told;
  double others_ms = 0;
  double largest_other_ms = 0;
  for (const std::size_t cause : by_change(attribution)) {
    const double change_ms = attribution.change_ms[cause];
    if (told.size() < kPartsTold && std::fabs(change_ms) >= least_ms) {
      const bool straggles = cause == static_cast<std::size_t>(Cause::kStraggler);
      told.push_back(fmt::format("{} {}{}", name_of(static_cast<Cause>(cause), attribution),
                                 text(change_ms),
                                 straggles ? straggler_in_words(attribution) : ""));
      continue;
    }
    others_ms += change_ms;
    largest_other_ms = std::max(largest_other_ms, std::fabs(change_ms));
  }
  if (!rounds_to_nothing(others_ms, largest_change_ms(attribution)))
    told.push_back(fmt::format("others {} (each below {:g} ms)", text(others_ms),
                               rounded_up(std::max(largest_other_ms, attribution.resolution_ms))));
  return fmt::format("Of {} a step: {}.{}", text(attribution.total_ms()), core::join(told, ", "),
                     unknown_hosts_in_words(attribution, least_ms));
}

model::Table attribution_table(const Attribution& attribution, const Labels& labels) {
  model::Table table{
      .name = "Attribution",
      .title = fmt::format("Why a step takes {} with {} against {}",
                           ChangeText(largest_change_ms(attribution))(attribution.total_ms()),
                           labels.b, labels.a),
      .columns = {{.name = "Part"},
                  {.name = "Row",
                   .description =
                       "parts add up to the total; small parts are counted in the row of "
                       "those below the resolution; a part's details are its evidence, "
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
  add_small_parts(table, attribution);
  table.add_row({"total", "total", attribution.a_ms, attribution.b_ms, attribution.total_ms(),
                 attribution.total_ms() == 0 ? Cell() : Cell(100.0),
                 "a step, mean over ranks, steps and runs", "GPU_Summary_Cmp: total_time", Cell(),
                 Cell()});
  table.notes.insert(table.notes.end(), attribution.notes.begin(), attribution.notes.end());
  table.style.excel_table = true;
  return table;
}

}  // namespace assay::trace::attribution
