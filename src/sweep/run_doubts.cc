#include "sweep/run_doubts.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/counted.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

constexpr std::size_t kMostReasons = 3;

// Names why a variable did nothing in a run.
enum class Idle { kReachedNone, kNotRead };

// What came of the runs of one setting.
struct Outcome {
  int made = 0;
  int failed = 0;
  std::set<RunStatus> statuses;  // of those that failed
  std::set<std::string> reasons;
  std::set<int> ranks;                              // of the good runs
  std::map<Idle, std::map<std::string, int>> idle;  // good runs, by variable

  [[nodiscard]] int good() const { return made - failed; }
};

// Returns "NCCL_ALGO reached no process that loaded NCCL".
std::string idle_in_words(Idle why, const std::vector<std::string>& variables) {
  const bool is_one = variables.size() == 1;
  const char* words = "reached no process that loaded NCCL";
  if (why == Idle::kNotRead)
    words = is_one ? "is no variable of the library that was loaded"
                   : "are no variables of the library that was loaded";
  return fmt::format("{} {}", core::join(variables, ", "), words);
}

std::map<std::string, Outcome> outcomes_of(std::span<const RunRecord> records) {
  std::map<std::string, Outcome> outcomes;
  for (const RunRecord& record : records) {
    Outcome& outcome = outcomes[record.setting];
    ++outcome.made;
    if (record.status == RunStatus::kOk) {
      if (record.traces.expected > 0) outcome.ranks.insert(record.traces.expected);
      for (const std::string& variable : record.seen.not_applied)
        ++outcome.idle[Idle::kReachedNone][variable];
      for (const std::string& variable : record.seen.not_read)
        ++outcome.idle[Idle::kNotRead][variable];
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

// Returns whether settings differ in the variable.
bool differs(const Plan& plan, const std::string& variable) {
  const auto value_in = [&variable](const Setting& setting) {
    for (const auto& [name, value] : setting.variables)
      if (name == variable) return value;
    return std::string();
  };
  return std::any_of(plan.settings.begin(), plan.settings.end(), [&](const Setting& setting) {
    return value_in(setting) != value_in(plan.settings.front());
  });
}

// Returns the variables that no library read and in which settings do not differ.
std::vector<std::string> idle_in_all(const Plan& plan,
                                     const std::map<std::string, Outcome>& outcomes) {
  std::set<std::string> variables;
  for (const auto& [setting, outcome] : outcomes) {
    const auto not_read = outcome.idle.find(Idle::kNotRead);
    if (not_read == outcome.idle.end()) continue;
    for (const auto& [variable, runs] : not_read->second)
      if (!differs(plan, variable)) variables.insert(variable);
  }
  return {variables.begin(), variables.end()};
}

// Variables that did nothing in all good runs of a setting void it where settings differ in them;
// others are told.
void add_idle(const Plan& plan,
              const std::string& setting,
              const Outcome& outcome,
              RunDoubts& doubts) {
  std::map<std::string, int> idle_runs;  // for whichever reason, by variable
  for (const auto& [why, variables] : outcome.idle)
    for (const auto& [variable, runs] : variables)
      idle_runs[variable] += runs;
  std::vector<std::string> texts;
  for (const auto& [why, variables] : outcome.idle) {
    std::vector<std::string> always;
    for (const auto& [variable, runs] : variables) {
      if (why == Idle::kNotRead && !differs(plan, variable)) continue;
      if (idle_runs.at(variable) == outcome.good())
        always.push_back(variable);
      else
        doubts.others.push_back(
            fmt::format("{} in {} of {} good runs of {}, which count all the same",
                        idle_in_words(why, {variable}), runs, outcome.good(), setting));
    }
    if (!always.empty()) texts.push_back(idle_in_words(why, always));
  }
  if (!texts.empty()) doubts.missing[setting] = core::join(texts, ", ");
}

}  // namespace

std::string idle_in_words(const Plan& plan, const Observation& seen) {
  std::vector<std::string> texts;
  if (!seen.not_applied.empty())
    texts.push_back(idle_in_words(Idle::kReachedNone, seen.not_applied));
  std::vector<std::string> not_read = seen.not_read;
  std::erase_if(not_read, [&](const std::string& name) { return !differs(plan, name); });
  if (!not_read.empty()) texts.push_back(idle_in_words(Idle::kNotRead, not_read));
  return core::join(texts, ", ");
}

RunDoubts run_doubts(const Plan& plan,
                     std::span<const RunRecord> records,
                     const std::string& reference) {
  RunDoubts doubts{.planned = plan.repeats};
  const std::map<std::string, Outcome> outcomes = outcomes_of(records);
  for (const auto& [setting, outcome] : outcomes) {
    if (outcome.failed > 0)
      doubts.failed[setting] = failed_in_words(setting, outcome, plan.repeats);
    add_idle(plan, setting, outcome, doubts);
  }
  if (const std::vector<std::string> idle = idle_in_all(plan, outcomes); !idle.empty())
    doubts.others.push_back(idle_in_words(Idle::kNotRead, idle) +
                            ", which changes nothing between settings");
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
  for (const auto& [setting, why] : doubts.missing)
    settings[why].push_back(setting);
  std::vector<std::string> texts;
  for (const auto& [why, names] : settings)
    texts.push_back(fmt::format("{} in runs of {}", why, core::join(names, ", ")));
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
