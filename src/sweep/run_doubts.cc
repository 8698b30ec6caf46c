#include "sweep/run_doubts.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/counted.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

constexpr std::size_t kMostReasons = 3;

// What came of the runs of one setting.
struct Outcome {
  int made = 0;
  int failed = 0;
  std::set<RunStatus> statuses;  // of those that failed
  std::set<std::string> reasons;
  std::set<int> ranks;                 // of the good runs
  std::map<std::string, int> missing;  // good runs in which a variable reached no process
};

std::map<std::string, Outcome> outcomes_of(std::span<const RunRecord> records) {
  std::map<std::string, Outcome> outcomes;
  for (const RunRecord& record : records) {
    Outcome& outcome = outcomes[record.setting];
    ++outcome.made;
    if (record.status == RunStatus::kOk) {
      if (record.traces.expected > 0) outcome.ranks.insert(record.traces.expected);
      for (const std::string& variable : record.seen.not_applied)
        ++outcome.missing[variable];
      continue;
    }
    ++outcome.failed;
    outcome.statuses.insert(record.status);
    outcome.reasons.insert(record.detail.empty() ? status_text(record.status) : record.detail);
  }
  return outcomes;
}

// Returns "2 of 4 runs of b-x failed (exit code 7)".
std::string failed_in_words(const std::string& setting, const Outcome& outcome, int planned) {
  std::vector<std::string> reasons(outcome.reasons.begin(), outcome.reasons.end());
  if (reasons.size() > kMostReasons) {
    reasons.resize(kMostReasons);
    reasons.emplace_back("and others");
  }
  const bool all_failed =
      std::all_of(outcome.statuses.begin(), outcome.statuses.end(),
                  [](RunStatus status) { return status == RunStatus::kFailed; });
  return fmt::format("{} of {} of {} {} ({})", outcome.failed,
                     core::counted(std::max(planned, outcome.made), "run"), setting,
                     all_failed ? "failed" : "did not go well", core::join(reasons, "; "));
}

// Returns "a-x ran with 2 ranks, b-x with 4, so they did not do the same work", "" where all
// settings have equally many.
std::string ranks_in_words(const Plan& plan, const std::map<std::string, Outcome>& outcomes) {
  std::set<int> all;
  std::vector<std::string> texts;
  for (const Setting& setting : plan.settings) {
    const auto found = outcomes.find(setting.name);
    if (found == outcomes.end() || found->second.ranks.empty()) continue;
    const std::set<int>& ranks = found->second.ranks;
    all.insert(ranks.begin(), ranks.end());
    std::vector<std::string> counts;
    for (const int count : ranks)
      counts.push_back(std::to_string(count));
    texts.push_back(
        texts.empty()
            ? fmt::format("{} ran with {} ranks", setting.name, core::join(counts, " and "))
            : fmt::format("{} with {}", setting.name, core::join(counts, " and ")));
  }
  if (all.size() < 2) return "";
  return core::join(texts, ", ") + ", so they did not do the same work";
}

}  // namespace

RunDoubts run_doubts(const Plan& plan,
                     std::span<const RunRecord> records,
                     const std::string& reference) {
  RunDoubts doubts{.planned = plan.repeats};
  const std::map<std::string, Outcome> outcomes = outcomes_of(records);
  for (const auto& [setting, outcome] : outcomes) {
    if (outcome.failed > 0)
      doubts.failed[setting] = failed_in_words(setting, outcome, plan.repeats);
    std::vector<std::string> never;
    for (const auto& [variable, runs] : outcome.missing) {
      const int good = outcome.made - outcome.failed;
      if (runs == good)
        never.push_back(variable);
      else
        doubts.others.push_back(
            fmt::format("{} reached no process that loaded NCCL in {} of {} good runs of {}, which "
                        "count all the same",
                        variable, runs, good, setting));
    }
    if (!never.empty()) doubts.missing[setting] = core::join(never, ", ");
  }
  for (const Setting& setting : plan.settings) {
    const auto found = outcomes.find(setting.name);
    if (found != outcomes.end() && found->second.failed == found->second.made)
      doubts.without_good_run.push_back(setting.name);
  }
  const std::string& first = plan.settings.front().name;
  const auto found = outcomes.find(first);
  const bool has_good_run = found != outcomes.end() && found->second.failed < found->second.made;
  if (first != reference && !has_good_run)
    doubts.others.push_back(
        fmt::format("The first setting, {}, has no good run: the others are compared with {}",
                    first, reference));
  const std::size_t all = plan.settings.size() * static_cast<std::size_t>(plan.repeats);
  if (records.size() < all)
    doubts.others.push_back(
        fmt::format("Only {} of {} have a whole record: the sweep is not finished", records.size(),
                    core::counted(all, "run")));
  if (const std::string ranks = ranks_in_words(plan, outcomes); !ranks.empty())
    doubts.others.push_back(ranks);
  return doubts;
}

std::string not_applied_in_words(const RunDoubts& doubts) {
  std::map<std::string, std::vector<std::string>> settings;
  for (const auto& [setting, variables] : doubts.missing)
    settings[variables].push_back(setting);
  std::vector<std::string> texts;
  for (const auto& [variables, names] : settings)
    texts.push_back(fmt::format("{} reached no process that loaded NCCL in runs of {}", variables,
                                core::join(names, ", ")));
  return core::join(texts, "; ");
}

std::vector<std::string> RunDoubts::sentences() const {
  std::vector<std::string> texts;
  if (const std::string missing_ones = not_applied_in_words(*this); !missing_ones.empty())
    texts.push_back(missing_ones + ": the setting was not applied.");
  for (const std::string& other : others)
    texts.push_back(other + ".");
  for (const auto& [setting, words] : failed)
    texts.push_back(words + ".");
  return texts;
}

}  // namespace assay::sweep
