#include "cli/channel_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::cli {
namespace {

trace::BandwidthPoint point(std::size_t setting,
                            const std::string& collective,
                            const std::string& channels) {
  return {.setting = setting, .collective = collective, .bytes = 1e6, .channels = channels};
}

TEST(ChannelLimits, AreThoseThatAllAlgorithmsKeep) {
  EXPECT_FALSE(channel_limit({{"NCCL_MAX_NCHANNELS", "4"}, {"NCCL_MAX_CTAS", ""}}));
  EXPECT_FALSE(channel_limit({{"NCCL_MAX_CTAS", "many"}}));
  EXPECT_EQ(channel_limit({{"NCCL_MIN_CTAS", "2"}, {"NCCL_MAX_CTAS", "8"}}), 8);
}

TEST(ChannelLimits, CollectivesThatAllHaveMoreChannelsWereNotLimited) {
  const auto words = [](const std::vector<trace::BandwidthPoint>& points) {
    return unkept_in_words(8, points, 1);
  };
  EXPECT_EQ(words({point(1, "allreduce", "24"), point(1, "_allgather_base", "24, 32"),
                   point(0, "allreduce", "8"), point(1, "all_to_allv", "2")}),
            "NCCL_MAX_CTAS=8 limited no collective, which had 24 to 32 channels");
  EXPECT_EQ(words({point(1, "allreduce", "24"), point(1, "_allgather_base", "8")}), "");
  EXPECT_EQ(words({point(1, "allreduce", "")}), "");
  EXPECT_EQ(words({point(1, "all_to_allv", "32")}), "");
}

}  // namespace
}  // namespace assay::cli
