#include "trace/collectives/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/counted.h"
#include "trace/collectives/columns.h"
#include "trace/collectives/sheet.h"

namespace assay::trace::collectives {
namespace {

// Sums over the collectives of one kind and size, or over the kernels of a kind that is not matched
// across ranks.
struct OverviewRow {
  const Metadata* metadata = nullptr;
  std::int64_t count = 0;
  double total_latency_us = 0;
  double total_gibps = 0;  // of bus bandwidths
  double total_skew_us = 0;
  std::vector<std::uint32_t> channels = {};
  std::vector<std::uint32_t> threads = {};
  std::map<int, std::int64_t> last_by_rank = {};
  std::int64_t ranks = -1;    // as recorded, else those that are matched; -1: unknown
  std::int64_t present = -1;  // of these; -1: they are not matched

  [[nodiscard]] double mean(double total) const { return total / static_cast<double>(count); }
};

class OverviewRows {
 public:
  explicit OverviewRows(const Study& study) : study_(study) {}

  void add(const Synchronised& item) {
    add(item.collective, item.latency_us, item.bus_gibps, item.start_skew_us);
  }

  void add(const Exchange& item) {
    add(item.collective, item.wall_us, item.bus_gibps, item.start_skew_us);
  }

  // Takes a kernel that is not matched with those of other ranks. Its time includes its wait.
  void add(const Event& event) {
    const Metadata& m = study_.catalog()[event.metadata];
    OverviewRow& row = row_of(m);
    ++row.count;
    row.total_latency_us += event.duration_us;
    row.total_gibps += kernel_bus_gibps(m, event.duration_us);
    row.total_skew_us = kUnknown;
    row.channels.push_back(event.channels);
    row.threads.push_back(event.threads);
  }

  std::vector<OverviewRow> by_total() && {
    std::stable_sort(rows_.begin(), rows_.end(), [](const OverviewRow& a, const OverviewRow& b) {
      return a.total_latency_us > b.total_latency_us;
    });
    return std::move(rows_);
  }

 private:
  void add(std::uint32_t position, double latency_us, double gibps, double skew_us) {
    OverviewRow& row = row_of(study_.metadata(position));
    ++row.count;
    row.present = study_.collective(position).size;
    if (row.ranks < 0) row.ranks = row.present;
    row.total_latency_us += latency_us;
    row.total_gibps += gibps;
    row.total_skew_us += skew_us;
    collect_launch(study_, study_.collective(position), &Event::channels, row.channels);
    collect_launch(study_, study_.collective(position), &Event::threads, row.threads);
    if (!study_.lacks_ranks(position)) note_last(row, study_.collective(position));
  }

  OverviewRow& row_of(const Metadata& metadata) {
    const auto [place, is_new] = places_.emplace(metadata.signature, rows_.size());
    if (is_new) {
      rows_.push_back({&metadata});
      rows_.back().ranks = metadata.group_size;
    }
    return rows_[place->second];
  }

  void note_last(OverviewRow& row, const Collective& collective) {
    if (collective.size < 2) return;
    const auto first = study_.wait_us.begin() + collective.first;
    const auto shortest = std::min_element(first, first + collective.size);
    if (std::count(first, first + collective.size, *shortest) > 1) return;
    const auto position = static_cast<std::size_t>(shortest - study_.wait_us.begin());
    ++row.last_by_rank[study_.recording.ranks[study_.matching.members[position].rank].rank];
  }

  const Study& study_;
  std::map<std::uint32_t, std::size_t> places_;
  std::vector<OverviewRow> rows_;
};

model::Cell usual_last(const OverviewRow& row) {
  if (row.last_by_rank.empty()) return {};
  const auto most = std::max_element(row.last_by_rank.begin(), row.last_by_rank.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return fmt::format("rank {} ({:.0f} %)", most->first,
                     100 * row.mean(static_cast<double>(most->second)));
}

std::string time_in_words(double us) {
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.1f} ms", us / 1000);
}

bool some_lack_ranks(const Study& study) {
  return std::any_of(
      study.synchronised.begin(), study.synchronised.end(),
      [&study](const Synchronised& item) { return study.lacks_ranks(item.collective); });
}

std::string straggler_sentence(const Study& study) {
  std::vector<Straggler> ranks = stragglers(study);
  std::erase_if(ranks, [](const Straggler& rank) { return rank.collectives == 0; });
  if (ranks.size() < 2) return "";
  const auto most = std::max_element(
      ranks.begin(), ranks.end(),
      [](const Straggler& a, const Straggler& b) { return a.last_percent() < b.last_percent(); });
  const std::string scope = some_lack_ranks(study) ? "In groups of which no rank is missing: " : "";
  if (most->arrived_last == 0)
    return scope + "No rank arrives later than all others of a collective.";
  double others_us = 0;
  for (const Straggler& rank : ranks)
    others_us += rank.rank == most->rank ? 0 : rank.total_wait_us;
  return fmt::format(
      "{}Rank {} arrives last most often: in {} of its {} ({:.0f} %{}); it "
      "waited {} in all, each other rank {} on average.",
      scope, most->rank->rank, most->arrived_last,
      core::counted(most->collectives, "synchronising collective"), most->last_percent(),
      most->may_be_chance(ranks.size()) ? ", which may be chance" : "",
      time_in_words(most->total_wait_us),
      time_in_words(others_us / static_cast<double>(ranks.size() - 1)));
}

// Adds what is not matched across ranks but has a name. The public tool shows it in long sheets
// only.
void add_unmatched_kinds(const Study& study, OverviewRows& rows) {
  if (study.is_compat()) return;
  for (const RankEvents& rank : study.recording.ranks) {
    for (const Event& event : rank.events) {
      const Metadata& metadata = study.catalog()[event.metadata];
      if (metadata.name != 0 && !is_matched(metadata)) rows.add(event);
    }
  }
}

// Returns one row for each kind and size of collective, slowest total first. The note names the
// straggler.
model::Table overview(const Study& study) {
  using model::Better;
  OverviewRows rows(study);
  for (const Synchronised& item : study.synchronised)
    rows.add(item);
  for (const Exchange& item : study.exchanges)
    rows.add(item);
  add_unmatched_kinds(study, rows);
  const MetadataFields<OverviewRow> metadata(
      study, [](const OverviewRow& row) -> const Metadata& { return *row.metadata; });
  Fields<OverviewRow> fields = {
      metadata.name(),
      metadata.dtype(),
      metadata.size("MiB", &Metadata::full_mib),
      {{"ranks"},
       [](const OverviewRow& row) -> model::Cell {
         if (row.ranks < 0) return {};
         return row.ranks;
       }},
      {{"count", "", Better::kNeither, "collectives; kernels where ranks are not matched"},
       [](const OverviewRow& row) { return row.count; }},
      {{"mean us", "us", Better::kLower},
       [](const OverviewRow& row) { return real(row.mean(row.total_latency_us)); }},
      {{"bus GB/s", "GB/s", Better::kHigher},
       [](const OverviewRow& row) {
         return real(row.mean(row.total_gibps) * kGigabytesPerGibibyte);
       }},
      {kChannelsColumn, [](const OverviewRow& row) { return launch_cell(row.channels); }},
      {kThreadsColumn, [](const OverviewRow& row) { return launch_cell(row.threads); }},
      {{"skew us", "us", Better::kLower},
       [](const OverviewRow& row) { return real(row.mean(row.total_skew_us)); }},
      {{"last"}, usual_last},
  };
  if (!study.is_compat()) {
    const auto present = [](const OverviewRow& row) {
      return row.present < 0 ? model::Cell() : model::Cell(row.present);
    };
    fields.insert(fields.begin() + 4,
                  {{"present", "", Better::kNeither, "ranks with a part in it"}, present});
  }
  model::Table table = make_table(
      "collectives", "Collectives by kind and size: mean latency, bus bandwidth and skew of starts",
      fields, std::move(rows).by_total());
  if (table.row_count() == 0) {
    table.notes.emplace_back(
        "None that all ranks of a group share; nccl_summary_long holds the rest.");
  }
  if (!study.exchanges.empty() && !study.is_compat()) {
    table.notes.emplace_back(
        "all_to_allv lasts from the first rank's start to the last one's end: waiting for the last "
        "rank (skew) counts in its time and lowers its bandwidth.");
  }
  const std::string sentence = straggler_sentence(study);
  if (!sentence.empty()) table.notes.push_back(sentence);
  return table;
}

}  // namespace
}  // namespace assay::trace::collectives

namespace assay::trace {

collectives::RankRecording record_for_report(const RankAnalysis& rank) {
  collectives::RankRecording result = collectives::record_rank(rank);
  if (result.compat == Compat::kNone) result.overlap_percent = collectives::overlap_percent(rank);
  return result;
}

CollectiveReport collective_report(std::span<const collectives::RankRecording> ranks,
                                   std::optional<int> gpus_per_node) {
  const auto shared = std::make_shared<const collectives::Study>(
      collectives::study_collectives(collectives::join_ranks(ranks, gpus_per_node)));
  const collectives::Study& study = *shared;
  auto sheets = core::Registry<collectives::CollectiveSheet>::all();
  std::stable_sort(sheets.begin(), sheets.end(),
                   [](auto* a, auto* b) { return a->position < b->position; });
  CollectiveReport report{
      shared, {"Collectives of all ranks"}, collectives::overview(study), study.warnings};
  for (const auto* sheet : sheets) {
    for (model::Table& table : sheet->build(study))
      report.book.tables.push_back(std::move(table));
  }
  return report;
}

CollectiveReport collective_report(std::span<const RankAnalysis> ranks,
                                   std::optional<int> gpus_per_node) {
  std::vector<collectives::RankRecording> recordings;
  for (const RankAnalysis& rank : ranks)
    recordings.push_back(record_for_report(rank));
  return collective_report(recordings, gpus_per_node);
}

}  // namespace assay::trace
