// The settings of a sweep against one of them, the fastest first: which one to take, as a
// sentence, a table and a figure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "model/verdict.h"
#include "report/ranking.h"

namespace assay::sweep {

// NaN where there is no value.
struct SettingResult {
  std::string setting;
  std::string variables = {};  // "NCCL_MAX_CTAS=16", "" for one that sets nothing
  std::size_t runs = 0;        // that went well
  std::size_t steps = 0;       // over all of them
  double step_ms = 0;          // mean
  double change_percent = 0;   // against the reference, positive when faster; NaN for itself
  double change_percent_low = 0;
  double change_percent_high = 0;
  std::string verdict = {};
  std::string needed = {};      // where unclear: how many repetitions would tell
  std::string comparison = {};  // the workbook of the comparison with the reference
};

// How the settings were compared.
struct RankingRules {
  double together = 0.95;  // confidence that all intervals hold at once
  double tolerance_percent = model::kTolerancePercent;
  std::string repetition = "step";  // what the intervals count: "run" or "step"
};

// With so many comparisons against one reference, each needs this confidence for all of them
// together to be right with `together` (Bonferroni).
double confidence_of_each(double together, std::size_t comparisons);

class Ranking {
 public:
  // The first result is that of the reference.
  Ranking(std::vector<SettingResult> results, RankingRules rules);

  // Which setting to use, in one sentence with its number, unit and certainty.
  [[nodiscard]] std::string answer() const;

  // The command to run or the file to read next.
  [[nodiscard]] std::string next(const std::string& sweep_folder) const;

  // The answer, what next, how it was judged, and a row for each setting.
  [[nodiscard]] model::Table table(const std::string& sweep_folder) const;

  [[nodiscard]] report::RankingFigure figure() const;

 private:
  [[nodiscard]] std::vector<const SettingResult*> with(model::Verdict verdict) const;
  [[nodiscard]] std::string certainty(const SettingResult& result) const;
  [[nodiscard]] std::string rest_in_words() const;
  [[nodiscard]] double confidence() const;

  RankingRules rules_;
  std::string reference_;
  std::vector<SettingResult> settings_;  // the fastest first
};

}  // namespace assay::sweep
