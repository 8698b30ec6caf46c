// Shows what came of a study: a table with a row for each task, a figure, and a page of both.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "model/table.h"
#include "report/curves.h"
#include "report/page.h"
#include "report/ranking.h"
#include "simulate/study/study.h"
#include "simulate/study/task_result.h"

namespace assay::simulate {

// A study and what came of each of its tasks.
struct StudyOutcome {
  const Study& study;
  const std::vector<StudyTask>& tasks;
  const std::vector<TaskResult>& results;

  [[nodiscard]] std::size_t failed() const;
};

// The axes of tasks, and no results.
model::Table task_table(const Study& study, const std::vector<StudyTask>& tasks);

model::Table result_table(const StudyOutcome& outcome);

// The time of each network over the number of ranks; of one number of ranks, how much longer each
// task takes than what it is compared with. std::nullopt: there is nothing to compare.
using StudyFigure = std::variant<report::CurveFigure, report::RankingFigure>;
std::optional<StudyFigure> study_figure(const StudyOutcome& outcome);

// `table` is that of the results, and must outlive the page.
report::Page study_page(const StudyOutcome& outcome, const model::Table& table);

}  // namespace assay::simulate
