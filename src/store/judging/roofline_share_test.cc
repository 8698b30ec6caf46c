#include "store/judging/roofline_share.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

using testing::ElementsAre;

WorkIndex index_of_products(const std::string& rows) {
  auto made = make_work_rows("gemm_perf", frame_of("gemm_dtype,m,n,k,latency\n" + rows));
  EXPECT_TRUE(made.ok());
  // Rooflines are known of fp8 alone.
  return {
      std::move(made).value(),
      [](const std::vector<model::PerfField>& exact, const std::vector<std::string>&) -> Roofline {
        if (exact.front().value != model::PerfValue(std::string("fp8"))) return nullptr;
        return [](std::span<const double> sizes) { return sizes[1] / 64; };
      }};
}

std::vector<std::string> names(const ShareFigure& figure) {
  std::vector<std::string> found;
  for (const ShareCurve& curve : figure.curves)
    found.push_back(curve.name);
  return found;
}

TEST(RooflineShare, DrawsShapesAndNotTheMiddleOfManyShapes) {
  const WorkIndex index = index_of_products(
      "fp8,1,64,64,2\nfp8,4,64,64,4\nfp8,1,128,64,4\nfp8,4,128,64,2\nint8,4,64,64,1\n");
  const auto figures = roofline_shares(index, 8);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].name, "gemm_perf");
  EXPECT_EQ(figures[0].size, "m");
  EXPECT_THAT(names(figures[0]), ElementsAre("n=64", "n=128"));
  const auto& sizes = figures[0].curves[1].sizes;
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[0].size, 1);
  EXPECT_EQ(sizes[0].share, 0.5);
  EXPECT_EQ(sizes[1].share, 1);
}

TEST(RooflineShare, ChoosesLongCurvesFromLittleWorkToMuch) {
  std::string rows;
  for (int n = 1; n <= 9; ++n) {
    for (int m = 1; m <= (n == 2 ? 1 : 4); ++m)
      rows += fmt::format("fp8,{},{},64,{}\n", m, 64 * n, n * 2);
  }
  const auto figures = roofline_shares(index_of_products(rows), 3);
  EXPECT_THAT(names(figures[0]), ElementsAre("n=192", "n=384", "n=512"));
}

}  // namespace
}  // namespace assay::store
