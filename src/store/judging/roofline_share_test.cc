#include "store/judging/roofline_share.h"

#include <gtest/gtest.h>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

TEST(RooflineShare, GivesTheMiddleOfTheRowsOfASize) {
  auto rows = make_work_rows("gemm_perf", frame_of("gemm_dtype,m,n,k,latency\n"
                                                   "fp8,1,64,64,2\nfp8,1,128,64,4\nfp8,1,256,64,8\n"
                                                   "fp8,4,64,64,1\nint8,4,64,64,1\n"));
  ASSERT_TRUE(rows.ok());
  // Rooflines are known of fp8 alone.
  const WorkIndex index(
      std::move(rows).value(),
      [](const std::vector<model::PerfField>& exact, const std::vector<std::string>&) -> Roofline {
        if (exact.front().value != model::PerfValue(std::string("fp8"))) return nullptr;
        return [](std::span<const double>) { return 1.0; };
      });
  const ShareFigure figure = roofline_shares(index, 8);
  EXPECT_EQ(figure.size, "m");
  ASSERT_EQ(figure.curves.size(), 1U);
  EXPECT_EQ(figure.curves[0].name, "gemm_dtype=fp8");
  ASSERT_EQ(figure.curves[0].sizes.size(), 2U);
  EXPECT_EQ(figure.curves[0].sizes[0].size, 1);
  EXPECT_EQ(figure.curves[0].sizes[0].median, 0.25);
  EXPECT_EQ(figure.curves[0].sizes[1].median, 1);
  EXPECT_TRUE(roofline_shares(index, 0).curves.empty());
}

}  // namespace
}  // namespace assay::store
