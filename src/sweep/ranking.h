// Compares the settings of a sweep with one of them, and says which one to use, in a sentence, a
// table and a figure. Settings are sorted by time, the fastest first.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "model/verdict.h"
#include "report/ranking.h"
#include "sweep/run_doubts.h"

namespace assay::sweep {

// The result of one setting. Numbers are NaN where there is no value.
struct SettingResult {
  std::string setting;
  std::string variables = {};       // "NCCL_MAX_CTAS=16"; "" for a setting without variables
  std::size_t runs = 0;             // successful runs
  std::size_t steps = 0;            // in all these runs
  std::size_t repetitions = 0;      // that the interval counts
  std::string repetition = "step";  // what they are: "run" or "step"
  double step_ms = 0;               // the steady period, as measured
  double mean_ms = std::numeric_limits<double>::quiet_NaN();  // of all profiled steps
  // Against the reference; positive if faster, NaN for the reference. An effect of the order of
  // runs may be taken out of it, so that it is not that of the measured steps.
  double change_percent = 0;
  double change_percent_low = 0;
  double change_percent_high = 0;
  // The same of the mean of all profiled steps.
  double mean_change_percent = std::numeric_limits<double>::quiet_NaN();
  double mean_change_percent_low = std::numeric_limits<double>::quiet_NaN();
  double mean_change_percent_high = std::numeric_limits<double>::quiet_NaN();
  std::string verdict = {};
  std::string mean_verdict = {};  // of the mean of all profiled steps
  std::string needed = {};        // if unclear: the number of repetitions that would decide
  std::string transients = {};    // the steps that are not steady, in sentences
  std::string comparison = {};    // the workbook of the comparison with the reference
};

// The rules by which the settings were compared.
struct RankingRules {
  double together = 0.95;  // confidence that all intervals hold together
  double tolerance_percent = model::kTolerancePercent;
  std::string noise = {};  // a sentence on the noise that the intervals count; may be empty
};

class Ranking {
 public:
  // The first result must be the reference's.
  Ranking(std::vector<SettingResult> results, RankingRules rules, RunDoubts doubts = {});

  // Returns which setting to use, in one sentence with the difference, its unit and its certainty,
  // and what makes that doubtful.
  [[nodiscard]] std::string answer() const;

  // Returns what could make the answer wrong, as sentences.
  [[nodiscard]] std::vector<std::string> doubts() const;

  // Returns the setting to use or to look at first; "" if none is better than the reference.
  [[nodiscard]] std::string best() const;

  // Returns whether a setting is slower, by its steady steps or by all of them.
  [[nodiscard]] bool finds_regression() const;

  // Returns whether the reference's variables reached its processes, so that there is something to
  // compare with.
  [[nodiscard]] bool has_reference() const;

  // Returns the command to run next, or the file to read next. `sweep_folder` is empty where no
  // sweep made the runs.
  [[nodiscard]] std::string next(const std::string& sweep_folder) const;

  // Returns one row for each setting, with the answer, the next step and the rules of the
  // comparison.
  [[nodiscard]] model::Table table(const std::string& sweep_folder) const;

  [[nodiscard]] report::RankingFigure figure() const;

 private:
  // Returns the settings with this verdict. Those that differ in these runs alone are among the
  // better or the worse; those whose slow steps contradict their verdict are not among any.
  [[nodiscard]] std::vector<const SettingResult*> with(model::Verdict verdict) const;
  [[nodiscard]] std::vector<const SettingResult*> with_slow_steps(model::SlowSteps slow) const;
  // Returns whether the setting and the reference were both run repeatedly, so that the noise
  // between the runs of each is known.
  [[nodiscard]] bool knows_runs(const SettingResult& result) const;
  [[nodiscard]] bool knows_all_runs() const;
  // Returns whether the setting did the reference's work on the same ranks, as far as traces tell.
  [[nodiscard]] bool is_like_reference(const SettingResult& result) const;
  [[nodiscard]] std::string counted_in_words() const;
  [[nodiscard]] std::string certainty(const SettingResult& result) const;
  [[nodiscard]] std::string choice_in_words() const;
  [[nodiscard]] std::string rest_in_words() const;
  // Returns which of the other settings an answer about all of them means: "", or " that was
  // applied" where others have no verdict.
  [[nodiscard]] std::string judged_ones() const;
  [[nodiscard]] std::string slow_steps_in_words() const;
  [[nodiscard]] std::string contradiction_in_words(const SettingResult& result) const;
  [[nodiscard]] std::string measure_more(const std::string& sweep_folder) const;
  [[nodiscard]] std::string next_of_best(const std::string& sweep_folder) const;
  [[nodiscard]] std::string next_of_slow_steps() const;
  [[nodiscard]] std::string next_of_other_ranks(const std::string& setting) const;
  [[nodiscard]] std::vector<model::Column> columns() const;
  [[nodiscard]] std::string repetitions_in_words() const;
  [[nodiscard]] std::string headline() const;
  [[nodiscard]] double confidence() const;

  RankingRules rules_;
  std::string reference_;
  std::size_t reference_runs_;
  std::vector<SettingResult> settings_;  // the fastest first
  RunDoubts doubts_;
};

}  // namespace assay::sweep
