#include "store/answers/column_query.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "store/answers/answers_table.h"
#include "store/answers/surface.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

WorkIndex indexed_products() {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (const double n : {1024.0, 2048.0, 4096.0}) {
    for (double m = 1; m <= 4096; m *= 2)
      csv += fmt::format("fp8,{},{},4096,{}\n", m, n, 0.01 + n * m * 1e-8);
  }
  auto index = WorkIndex::make("gemm_perf", frame_of(csv), nullptr);
  EXPECT_TRUE(index.ok()) << (index.ok() ? "" : index.error().message);
  return std::move(index).value();
}

// More questions than a thread's share, in no order, some of them more than once, some of them no
// sizes and some too large.
TEST(ColumnQuery, AnswersEachQuestionAsASurfaceDoes) {
  const WorkIndex index = indexed_products();
  constexpr std::size_t kQuestions = 100'000;
  std::vector<double> m;
  std::vector<double> n;
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < kQuestions; ++i) {
    random = random * 1664525 + 1013904223;
    m.push_back(i % 1000 == 7 ? std::numeric_limits<double>::quiet_NaN() : (random >> 8U) % 20'000);
    n.push_back(1000 * (1 + random % 5));
  }
  const double k = 4096;
  const std::vector<QuestionColumn> columns = {
      {.name = "m", .numbers = m}, {.name = "n", .numbers = n}, {.name = "k", .numbers = {&k, 1}}};
  const auto answers = query_columns(index, columns, Beyond::kRefuse, 2);
  ASSERT_TRUE(answers.ok()) << answers.error().message;
  const auto surface = Surface::bind(index, {{"k", "4096"}}, {"m", "n"});
  ASSERT_TRUE(surface.ok()) << surface.error().message;
  auto refused = answers.value().refused.begin();
  for (std::size_t i = 0; i < kQuestions; ++i) {
    const std::array sizes{m[i], n[i]};
    const WorkEstimate told = surface.value().at_any(sizes);
    if (told.refused != Refused::kNo) {
      ASSERT_NE(refused, answers.value().refused.end());
      ASSERT_EQ((refused++)->question, i);
      ASSERT_TRUE(std::isnan(answers.value().latency[i]));
      continue;
    }
    ASSERT_EQ(answers.value().latency[i], told.latency) << m[i] << ' ' << n[i];
    ASSERT_EQ(answers.value().methods[i], method_name(told));
    if (!told.is_measured()) {
      ASSERT_EQ(answers.value().uncertainty[i], told.uncertainty() * 100);
    }
  }
  EXPECT_EQ(refused, answers.value().refused.end());
  EXPECT_GT(answers.value().refused.size(), kQuestions / 1000);
  EXPECT_LT(answers.value().refused.size(), kQuestions / 2);
}

TEST(ColumnQuery, FractionsOfWhatIsCountedHaveNoAnswer) {
  const WorkIndex index = indexed_products();
  const std::vector<double> m = {1, 1.5, 64};
  const std::vector<double> n = {4096, 4096, 4096.7};
  const double k = 4096;
  const std::vector<QuestionColumn> columns = {
      {.name = "m", .numbers = m}, {.name = "n", .numbers = n}, {.name = "k", .numbers = {&k, 1}}};
  const ColumnAnswers answers = query_columns(index, columns, Beyond::kRefuse, 1).value();
  EXPECT_GT(answers.latency[0], 0);
  ASSERT_EQ(answers.refused.size(), 2U);
  EXPECT_EQ(answers.refused[0].reason, "m takes a whole number of at least 1, not 1.5");
  EXPECT_EQ(answers.refused[1].reason, "n takes a whole number of at least 1, not 4096.7");
}

}  // namespace
}  // namespace assay::store
