#include "goal/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/files.h"
#include "goal/goal_test_util.h"
#include "goal/input.h"
#include "goal/label.h"

namespace assay::goal {
namespace {

using ::testing::HasSubstr;

std::string written(const JobFile& file) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "assay_job_file_test.json";
  EXPECT_TRUE(write_job_file(path, file).ok());
  std::string text = core::read_file(path).value();
  std::filesystem::remove(path);
  return text;
}

JobFile small_file() {
  JobFile file;
  file.job = make_test_job({4, 2});
  add_collective(file.job,
                 test_collective(model::NcclFunction::kAllReduce, model::NcclAlgorithm::kRing,
                                 model::NcclProtocol::kSimple, 1'000'000, 2));
  file.costs = costs_from_lines(default_costs(), "fitted");
  return file;
}

TEST(JobFile, KeepsARecording) {
  const auto recorded =
      read_job(std::filesystem::path(ASSAY_SOURCE_DIR) / "samples" / "goal-4gpu", {});
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  JobFile file = small_file();
  file.job = recorded.value();
  file.scale.replicas = 256;
  file.choices = {.keep = true, .nic_gbps = 25};
  file.streams = {Streams::kMergedWhenDisjoint, StreamOrder::kIndependent};
  const std::string text = written(file);
  EXPECT_TRUE(is_job_file(text));
  const auto read = parse_job_file(text, "a.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(written(read.value()), text);
  EXPECT_EQ(read.value().scale.replicas, 256U);
  EXPECT_EQ(read.value().job.gpus.size(), 4U);
  const model::Operation& before = recorded.value().gpus[3].operations.back();
  const model::Operation& after = read.value().job.gpus[3].operations.back();
  EXPECT_EQ(after.end_ns, before.end_ns);
  EXPECT_EQ(after.sequence, before.sequence);
  EXPECT_EQ(read.value().job.communicators[0].channels.size(),
            recorded.value().communicators[0].channels.size());
  const auto ns = [](const JobFile& of) {
    return of.costs.duration_ns(model::NcclProtocol::kLl128,
                                {.work = Work::kReduce, .two_way = true}, 12345, 0);
  };
  EXPECT_EQ(ns(read.value()), ns(file));
}

TEST(JobFile, ACutFileIsToldAsSuch) {
  const std::string text = written(small_file());
  EXPECT_EQ(parse_job_file(text.substr(0, text.size() / 2), "a.json").error().message,
            "'a.json' is no JSON: it is cut, or was changed");
  EXPECT_EQ(parse_job_file("[1]", "a.json").error().message,
            "'a.json' is no job of 'assay goal generate'");
}

std::string problem(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  const auto read = parse_job_file(text, "a.json");
  return read.ok() ? "" : read.error().message;
}

TEST(JobFile, ReadsOneLaunchForAllProtocols) {
  JobFile file = small_file();
  file.costs.launch_ns = {4000, 6000, 5000};
  const auto launches = [](const std::string& text) {
    return parse_job_file(text, "a.json").value().costs.launch_ns;
  };
  std::string text = written(file);
  EXPECT_EQ(launches(text), file.costs.launch_ns);
  const std::string all = "[4000,6000,5000]";
  text.replace(text.find(all), all.size(), "4026");
  EXPECT_EQ(launches(text), (std::array<std::uint64_t, 3>{4026, 4026, 4026}));
  EXPECT_THAT(problem(text, "\"launch_ns\":4026", "\"launch_ns\":[1,2]"), HasSubstr("launch_ns"));
  EXPECT_THAT(problem(text, "\"launch_ns\":4026", "\"launch_ns\":18446744073709551615"),
              HasSubstr("longer than an hour"));
}

TEST(JobFile, KeepsWhatACommunicatorServes) {
  JobFile file = small_file();
  file.job.communicators[0].parallelism = Parallelism::kTensor;
  const std::string text = written(file);
  EXPECT_EQ(parse_job_file(text, "a.json").value().job.communicators[0].parallelism,
            Parallelism::kTensor);
  const auto with = [&](const std::string& member) {
    std::string changed = text;
    const std::string stated = R"("parallelism":"TP")";
    return changed.replace(changed.find(stated), stated.size(), member);
  };
  EXPECT_EQ(parse_job_file(with(R"("spans_replicas":true)"), "a")
                .value()
                .job.communicators[0]
                .parallelism,
            Parallelism::kData);
  EXPECT_EQ(parse_job_file(with(R"("spans_replicas":false)"), "a")
                .value()
                .job.communicators[0]
                .parallelism,
            std::nullopt);
  EXPECT_THAT(parse_job_file(with(R"("parallelism":"XP")"), "a").error().message,
              HasSubstr("parallelism 'XP' is none of Other, PP, DP, EP, TP"));
}

TEST(JobFile, RefusesCostsThatAreDrawn) {
  JobFile file = small_file();
  file.costs.choice.kind = CostChoice::Kind::kSample;
  EXPECT_FALSE(write_job_file("/nowhere", file).ok());
}

TEST(JobFile, NamesWhatIsWrong) {
  const std::string good = written(small_file());
  EXPECT_EQ(problem(good, "assay_job", "assay_job"), "");
  EXPECT_THAT(problem(good, "\"assay_job\":1", "\"assay_job\":2"), HasSubstr("version 2"));
  EXPECT_THAT(problem(good, "\"bytes\":[1000000", "\"bytes\":[-1"), HasSubstr("bytes of row 0"));
  EXPECT_THAT(problem(good, "\"bytes\":[1000000", "\"bytes\":[1,2"), HasSubstr("bytes"));
  EXPECT_THAT(problem(good, "\"algorithm\":[1", "\"algorithm\":[99"), HasSubstr("algorithm"));
  EXPECT_THAT(problem(good, "\"gpus\":[0,1,2,3]", "\"gpus\":[0,1,2,9]"), HasSubstr("GPU 9"));
  EXPECT_THAT(problem(good, "\"gpus\":[0,1,2,3]", "\"gpus\":[0,1,2,1]"), HasSubstr("GPU 1 twice"));
  EXPECT_THAT(problem(good, "\"num_channels\"", "\"channels_used\""), HasSubstr("channels_used"));
  EXPECT_THAT(problem(good, "\"LL128\"", "\"LL129\""), HasSubstr("LL128"));
  EXPECT_THAT(problem(good, "\"replicas\":1", "\"replicas\":0"), HasSubstr("replicas"));
  EXPECT_THAT(problem(good, "\"observed\"", "\"seen\""), HasSubstr("seen"));
  EXPECT_THAT(problem(good, "\"num_channels\":[2", "\"num_channels\":[4000000000"),
              HasSubstr("4000000000 channels"));
  EXPECT_THAT(problem(good, "{", "["), HasSubstr("a.json"));
}

}  // namespace
}  // namespace assay::goal
