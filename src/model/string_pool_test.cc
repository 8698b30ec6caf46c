#include "model/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::model {
namespace {

TEST(StringPool, EqualTextsShareAnId) {
  StringPool pool;
  EXPECT_EQ(pool.intern(""), 0U);
  const TextId a = pool.intern("aten::mm");
  EXPECT_EQ(pool.intern(std::string("aten::") + "mm"), a);
  EXPECT_NE(pool.intern("aten::bmm"), a);
  EXPECT_EQ(pool.view(a), "aten::mm");
}

TEST(StringPool, TextsStayWhereTheyAreWhileItGrows) {
  StringPool pool;
  const TextId first = pool.intern("first");
  const char* const address = pool.view(first).data();
  for (int i = 0; i < 100'000; ++i)
    pool.intern(std::to_string(i));
  const TextId big = pool.intern(std::string(1'000'000, 'x'));
  EXPECT_EQ(pool.view(first).data(), address);
  EXPECT_EQ(pool.size(), 100'003U);
  EXPECT_EQ(pool.view(big).size(), 1'000'000U);
  EXPECT_EQ(pool.view(pool.intern("77777")), "77777");
  const StringPool moved = std::move(pool);
  EXPECT_EQ(moved.view(first).data(), address);
}

}  // namespace
}  // namespace assay::model
