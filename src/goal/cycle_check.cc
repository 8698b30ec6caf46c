#include "goal/cycle_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace assay::goal {
namespace {

using model::PackedIndex;
using model::RankView;

constexpr std::size_t kShownOperations = 8;

template <class Call>
void each_dependent(const RankView& rank, std::uint32_t op, const Call& call) {
  for (const PackedIndex& dependent : rank.after_finish(rank.ops[op]))
    call(std::uint32_t{dependent.value});
  for (const PackedIndex& dependent : rank.after_start(rank.ops[op]))
    call(std::uint32_t{dependent.value});
}

// In nearly every schedule operations wait for earlier ones only, which leaves no room for a
// circle.
bool only_forward(const RankView& rank) {
  bool forward = true;
  for (std::uint32_t op = 0; forward && op < rank.ops.size(); ++op)
    each_dependent(rank, op, [&](std::uint32_t dependent) { forward &= dependent > op; });
  return forward;
}

// For each operation how many it waits for that never end, after everything ran that can.
std::vector<std::uint32_t> run_what_can(const RankView& rank) {
  std::vector<std::uint32_t> missing(rank.ops.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
    missing[op] = rank.ops[op].dependencies;
    if (missing[op] == 0) ready.push_back(op);
  }
  while (!ready.empty()) {
    const std::uint32_t op = ready.back();
    ready.pop_back();
    each_dependent(rank, op, [&](std::uint32_t dependent) {
      if (--missing[dependent] == 0) ready.push_back(dependent);
    });
  }
  return missing;
}

}  // namespace

std::vector<std::uint32_t> find_cycle(const RankView& rank) {
  if (only_forward(rank)) return {};
  const std::vector<std::uint32_t> missing = run_what_can(rank);
  const auto stuck = std::find_if(missing.begin(), missing.end(), [](auto n) { return n > 0; });
  if (stuck == missing.end()) return {};

  // Whatever is stuck waits for something stuck: going back so must come round.
  std::vector<std::uint32_t> before(rank.ops.size());
  for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
    if (missing[op] > 0)
      each_dependent(rank, op, [&](std::uint32_t dependent) { before[dependent] = op; });
  }
  std::vector<bool> seen(rank.ops.size());
  auto op = static_cast<std::uint32_t>(stuck - missing.begin());
  while (!seen[op]) {
    seen[op] = true;
    op = before[op];
  }
  std::vector<std::uint32_t> cycle{op};
  for (std::uint32_t at = before[op]; at != op; at = before[at])
    cycle.push_back(at);
  std::reverse(cycle.begin() + 1, cycle.end());
  return cycle;
}

void check_cycles(const model::Schedule& schedule, Findings& findings) {
  for (std::size_t rank = 0; rank < schedule.ranks().size(); ++rank) {
    const std::vector<std::uint32_t> cycle = find_cycle(schedule.ranks()[rank]);
    if (cycle.empty()) continue;
    findings.add(FindingKind::kCycle, [&] {
      std::string text = fmt::format("rank {}: operations ", rank);
      for (std::size_t i = 0; i < std::min(cycle.size(), kShownOperations); ++i)
        text += fmt::format("{} -> ", cycle[i]);
      if (cycle.size() > kShownOperations) text += fmt::format("({} in all) -> ", cycle.size());
      return text + fmt::format("{}", cycle.front());
    });
  }
}

}  // namespace assay::goal
