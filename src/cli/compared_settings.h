// Commands that compare several settings with one baseline share the ranking, the page and the
// report over all of them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/channel_limits.h"
#include "sweep/made_order.h"
#include "sweep/ranking.h"
#include "sweep/run_doubts.h"
#include "trace/compare/joint_noise.h"
#include "trace/compare/setting_figures.h"
#include "trace/page/comparison_page.h"
#include "trace/pipelines.h"

namespace assay::cli {

inline constexpr double kTogether = 0.95;  // the confidence that all verdicts hold together

// A setting other than the baseline, with its comparison.
struct ComparedSetting {
  std::string name;
  std::string variables = {};    // "NCCL_MAX_CTAS=16"; "" for a setting without variables
  std::filesystem::path folder;  // of the comparison's files; "": there are none
  trace::CommandResult result = {};
};

// Holds what a sweep knows of the runs that are compared.
struct SweepRuns {
  sweep::RunDoubts doubts = {};
  sweep::MadeOrder positions = {};
  sweep::MadeOrder sessions = {};
  std::map<std::string, int> channel_limits = {};  // by setting
};

class ComparedSettings {
 public:
  // `request` is that of the comparisons; its confidence is that of one comparison alone.
  ComparedSettings(const std::string& baseline,
                   const std::string& baseline_variables,
                   std::vector<ComparedSetting> tests,
                   const trace::CompareRequest& request,
                   SweepRuns runs = {});

  // std::nullopt if no comparison has a timeline.
  [[nodiscard]] const std::optional<sweep::Ranking>& ranking() const { return ranking_; }

  // Returns final_analysis_report_for_all.
  [[nodiscard]] model::Book report() const;

  // "13 of 15 pairs of settings differ for certain; ..."; "" for a single pair.
  [[nodiscard]] std::string pairs_in_words() const;

  // Returns what opens the page: the answer, the ranking, and what all settings have in common.
  // `where` is the sweep's folder, "" for none. `book` must outlive the page.
  [[nodiscard]] trace::PageOpening opening(const model::Book& book, const std::string& where) const;

  [[nodiscard]] const std::vector<trace::ComparisonEvidence>& evidence() const { return evidence_; }

  // Returns those of the sweep, with the settings whose traces show that they were not applied.
  [[nodiscard]] const sweep::RunDoubts& doubts() const { return runs_.doubts; }

 private:
  [[nodiscard]] trace::CompareOptions options() const;
  // Judges all settings by the noise of all their runs; returns a sentence on that noise.
  std::string judge_together(std::vector<sweep::SettingResult>& results);
  void tell_unlike_work();    // of settings that do other work, or have other ranks
  void tell_repeated_runs();  // that are one measurement
  // Finds settings whose collectives had more channels than the setting allows.
  void find_unkept_limits();
  // Tells which settings are not compared, as repeats differ and they share too few of them.
  void tell_apart(const trace::JointNoise& noise);
  void tell_order(const trace::JointNoise& noise,
                  const trace::JointNoise& mean_noise,
                  std::span<const trace::JointRuns> runs);

  trace::CompareRequest request_;
  SweepRuns runs_;
  std::vector<trace::SettingFigures> figures_;  // the baseline first
  std::vector<trace::NcclCurve> curves_;        // of their GPU
  std::vector<trace::ComparisonEvidence> evidence_;
  std::optional<sweep::Ranking> ranking_;
};

}  // namespace assay::cli
