#include "store/answers/work_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

using testing::ElementsAre;

WorkRows products() {
  return make_work_rows("gemm_perf",
                        frame_of("gemm_dtype,m,n,k,latency,interval_low_ms,"
                                 "interval_high_ms,samples\n"
                                 "fp8,1,64,64,0.1,0.09,0.11,7\nfp8,4,64,64,0.3,0.2,0.4,7\n"
                                 "bfloat16,1,64,128,0.2,,,\nint8,2,64,64,0.5,0.4,0.6,9\n"))
      .value();
}

std::vector<std::string> names_of(const WorkRows& rows) {
  std::vector<std::string> names;
  for (std::size_t family = 0; family < rows.num_families(); ++family)
    names.push_back(rows.family_name(family));
  return names;
}

TEST(WorkRows, TellTheExactValuesOfAFamily) {
  const WorkRows rows = products();
  const auto fields = rows.exact_fields(1);
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].column, "gemm_dtype");
  EXPECT_EQ(std::get<std::string>(fields[0].value), "fp8");
}

TEST(WorkRows, LeaveOutWholeFamilies) {
  Spreads spreads;
  WorkRows some;
  {
    WorkRows rows = products();
    rows.spreads = &spreads;
    ASSERT_THAT(names_of(rows),
                ElementsAre("gemm_dtype=bfloat16", "gemm_dtype=fp8", "gemm_dtype=int8"));
    const std::vector<std::size_t> left_out = {0};
    some = without_families(rows, left_out);
  }
  EXPECT_THAT(names_of(some), ElementsAre("gemm_dtype=fp8", "gemm_dtype=int8"));
  EXPECT_THAT(std::vector(some.begins.begin(), some.begins.end()), ElementsAre(0, 2, 3));
  EXPECT_THAT(std::vector(some.latencies.begin(), some.latencies.end()),
              ElementsAre(0.1, 0.3, 0.5));
  EXPECT_THAT(std::vector(some.sizes_of(2).begin(), some.sizes_of(2).end()),
              ElementsAre(2, 64, 64));
  ASSERT_EQ(some.intervals.size(), 3U);
  EXPECT_EQ(some.intervals[2].samples, 9U);
  EXPECT_EQ(some.spreads, &spreads);
  const std::vector<std::size_t> all = {0, 1};
  EXPECT_EQ(without_families(some, all).num_rows(), 0U);
}

}  // namespace
}  // namespace assay::store
