#include "plan/step.h"

#include <gtest/gtest.h>

#include <array>

namespace assay::plan {
namespace {

TEST(Step, CountsTheTokensOfChunksAndOneOfEachDecode) {
  constexpr std::array<Chunks, 2> kChunks = {Chunks{.requests = 2, .new_tokens = 100},
                                             Chunks{.requests = 1, .new_tokens = 30}};
  const Step step{.chunks = kChunks, .decodes = 5};
  EXPECT_EQ(step.prompt_tokens(), 230);
  EXPECT_EQ(step.tokens(), 235);
}

}  // namespace
}  // namespace assay::plan
