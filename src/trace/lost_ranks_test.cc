#include "trace/lost_ranks.h"

#include <gtest/gtest.h>

namespace assay::trace {
namespace {

const std::vector<LostRank> kLost = {{1, Loss::kCut, "rank1.json"},
                                     {3, Loss::kCut, "rank3.json"},
                                     {2, Loss::kCutBeforeGpuWork, "rank2.json"},
                                     {std::nullopt, Loss::kUnreadable, "x.json"}};

TEST(LostRanks, AreToldByWhatTheyHave) {
  EXPECT_EQ(lost_ranks_in_words({}, Showing::kSideBySide), "");
  EXPECT_EQ(lost_ranks_in_words(kLost, Showing::kEachAlone),
            "a file of unknown rank has a trace that cannot be read, so all that was written lacks "
            "it; rank 2 has no GPU work in a trace that is cut off or damaged, so all that was "
            "written lacks it; ranks 1, 3 have a trace that is cut off or damaged, so figures are "
            "missing of them");
}

TEST(LostRanks, AreReadFromTheirTable) {
  const std::vector<LostRank> read = lost_ranks_of(lost_ranks_table(kLost));
  ASSERT_EQ(read.size(), kLost.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].rank, kLost[i].rank);
    EXPECT_EQ(read[i].loss, kLost[i].loss);
    EXPECT_EQ(read[i].path, kLost[i].path);
  }
  EXPECT_TRUE(lost_ranks_of({.name = kIncompleteRanks, .title = "", .columns = {}}).empty());
}

}  // namespace
}  // namespace assay::trace
