#include "trace/lost_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace assay::trace {
namespace {

// What one or several of the ranks have.
constexpr std::array<std::string_view, 4> kWords = {
    "a trace that cannot be read", "no GPU work to count",
    "no GPU work in a trace that is cut off or damaged", "a trace that is cut off or damaged"};

std::string_view words_of(Loss loss) {
  return kWords[static_cast<std::size_t>(loss)];
}

// Returns "rank 1 has", "ranks 1, 3 have" or "a file of unknown rank has".
std::string subject_of(const std::vector<int>& ranks, std::size_t unknown) {
  std::vector<std::string> names;
  if (!ranks.empty())
    names.push_back((ranks.size() == 1 ? "rank " : "ranks ") + core::join(ranks, ", "));
  if (unknown == 1) names.emplace_back("a file of unknown rank");
  if (unknown > 1) names.push_back(fmt::format("{} files of unknown rank", unknown));
  return core::join(names, " and ") + (ranks.size() + unknown == 1 ? " has" : " have");
}

}  // namespace

std::string ranks_in_words(const std::vector<int>& ranks) {
  constexpr std::size_t kRanksNamed = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kRanksNamed); ++i)
    names.push_back(std::to_string(ranks[i]));
  std::string last = names.back();
  if (ranks.size() > kRanksNamed) {
    last = fmt::format("{} more", ranks.size() - kRanksNamed);
  } else {
    names.pop_back();
  }
  if (names.empty()) return "rank " + last;
  return fmt::format("ranks {} and {}", core::join(names, ", "), last);
}

std::string lost_ranks_in_words(std::span<const LostRank> ranks, Showing showing) {
  std::vector<std::string> texts;
  for (const Loss loss :
       {Loss::kUnreadable, Loss::kNoGpuWork, Loss::kCutBeforeGpuWork, Loss::kCut}) {
    std::vector<int> known;
    std::size_t unknown = 0;
    for (const LostRank& rank : ranks) {
      if (rank.loss != loss) continue;
      if (rank.rank)
        known.push_back(*rank.rank);
      else
        ++unknown;
    }
    const std::size_t count = known.size() + unknown;
    if (count == 0) continue;
    const bool has_figures = loss == Loss::kCut && showing == Showing::kEachAlone;
    texts.push_back(
        fmt::format("{} {}, so {} {}", subject_of(known, unknown), words_of(loss),
                    has_figures ? "figures are missing of" : "all that was written lacks",
                    count == 1 ? "it" : "them"));
  }
  return core::join(texts, "; ");
}

model::Table lost_ranks_table(std::span<const LostRank> ranks) {
  model::Table table{
      .name = kIncompleteRanks,
      .title = "Ranks whose traces are not whole, so that figures lack them or are missing of them",
      .columns = {{.name = "rank"}, {.name = "has"}, {.name = "trace"}}};
  for (const LostRank& rank : ranks)
    table.add_row({rank.rank ? model::Cell(std::int64_t{*rank.rank}) : model::Cell(),
                   std::string(words_of(rank.loss)), rank.path});
  return table;
}

std::vector<LostRank> lost_ranks_of(const model::Table& table) {
  std::vector<LostRank> ranks;
  const auto number = table.column("rank");
  const auto words = table.column("has");
  const auto trace = table.column("trace");
  if (!number || !words || !trace) return ranks;
  for (std::size_t row = 0; row < table.row_count(); ++row) {
    const auto known = std::find(kWords.begin(), kWords.end(), model::text(table.at(row, *words)));
    if (known == kWords.end()) continue;
    LostRank rank{.rank = std::nullopt,
                  .loss = static_cast<Loss>(known - kWords.begin()),
                  .path = model::text(table.at(row, *trace))};
    if (const auto* own = std::get_if<std::int64_t>(&table.at(row, *number)))
      rank.rank = static_cast<int>(*own);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace assay::trace
