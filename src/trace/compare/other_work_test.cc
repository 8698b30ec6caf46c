#include "trace/compare/other_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/compare/compare_test_util.h"
#include "trace/sheets/work_table.h"

namespace assay::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What a step of one rank does.
struct Work {
  double kernels = kNaN;
  double elements = kNaN;
  double collectives = kNaN;
  double message_bytes = kNaN;
};

RankReport report_of(int rank, const Work& work) {
  RankReport report = testing::rank_report(rank, {{"total_time", {60, 61}}});
  model::Table table{.name = kWorkSheet,
                     .title = "",
                     .columns = {{.name = kKernelsColumn},
                                 {.name = kElementsColumn},
                                 {.name = kCollectivesColumn},
                                 {.name = kMessageBytesColumn}}};
  table.add_row({work.kernels, work.elements, work.collectives, work.message_bytes});
  report.book.tables.push_back(std::move(table));
  return report;
}

Configuration side(const std::string& label, const std::vector<Work>& ranks) {
  Configuration side{.label = label, .ranks = {}, .collectives = {}};
  for (const Work& work : ranks)
    side.ranks.push_back(report_of(static_cast<int>(side.ranks.size()), work));
  return side;
}

const Work kWork{.kernels = 17, .elements = 1e6, .collectives = 4, .message_bytes = 268e6};

std::string headline_of(const Work& test) {
  return answer({side("a", {kWork}), side("b", {test})}).lines[0].answer;
}

TEST(OtherWork, IsToldBesideTheHeadline) {
  Work larger = kWork;
  larger.elements *= 2;
  EXPECT_THAT(headline_of(larger),
              HasSubstr(" But b does other work than a, or the same in another way: a step of a "
                        "rank has kernels whose operators take in 2 times the elements."));
  const Work fewer{.kernels = 13, .elements = 1e6, .collectives = 3, .message_bytes = 201e6};
  EXPECT_THAT(
      headline_of(fewer),
      HasSubstr("has 13 kernels, not 17; 3 collectives, not 4; messages of 201 MB, not 268."));
}

TEST(OtherWork, WhatHardlyDiffersOrIsNotKnownIsNone) {
  Work alike = kWork;
  alike.kernels = 17.5;
  EXPECT_THAT(headline_of(alike), Not(HasSubstr("other work")));
  EXPECT_THAT(headline_of(Work{}), Not(HasSubstr("other work")));
}

TEST(OtherWork, IsNoReasonToUseASetting) {
  Work fewer = kWork;
  fewer.kernels /= 2;
  const auto next = [](const Work& test) {
    const Configuration a = side("a", {kWork});
    const Configuration b = side("b", {test});
    for (const AnswerLine& line : answer({a, b}).lines)
      if (line.question == kNextQuestion) return line.answer;
    return std::string();
  };
  EXPECT_THAT(next(fewer), StartsWith("Find out whether b does the work of a in another way"));
  EXPECT_THAT(next(kWork), HasSubstr("Run each three times or more"));
}

// A step that the trace holds in part tells nothing of the others.
TEST(OtherWork, IsThatOfTheStepsThatCount) {
  Configuration cut = side("b", {kWork});
  model::Table& work = cut.ranks.front().book.tables.back();
  work.columns.insert(work.columns.begin(), {.name = "step"});
  work.cells.clear();
  for (const std::int64_t step : {3, 4, 9})
    work.add_row({step, step == 9 ? 1.0 : kWork.kernels, kWork.elements, kWork.collectives,
                  kWork.message_bytes});
  EXPECT_THAT(answer({side("a", {kWork}), cut}).lines[0].answer, Not(HasSubstr("other work")));
}

// Ranks 2 and 3 send more than the others, and one side did not record how much.
TEST(OtherWork, ComparesTheRanksOfWhichBothSidesTellIt) {
  Work larger = kWork;
  larger.message_bytes *= 3;
  Work unknown = kWork;
  unknown.message_bytes = kNaN;
  const Configuration all = side("a", {kWork, kWork, larger, larger});
  EXPECT_THAT(answer({all, side("b", {kWork, kWork, unknown, unknown})}).lines[0].answer,
              Not(HasSubstr("other work")));
  EXPECT_THAT(answer({all, side("b", {kWork, larger, unknown, unknown})}).lines[0].answer,
              HasSubstr("has messages of 536 MB, not 268."));
}

}  // namespace
}  // namespace assay::trace
