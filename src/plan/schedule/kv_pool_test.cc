#include "plan/schedule/kv_pool.h"

#include <gtest/gtest.h>

namespace assay::plan {
namespace {

TEST(KvPool, GivesNoMoreThanItHas) {
  KvPool pool(10, 16);
  EXPECT_EQ(pool.blocks_for(16), 1);
  EXPECT_EQ(pool.blocks_for(17), 2);
  EXPECT_TRUE(pool.take(7));
  EXPECT_FALSE(pool.take(4));
  EXPECT_EQ(pool.held(), 7);
  pool.give(7);
  EXPECT_EQ(pool.available(), 10);
}

TEST(KvPool, SharesAnEntryUntilItsLastUserLeaves) {
  KvPool pool(10, 16);
  ASSERT_TRUE(pool.take(4));
  pool.share(1, 4);
  pool.use(1);
  EXPECT_EQ(pool.held(), 4);
  pool.leave(1);
  EXPECT_EQ(pool.held(), 4);
  pool.leave(1);
  EXPECT_EQ(pool.held(), 0);
  EXPECT_EQ(pool.available(), 10);
  ASSERT_NE(pool.find(1), nullptr);
}

TEST(KvPool, GivesTheSecondCopyBack) {
  KvPool pool(10, 16);
  ASSERT_TRUE(pool.take(4));
  pool.share(1, 4);
  ASSERT_TRUE(pool.take(4));
  pool.share(1, 4);
  EXPECT_EQ(pool.held(), 4);
  EXPECT_EQ(pool.find(1)->users, 2);
}

TEST(KvPool, EmptiesWhatWasLeftFirst) {
  KvPool pool(10, 16);
  for (const std::uint64_t name : {1, 2}) {
    ASSERT_TRUE(pool.take(4));
    pool.share(name, 4);
  }
  pool.leave(1);
  pool.leave(2);
  pool.use(1);
  pool.leave(1);  // now 2 was left for longer
  EXPECT_TRUE(pool.take(3));
  EXPECT_EQ(pool.find(2), nullptr);
  ASSERT_NE(pool.find(1), nullptr);
  EXPECT_EQ(pool.available(), 7);
}

TEST(KvPool, KeepsTheFirstBlocksOfWhatItMayDivide) {
  KvPool pool(10, 16);
  ASSERT_TRUE(pool.take(8));
  pool.keep(5, 8);
  EXPECT_EQ(pool.available(), 10);
  ASSERT_TRUE(pool.take(5));
  EXPECT_EQ(pool.take_over(5), 5);
  EXPECT_EQ(pool.held(), 10);
  EXPECT_EQ(pool.take_over(5), 0);
}

}  // namespace
}  // namespace assay::plan
