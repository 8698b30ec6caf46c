#include "trace/file_check.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/output_file.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string document(int rank, int world_size, const std::string& events) {
  return fmt::format(
      R"({{"distributedInfo": {{"rank": {}, "world_size": {}}}, "traceEvents": [{}], "x": 1}})",
      rank, world_size, events);
}

const std::string kEvents = R"({"ph": "X", "cat": "kernel", "args": {"a": [1]}},
  {"name": "}{"}, {"ts": 1})";

class CheckTraces : public ::testing::Test {
 protected:
  CheckTraces()
      : folder_(fs::temp_directory_path() /
                fmt::format("assay_file_check_test_{}_{}",
                            ::getpid(),
                            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directory(folder_);
  }

  ~CheckTraces() override { fs::remove_all(folder_); }

  void add(const std::string& name, const std::string& text) const {
    const fs::path file = folder_ / "torch_profiler" / name;
    fs::create_directories(file.parent_path());
    ASSERT_TRUE(core::write_file(file, text).ok());
  }

  [[nodiscard]] std::string problem() const { return check().problem(); }

  [[nodiscard]] TraceCheck check() const { return check_traces(folder_, 2).value(); }

  fs::path folder_;
};

TEST_F(CheckTraces, WholeTraces) {
  add("rank0/a.json", document(0, 2, kEvents));
  add("rank1/a.json", document(1, 2, kEvents));
  const TraceCheck result = check();
  EXPECT_EQ(result.problem(), "");
  EXPECT_EQ(result.event_count(), 6U);
  EXPECT_EQ(result.world_size, 2);
  EXPECT_EQ(result.files[1].rank, 1);
}

TEST_F(CheckTraces, DamageIsToldByRank) {
  const std::string whole = document(0, 4, kEvents);
  add("rank0/a.json", whole.substr(0, whole.find("{\"ts\"")));
  add("rank1/a.json", document(1, 4, kEvents + "} "));
  add("rank2/a.json", "");
  add("rank3/a.json.gz", "\x1F\x8B and no gzip");
  const std::string problems = problem();
  EXPECT_THAT(problems, HasSubstr("rank 0: cut off after 2 events"));
  EXPECT_THAT(problems, HasSubstr("rank 1: not JSON in 1 place"));
  EXPECT_THAT(problems, HasSubstr("a.json' is empty"));
  EXPECT_THAT(problems, HasSubstr("gzip"));
  const TraceCheck result = check();
  EXPECT_EQ(result.files[0].state, TraceFileCheck::State::kDamaged);
  EXPECT_EQ(result.files[2].state, TraceFileCheck::State::kUnreadable);
}

TEST_F(CheckTraces, HolesAndTornEventsAreDamage) {
  std::string hole = kEvents;
  hole.replace(hole.find("\"X\""), 3, 3, '\0');
  add("rank0/a.json", document(0, 2, hole));
  add("rank1/a.json", document(1, 2, R"({"ts": 1} "ts": 2}, {"ts": 3})"));
  EXPECT_THAT(problem(), HasSubstr("rank 0: not JSON in 1 place"));
  EXPECT_THAT(problem(), HasSubstr("rank 1: not JSON"));
}

TEST_F(CheckTraces, MissingRanksAndRanksGivenTwice) {
  for (const int rank : {0, 1, 2, 3, 4, 6})
    add(fmt::format("rank{}/a.json", rank), document(rank, 8, kEvents));
  EXPECT_EQ(problem(), "ranks 5 and 7 of 8 missing");
  add("rank7/a.json", document(6, 8, kEvents));
  EXPECT_EQ(problem(), "ranks 5 and 7 of 8 missing; rank 6 given twice");
  EXPECT_THAT(check().ranks_given_twice, ElementsAre(6));
}

TEST_F(CheckTraces, WithoutDistributedInfoFoldersSayTheRank) {
  add("rank0/a.json", R"({"traceEvents": [)" + kEvents + "]}");
  add("rank2/a.json", R"({"traceEvents": [)" + kEvents + "]}");
  EXPECT_EQ(problem(), "rank 1 missing");
}

TEST_F(CheckTraces, WithoutGpuWorkTheyAreOfNoUse) {
  add("rank0/a.json", document(0, 4, ""));
  add("rank1/a.json", document(1, 4, R"({"cat": "cpu_op", "name": "kernel"}, {"name": "x"})"));
  add("rank2/a.json", document(2, 4, R"({"cat": "cpu_op"}, {"cat" : "gpu_memcpy"})"));
  add("rank3/a.json", document(3, 4, R"({"args": {"stream": 7}, "cat":"gpu_memset"})"));
  EXPECT_EQ(problem(), "rank 0: no events; rank 1: no GPU work");
  const TraceCheck result = check();
  EXPECT_EQ(result.files[1].state, TraceFileCheck::State::kNoGpuWork);
  EXPECT_EQ(result.files[2].state, TraceFileCheck::State::kWhole);
}

TEST_F(CheckTraces, NoTracesIsAnError) {
  EXPECT_THAT(check_traces(folder_, 1).error().message, HasSubstr("no traces in"));
}

// One event is longer than a chunk, and many cross the border of two chunks.
TEST_F(CheckTraces, LargeEvents) {
  std::string events = "{\"name\": \"" + std::string(1 << 20, 'x') + "\"}";
  for (int i = 0; i < 50000; ++i)
    events += R"(,{"ph": "X", "args": {"a": 1}})";
  events += R"(,{"ph": "X", "cat": "kernel"})";
  add("rank0/a.json", document(0, 1, events));
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(check().event_count(), 50002U);
}

}  // namespace
}  // namespace assay::trace
