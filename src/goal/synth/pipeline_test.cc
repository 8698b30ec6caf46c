#include "goal/synth/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace assay::goal {
namespace {

// When each task ends if a pass takes what `times` says and messages take nothing. A forward pass
// waits for that of the stage before (from the last stage to the next chunk of the first), a
// backward pass for that of the stage behind.
class PipelineRun {
 public:
  PipelineRun(const PipelineShape& shape, const PassTimes& times) : shape_(shape), times_(times) {
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage)
      tasks_.push_back(tasks_of_stage(shape, stage));
    next_.assign(shape.stages, 0);
    now_.assign(shape.stages, 0);
    bool goes_on = true;
    while (goes_on) {
      goes_on = false;
      for (std::uint32_t stage = 0; stage < shape.stages; ++stage)
        goes_on |= advance(stage);
    }
  }

  [[nodiscard]] bool is_whole() const {
    for (std::uint32_t stage = 0; stage < shape_.stages; ++stage) {
      if (next_[stage] != tasks_[stage].size()) return false;
    }
    return true;
  }

  [[nodiscard]] double end() const { return *std::max_element(now_.begin(), now_.end()); }

 private:
  using Place = std::tuple<Pass, std::uint32_t, std::uint32_t>;  // micro-batch, place in the model

  bool advance(std::uint32_t stage) {
    if (next_[stage] == tasks_[stage].size()) return false;
    const PipelineTask& task = tasks_[stage][next_[stage]];
    const std::uint32_t place = task.chunk * shape_.stages + stage;
    const std::uint32_t last = shape_.chunks * shape_.stages - 1;
    double start = now_[stage];
    if (task.pass == Pass::kForward && place > 0) {
      const auto before = done_.find({Pass::kForward, task.micro_batch, place - 1});
      if (before == done_.end()) return false;
      start = std::max(start, before->second);
    }
    if (task.pass == Pass::kBackward) {
      const Pass from = place == last ? Pass::kForward : Pass::kBackward;
      const auto before = done_.find({from, task.micro_batch, place == last ? last : place + 1});
      if (before == done_.end()) return false;
      start = std::max(start, before->second);
    }
    now_[stage] = start + duration(task.pass);
    done_[{task.pass, task.micro_batch, place}] = now_[stage];
    ++next_[stage];
    return true;
  }

  [[nodiscard]] double duration(Pass pass) const {
    if (pass == Pass::kForward) return times_.forward;
    if (pass == Pass::kWeights) return times_.weights;
    const bool apart = shape_.pipeline == Pipeline::kZeroBubble;
    return apart ? times_.input : times_.input + times_.weights;
  }

  const PipelineShape& shape_;
  const PassTimes& times_;
  std::vector<std::vector<PipelineTask>> tasks_;
  std::vector<std::size_t> next_;
  std::vector<double> now_;
  std::map<Place, double> done_;
};

double ideal(const PipelineShape& shape, const PassTimes& times) {
  return shape.micro_batches * shape.chunks * (times.forward + times.input + times.weights);
}

class PipelineShapes : public ::testing::TestWithParam<PipelineShape> {};

TEST_P(PipelineShapes, DoEveryPassOnceAndWaitAsTheClosedFormSays) {
  const PipelineShape& shape = GetParam();
  const PassTimes times{.forward = 10, .input = 10, .weights = 10};
  ASSERT_TRUE(check_pipeline(shape).ok());
  const PipelineRun run(shape, times);
  ASSERT_TRUE(run.is_whole());
  EXPECT_DOUBLE_EQ(run.end(), ideal(shape, times) + bubble_time(shape, times));
  for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
    const auto tasks = tasks_of_stage(shape, stage);
    const std::size_t kinds = shape.pipeline == Pipeline::kZeroBubble ? 3 : 2;
    EXPECT_EQ(tasks.size(), kinds * shape.micro_batches * shape.chunks);
    for (const PipelineTask& task : tasks)
      EXPECT_EQ(std::count(tasks.begin(), tasks.end(), task), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         PipelineShapes,
                         ::testing::Values(PipelineShape{Pipeline::kOneForwardOneBackward, 1, 1, 3},
                                           PipelineShape{Pipeline::kOneForwardOneBackward, 2, 1, 2},
                                           PipelineShape{Pipeline::kOneForwardOneBackward, 4, 1, 9},
                                           PipelineShape{Pipeline::kOneForwardOneBackward, 8, 1,
                                                         32},
                                           PipelineShape{Pipeline::kInterleaved, 2, 2, 4},
                                           PipelineShape{Pipeline::kInterleaved, 4, 2, 8},
                                           PipelineShape{Pipeline::kInterleaved, 4, 5, 16},
                                           PipelineShape{Pipeline::kZeroBubble, 2, 1, 4},
                                           PipelineShape{Pipeline::kZeroBubble, 4, 1, 8},
                                           PipelineShape{Pipeline::kZeroBubble, 8, 1, 32}));

// (p - 1) / (m + p - 1), and with v chunks (p - 1) / (v m + p - 1).
TEST(PipelineSchedule, TheShareOfTheBubbleIsThatOfTheLiterature) {
  const PassTimes times{.forward = 1, .input = 1, .weights = 1};
  const PipelineShape plain{Pipeline::kOneForwardOneBackward, 8, 1, 32};
  EXPECT_DOUBLE_EQ(bubble_time(plain, times) / PipelineRun(plain, times).end(), 7.0 / (32 + 7));
  const PipelineShape chunks{Pipeline::kInterleaved, 8, 5, 32};
  EXPECT_DOUBLE_EQ(bubble_time(chunks, times) / PipelineRun(chunks, times).end(),
                   7.0 / (5 * 32 + 7));
  const PipelineShape zero{Pipeline::kZeroBubble, 8, 1, 32};
  EXPECT_DOUBLE_EQ(3 * bubble_time(zero, times), bubble_time(plain, times));
}

TEST(PipelineSchedule, StagesKeepAsManyActivationsAsTheyMust) {
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const PipelineShape plain{Pipeline::kOneForwardOneBackward, 4, 1, 16};
    EXPECT_EQ(most_in_flight(tasks_of_stage(plain, stage)), 4 - stage);
    const PipelineShape chunks{Pipeline::kInterleaved, 4, 2, 16};
    EXPECT_EQ(most_in_flight(tasks_of_stage(chunks, stage)), 2 * (3 - stage) + 4 + 1);
    const PipelineShape zero{Pipeline::kZeroBubble, 4, 1, 16};
    EXPECT_EQ(most_in_flight(tasks_of_stage(zero, stage)), 4U);
  }
  const PipelineShape few{Pipeline::kOneForwardOneBackward, 4, 1, 2};
  EXPECT_EQ(most_in_flight(tasks_of_stage(few, 0)), 2U);
}

TEST(PipelineSchedule, ShapesThatItDoesNotHaveAreRefused) {
  EXPECT_EQ(check_pipeline({Pipeline::kOneForwardOneBackward, 4, 2, 8}).error().message,
            "1f1b has one chunk of layers a stage: several are of the schedule 'interleaved'");
  EXPECT_EQ(check_pipeline({Pipeline::kInterleaved, 4, 1, 8}).error().message,
            "the schedule 'interleaved' has at least 2 stages with 2 chunks of layers each, not 4 "
            "with 1");
  EXPECT_EQ(check_pipeline({Pipeline::kInterleaved, 4, 2, 6}).error().message,
            "the schedule 'interleaved' wants a multiple of the 4 stages as micro-batches, not 6");
}

}  // namespace
}  // namespace assay::goal
