#include "trace/compare/other_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/compare/compare_test_util.h"
#include "trace/sheets/work_table.h"

namespace assay::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Configuration side(const std::string& label, const StepWork& work) {
  Configuration side{.label = label, .ranks = {}, .collectives = {}};
  side.ranks = {testing::rank_report(0, {{"total_time", {60, 61}}})};
  model::Table table{.name = kWorkSheet,
                     .title = "",
                     .columns = {{.name = kKernelsColumn},
                                 {.name = kElementsColumn},
                                 {.name = kCollectivesColumn},
                                 {.name = kMessageBytesColumn}}};
  table.add_row({work.kernels, work.elements, work.collectives, work.message_bytes});
  side.ranks.front().book.tables.push_back(std::move(table));
  return side;
}

const StepWork kWork{.kernels = 17, .elements = 1e6, .collectives = 4, .message_bytes = 268e6};

std::string headline_of(const StepWork& test) {
  return answer({side("a", kWork), side("b", test)}).lines[0].answer;
}

TEST(OtherWork, IsToldBesideTheHeadline) {
  StepWork larger = kWork;
  larger.elements *= 2;
  EXPECT_THAT(headline_of(larger),
              HasSubstr(" But b does other work than a, or the same in another way: a step of a "
                        "rank has kernels whose operators take in 2 times the elements."));
  const StepWork fewer{.kernels = 13, .elements = 1e6, .collectives = 3, .message_bytes = 201e6};
  EXPECT_THAT(
      headline_of(fewer),
      HasSubstr("has 13 kernels, not 17; 3 collectives, not 4; messages of 201 MB, not 268."));
}

TEST(OtherWork, WhatHardlyDiffersOrIsNotKnownIsNone) {
  StepWork alike = kWork;
  alike.kernels = 17.5;
  EXPECT_THAT(headline_of(alike), Not(HasSubstr("other work")));
  EXPECT_THAT(headline_of(StepWork{}), Not(HasSubstr("other work")));
}

}  // namespace
}  // namespace assay::trace
