#include "trace/attribution/sequence.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace assay::trace::attribution {
namespace {

std::string merged(const std::string& a, const std::string& b) {
  const std::vector<std::uint64_t> left(a.begin(), a.end());
  const std::vector<std::uint64_t> right(b.begin(), b.end());
  std::string text;
  for (const MergedElement& element : merged_sequences(left, right)) {
    const bool in_a = element.a != kAbsentPosition;
    const bool in_b = element.b != kAbsentPosition;
    if (!in_b) text += '-';
    if (!in_a) text += '+';
    text += in_a ? a[element.a] : b[element.b];
  }
  return text;
}

TEST(MergedSequences, ElementsOfBothArePairs) {
  EXPECT_EQ(merged("abc", "abc"), "abc");
  EXPECT_EQ(merged("", ""), "");
}

TEST(MergedSequences, OthersStandBetweenThem) {
  EXPECT_EQ(merged("abc", "axbc"), "a+xbc");
  EXPECT_EQ(merged("abbc", "abc"), "ab-bc");
  EXPECT_EQ(merged("abcd", "axyd"), "a-b-c+x+yd");
  EXPECT_EQ(merged("", "ab"), "+a+b");
  EXPECT_EQ(merged("ab", ""), "-a-b");
}

// Checks that nothing is lost or changes its order, and returns the number of pairs.
std::size_t checked_pairs(const std::vector<std::uint64_t>& a,
                          const std::vector<std::uint64_t>& b) {
  std::uint32_t next_a = 0;
  std::uint32_t next_b = 0;
  std::size_t pairs = 0;
  for (const MergedElement& element : merged_sequences(a, b)) {
    EXPECT_TRUE(element.a == kAbsentPosition || element.a == next_a++);
    EXPECT_TRUE(element.b == kAbsentPosition || element.b == next_b++);
    if (element.a == kAbsentPosition || element.b == kAbsentPosition) continue;
    EXPECT_EQ(a[element.a], b[element.b]);
    ++pairs;
  }
  EXPECT_EQ(next_a, a.size());
  EXPECT_EQ(next_b, b.size());
  return pairs;
}

TEST(MergedSequences, LongOnesKeepTheirOrderAndLoseNothing) {
  std::mt19937 random(7);
  std::vector<std::uint64_t> a(3000);
  for (auto& element : a)
    element = random() % 50;
  std::vector<std::uint64_t> b;
  for (const std::uint64_t element : a) {
    if (random() % 10 != 0) b.push_back(element);
    if (random() % 10 == 0) b.push_back(99);
  }
  EXPECT_GT(checked_pairs(a, b), 2600U);
}

TEST(MergedSequences, UnlikeOnesArePairedSomehow) {
  std::mt19937 random(7);
  std::vector<std::uint64_t> a(4000);
  std::vector<std::uint64_t> b(4000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = random() % 500;
    b[i] = random() % 500;
  }
  EXPECT_GT(checked_pairs(a, b), 100U);
}

}  // namespace
}  // namespace assay::trace::attribution
