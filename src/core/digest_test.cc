#include "core/digest.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

namespace assay::core {
namespace {

std::string digest_of(std::initializer_list<std::string_view> texts) {
  Digest digest;
  for (const std::string_view text : texts)
    digest.add(text);
  return digest.text();
}

TEST(Digest, TellsWhatIsTheSame) {
  EXPECT_EQ(digest_of({"a", "bc"}), digest_of({"a", "bc"}));
  EXPECT_EQ(digest_of({}).size(), 32U);
  // What is kept under a digest must be found again by later versions.
  EXPECT_EQ(digest_of({"network.yaml"}), "9a1db62f2dc7eaf6b0a62003a0bc35d6");
}

TEST(Digest, TellsEveryDifference) {
  std::set<std::string> found{digest_of({})};
  std::size_t count = 1;
  const auto add = [&](const std::string& digest) {
    found.insert(digest);
    ++count;
  };
  for (const auto& texts : std::initializer_list<std::initializer_list<std::string_view>>{
           {""}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}})
    add(digest_of(texts));
  std::string text(100, '\0');
  for (char& letter : text) {
    add(digest_of({text}));
    letter = 1;
  }
  for (std::size_t length = 0; length < text.size(); ++length)
    add(digest_of({std::string_view(text).substr(0, length), "x"}));
  EXPECT_EQ(found.size(), count);
}

}  // namespace
}  // namespace assay::core
