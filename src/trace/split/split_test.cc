#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/byte_source.h"
#include "core/files.h"
#include "trace/analysis.h"
#include "trace/inference_steps.h"
#include "trace/pipelines.h"
#include "trace/reader/reader.h"
#include "trace/small_trace_test_util.h"
#include "trace/split/plan.h"
#include "trace/split/writer.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;
using Side = testing::SmallTrace::Side;

testing::SmallTrace served() {
  testing::SmallTrace small;
  small.launch("warm_up", 1, 1, 9);
  small.annotation("execute_context_1(512)_generation_0(0)", Side::kCpu, 100, 50);
  small.launch("prefill", 1, 110, 60);
  small.annotation("execute_context_0(0)_generation_8(8)", Side::kCpu, 200, 50);
  small.op({.name = "aten::mm", .start = 205, .duration = 30});
  small.launch("decode", 1, 210, 20);
  small.annotation("execute_context_0(0)_generation_8(8)", Side::kGpu, 1210, 20);
  small.launch("sample", 1, 260, 5);
  small.annotation("execute_context_0(0)_generation_8(8)", Side::kCpu, 300, 50);
  small.launch("decode", 1, 310, 40);
  small.leaked_kernel("leaked", 5, 5);
  return small;
}

class Split : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("split_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void TearDown() override { fs::remove_all(folder_); }

  std::vector<model::Trace> pieces_of(const std::string& text, const SplitChoice& choice) {
    core::MemorySource first(text);
    const model::Trace trace = read_trace(first, "t.json").value();
    core::Result<SplitPlan> plan = SplitPlan::make(trace, choice);
    if (!plan.ok()) {
      error_ = plan.error().message;
      return {};
    }
    core::MemorySource second(text);
    std::vector<model::Trace> pieces;
    for (const WrittenPiece& piece :
         write_pieces(second, "t.json", plan.value(), folder_, "t").value()) {
      names_.push_back(piece.path.filename().string());
      pieces.push_back(read_trace(piece.path).value());
      EXPECT_TRUE(pieces.back().warnings.empty());
      EXPECT_EQ(pieces.back().event_count, piece.events);
    }
    return pieces;
  }

  fs::path folder_;
  std::vector<std::string> names_;
  std::string error_;
};

std::vector<std::string> kernels_of(const model::Trace& trace) {
  std::vector<std::string> names;
  for (const model::GpuEvent& event : trace.gpu_events)
    names.emplace_back(trace.text(event.name));
  return names;
}

using Names = std::vector<std::string>;

TEST_F(Split, MakesATraceOfEachStep) {
  const auto pieces = pieces_of(served().document(), {});
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(names_, (Names{"t.step_0_prefill_bs1.json", "t.step_1_decode_bs8.json",
                           "t.step_2_decode_bs8.json"}));
  EXPECT_EQ(kernels_of(pieces[0]), (Names{"prefill"}));
  EXPECT_EQ(kernels_of(pieces[1]), (Names{"decode", "sample"}));
  EXPECT_EQ(pieces[1].cpu_ops.size(), 1U);
  EXPECT_EQ(pieces[1].annotations.size(), 2U);
  EXPECT_EQ(pieces[1].gpu_name, "NVIDIA H200");
  const RankAnalysis rank = analyze_rank(pieces[1], {}, 0);
  ASSERT_EQ(rank.steps.size(), 1U);
  EXPECT_EQ(rank.steps[0].label->phase, ServingPhase::kDecode);
  EXPECT_EQ(rank.total_time_us, 55);
}

TEST_F(Split, MakesATraceOfEachPhase) {
  const auto pieces = pieces_of(served().document(), {.by = SplitBy::kPhase});
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(names_, (Names{"t.prefill.json", "t.decode.json"}));
  EXPECT_EQ(kernels_of(pieces[1]), (Names{"decode", "sample", "decode"}));
}

TEST_F(Split, MakesOneTraceOfARange) {
  const auto pieces =
      pieces_of(served().document(), {.by = SplitBy::kRange, .steps = {{0, 0}, {2, 9}}});
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(names_, (Names{"t.steps_0_2-9.json"}));
  EXPECT_EQ(kernels_of(pieces[0]), (Names{"prefill", "decode"}));
}

TEST_F(Split, MakesATraceOfEachAnnotation) {
  const auto pieces = pieces_of(served().document(), {.annotation = "*generation_8*"});
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(names_[1], "t.execute_context_0_0_generation_8_8_1.json");
  EXPECT_EQ(kernels_of(pieces[0]), (Names{"decode"}));
}

TEST_F(Split, KeepsArrowsOfItsKernelsAndNoEnvironment) {
  std::string text = served().document(LaunchFlows::kRead);
  text.insert(1, R"("metadata": {"TOKEN": "secret"}, "distributedInfo": {"rank": 3},)");
  const auto pieces = pieces_of(text, {.steps = {{1, 1}}});
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].rank, 3);
  const std::string written = core::read_file(folder_ / names_[0]).value();
  EXPECT_EQ(written.find("secret"), std::string::npos);
  core::MemorySource source(written);
  const auto flows = read_trace(source, "t", {}, kDefaultChunkBytes, {.flows = LaunchFlows::kRead})
                         .value()
                         .launch_flows;
  EXPECT_EQ(flows->size(), 4U);
}

TEST_F(Split, RefusesWhatItCannotSplit) {
  testing::SmallTrace small;
  small.launch("k", 1, 1, 9);
  pieces_of(small.document(), {});
  EXPECT_NE(error_.find("no steps"), std::string::npos);
  small.annotation("ProfilerStep#1", Side::kCpu, 0, 100);
  pieces_of(small.document(), {.by = SplitBy::kPhase});
  EXPECT_NE(error_.find("no phases"), std::string::npos);
  pieces_of(small.document(), {.steps = {{2, 3}}});
  EXPECT_NE(error_.find("none of the chosen"), std::string::npos);
  pieces_of(small.document(), {.annotation = "forward"});
  EXPECT_NE(error_.find("no annotation 'forward'"), std::string::npos);
}

TEST_F(Split, ReplacesNoFileUnlessToldAndNoInputEver) {
  std::ofstream(folder_ / "t.json") << served().document();
  SplitRequest request;
  request.input = folder_ / "t.json";
  request.output.folder = folder_;
  request.choice.steps = {{1, 1}};
  core::Progress silent("", core::Progress::Show::kNever);
  ASSERT_TRUE(run_split(request, silent).ok());
  const auto again = run_split(request, silent);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("exists; --overwrite"), std::string::npos);
  request.existing = Existing::kOverwrite;
  EXPECT_TRUE(run_split(request, silent).ok());
  // A link under the name of an output that leads to the input.
  fs::remove(folder_ / "t.step_1_decode_bs8.json");
  fs::create_symlink(folder_ / "t.json", folder_ / "t.step_1_decode_bs8.json");
  const auto onto_input = run_split(request, silent);
  ASSERT_FALSE(onto_input.ok());
  EXPECT_NE(onto_input.error().message.find("is an input"), std::string::npos);
  EXPECT_EQ(core::read_file(folder_ / "t.json").value(), served().document());
}

TEST_F(Split, WorkWithoutALaunchRecordGoesWithTheWorkBeforeIt) {
  testing::SmallTrace small = served();
  small.leaked_kernel("lost", 1235, 5);
  const std::vector<model::Trace> pieces = pieces_of(small.document(), {});
  std::size_t found = 0;
  for (const model::Trace& piece : pieces) {
    const std::vector<std::string> kernels = kernels_of(piece);
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "leaked"), 0);
    if (std::count(kernels.begin(), kernels.end(), "lost") == 0) continue;
    ++found;
    EXPECT_NE(std::find(kernels.begin(), kernels.end(), "decode"), kernels.end());
  }
  EXPECT_EQ(found, 1U);
}

}  // namespace
}  // namespace assay::trace
