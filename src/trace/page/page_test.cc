#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "trace/compare/answer.h"
#include "trace/page/cards.h"
#include "trace/page/comparison_page.h"
#include "trace/page/step_timeline.h"

namespace assay::trace {
namespace {

using testing::Contains;
using testing::ElementsAre;

SideEvidence side(const std::string& label, double computation_ms) {
  SideEvidence evidence{.label = label, .steady = {}};
  for (int rank = 0; rank < 2; ++rank) {
    for (std::int64_t step = 5; step < 8; ++step) {
      const double total = computation_ms + static_cast<double>(step == 5 ? 10 : 2);
      evidence.steps.push_back({.rank = rank, .step = step, .period_ms = total});
      if (step == 5) continue;  // it is not steady
      const auto add = [&](const char* type, double time_ms) {
        evidence.steady.push_back({.rank = rank, .step = step, .type = type, .time_ms = time_ms});
      };
      add("total_time", total);
      add("computation_time", computation_ms);
      add("exposed_comm_time", total - computation_ms);
      add("exposed_memcpy_time", 0);
      add("idle_time", 0);
    }
  }
  return evidence;
}

model::Table attribution() {
  model::Table table{.name = "Attribution",
                     .title = "Why a step takes +4 ms",
                     .columns = {{.name = "Part"},
                                 {.name = "Row"},
                                 {.name = "a (ms)"},
                                 {.name = "b (ms)"},
                                 {.name = "Change (ms)"},
                                 {.name = "Share (%)"},
                                 {.name = "In words"},
                                 {.name = "Evidence"}},
                     .notes = {"Of +4 ms a step: communication +5 ms."}};
  const model::Cell none;
  table.add_row({"kernels: clock", "part", none, none, 0.0, 0.0, "", ""});
  table.add_row({"kernels: other changes", "part", none, none, -1.0, -25.0, "less", "below"});
  table.add_row({"communication: bandwidth", "part", none, none, 5.0, 125.0, "slower",
                 "NCCL_ImplSync_Cmp: allreduce"});
  table.add_row({"allreduce", "detail", none, none, 4.5, none, "", ""});
  table.add_row({"total", "total", 12.0, 16.0, 4.0, 100.0, "", ""});
  return table;
}

ComparisonEvidence evidence() {
  ComparisonEvidence result{.report = {.title = "b against a", .tables = {}},
                            .baseline = side("a", 10),
                            .test = side("b", 14)};
  model::Table answer{
      .name = "Answer", .title = "t", .columns = {{.name = "Question"}, {.name = "Answer"}}};
  answer.add_row({"Which setting is better?", "b is 40 % slower than a."});
  answer.add_row({"What next?", "Keep a."});
  result.report.tables = {answer, attribution()};
  result.report.tables.push_back(
      {.name = "NCCL_ImplSync_Cmp", .title = "t", .columns = {{.name = "x"}}});
  return result;
}

std::vector<std::string> ids(const std::vector<report::PageCard>& cards) {
  std::vector<std::string> result;
  for (const report::PageCard& card : cards)
    result.push_back(card.id);
  return result;
}

TEST(ComparisonPage, TheAttributionAddsUpAndLeadsToItsRows) {
  const ComparisonEvidence both = evidence();
  const auto chart = attribution_chart(both, "");
  ASSERT_TRUE(chart);
  double sum = chart->from.value;
  for (const report::WaterfallPart& part : chart->parts)
    sum += part.value;
  EXPECT_DOUBLE_EQ(sum, chart->to.value);
  ASSERT_EQ(chart->parts.size(), 2U);  // no part of zero, no detail
  EXPECT_EQ(chart->parts[0].card, "Attribution");
  EXPECT_EQ(chart->parts[1].card, "NCCL_ImplSync_Cmp");
}

TEST(ComparisonPage, APartThatRoundsToNothingHasNoBar) {
  ComparisonEvidence both = evidence();
  both.report.tables[1].add_row({"parts below 0.01 ms each", "part", model::Cell(), model::Cell(),
                                 0.0001, 0.0, "less than the clocks can tell", ""});
  EXPECT_EQ(attribution_chart(both, "")->parts.size(), 2U);
}

TEST(ComparisonPage, AnswersWithTheLargestPartFirst) {
  const ComparisonEvidence both = evidence();
  const report::Page page = comparison_page(both, std::nullopt);
  EXPECT_EQ(page.answer.sentence, "b is 40 % slower than a.");
  ASSERT_EQ(page.answer.why.size(), 2U);
  EXPECT_THAT(page.answer.why[0].text, testing::StartsWith("communication: bandwidth: +5 ms (125"));
  ASSERT_EQ(page.answer.next.size(), 1U);
  EXPECT_THAT(ids(page.cards),
              ElementsAre("attribution", "composition", "steps-baseline", "steps-test", "Answer",
                          "Attribution", "NCCL_ImplSync_Cmp"));
}

TEST(ComparisonPage, WithoutAnAttributionThereIsNoCardOfIt) {
  ComparisonEvidence both = evidence();
  both.report.tables.erase(both.report.tables.begin() + 1);
  EXPECT_FALSE(attribution_chart(both, ""));
  const report::Page page = comparison_page(both, std::nullopt);
  EXPECT_THAT(ids(page.cards), testing::Not(Contains("attribution")));
}

TEST(ComparisonPage, MapsEveryStepOfEveryRank) {
  const auto map = step_map(side("a", 10));
  ASSERT_TRUE(map);
  EXPECT_THAT(map->columns, ElementsAre("5", "6", "7"));
  EXPECT_THAT(map->panels[0].values, ElementsAre(20, 12, 12, 20, 12, 12));
}

TEST(ComparisonPage, TheBarsOfAStepAreAsLongAsItsAnswerSays) {
  const auto composition = composition_chart(evidence());
  ASSERT_TRUE(composition);
  ASSERT_EQ(composition->bars.size(), 4U);
  EXPECT_THAT(composition->bars[0].values, ElementsAre(10, 2, 0, 0));
  EXPECT_THAT(composition->bars[2].values, ElementsAre(14, 2, 0, 0));
}

TEST(ComparisonPage, WarnsOnceOfWhatIsMissing) {
  std::vector<ComparisonEvidence> both = {evidence(), evidence()};
  both[1].test.label = "c";
  for (ComparisonEvidence& one : both)
    one.report.tables[0].add_row({kMissingQuestion, "a: rank 1 has no trace."});
  const report::Page page = comparison_page(both[0], std::nullopt);
  ASSERT_EQ(page.answer.warnings.size(), 1U);
  EXPECT_EQ(page.answer.warnings[0].text, "a: rank 1 has no trace.");
  EXPECT_EQ(page.answer.warnings[0].card, "Answer");
  const report::Page all =
      comparisons_page({.title = "t", .answer = {.sentence = "s"}, .first = "c"}, both);
  ASSERT_EQ(all.answer.warnings.size(), 1U);
  EXPECT_EQ(all.answer.warnings[0].card, "b.Answer");
}

TEST(ComparisonPage, ManyComparisonsShowOneAtATime) {
  std::vector<ComparisonEvidence> both = {evidence(), evidence()};
  both[1].test.label = "c";
  both[1].report.tables[1].columns[3].name = "c (ms)";
  const report::Page page =
      comparisons_page({.title = "t", .answer = {.sentence = "s"}, .first = "c"}, both);
  ASSERT_EQ(page.choices.size(), 1U);
  EXPECT_THAT(page.choices[0].values, ElementsAre("b", "c"));
  EXPECT_EQ(page.choices[0].first, 1U);
  ASSERT_FALSE(page.answer.why.empty());
  EXPECT_THAT(page.answer.why[0].text, testing::StartsWith("c, communication: bandwidth: +5 ms"));
  EXPECT_EQ(page.answer.why[0].card, "c.NCCL_ImplSync_Cmp");
  std::set<std::string> unique;
  for (const report::PageCard& card : page.cards)
    EXPECT_TRUE(unique.insert(card.id).second) << card.id;
  const auto composition = settings_chart(both);
  ASSERT_TRUE(composition);
  EXPECT_EQ(composition->bars.size(), 3U);
  EXPECT_THAT(composition->bars[1].values, ElementsAre(14, 2, 0, 0));
}

TEST(StepTimeline, ShowsTheStepOfMedianLength) {
  path::Execution execution;
  execution.ranks.resize(1);
  execution.ranks[0].own_steps = {{.number = 3, .window = {0, 100}, .period_ns = 100},
                                  {.number = 4, .window = {100, 150}, .period_ns = 50},
                                  {.number = 5, .window = {150, 220}, .period_ns = 80}};
  EXPECT_EQ(typical_step(execution), 5);
  EXPECT_DOUBLE_EQ(step_period_ms(execution, 5), 8e-5);
  execution.ranks[0].own_steps.clear();
  EXPECT_EQ(typical_step(execution), std::nullopt);
}

}  // namespace
}  // namespace assay::trace
