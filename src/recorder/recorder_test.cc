// Tests the recorder as NCCL loads it: a program calls it as NCCL does, and its files are read
// back.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "core/files.h"
#include "model/fake_job_test_util.h"
#include "model/recording_file.h"

namespace assay::recorder {
namespace {

namespace rec = model::recording;
using model::FakeJob;

std::string said(const FakeJob& job) {
  return core::read_file(job.folder() / "said").value();
}

// A job that hangs when it is done, in a process that is killed with this object.
class HangingJob {
 public:
  HangingJob(const FakeJob& job, const std::string& arguments) : job_(job), process_(::fork()) {
    if (process_ != 0) return;
    const std::string command = "exec " + job.shell(arguments);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }

  HangingJob(const HangingJob&) = delete;
  HangingJob& operator=(const HangingJob&) = delete;

  ~HangingJob() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  // Returns false when the job has not said the words after a minute.
  [[nodiscard]] bool waits_until_said(const std::string& words) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < end) {
      if (core::is_regular_file(job_.folder() / "said") &&
          said(job_).find(words) != std::string::npos) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  const FakeJob& job_;
  pid_t process_;
};

std::map<rec::Kind, int> kinds(const rec::File& file) {
  std::map<rec::Kind, int> counts;
  for (const rec::RecordView& record : file.records())
    ++counts[record.kind()];
  return counts;
}

rec::File only_file(const FakeJob& job) {
  const auto files = job.files();
  EXPECT_EQ(files.size(), 1U);
  return rec::File::read(files.at(0)).value();
}

std::string note_of(const rec::File& file) {
  for (const rec::RecordView& record : file.records()) {
    if (record.kind() == rec::Kind::kNote) {
      return std::string(record.text<rec::Note>(record.as<rec::Note>().length));
    }
  }
  return "";
}

void expect_steps(const rec::File& file, int steps) {
  auto counts = kinds(file);
  EXPECT_EQ(counts[rec::Kind::kCommunicator], 2);
  EXPECT_EQ(counts[rec::Kind::kColl], 5 * steps);
  EXPECT_EQ(counts[rec::Kind::kP2p], 2 * steps);
  EXPECT_EQ(counts[rec::Kind::kPlan], 4 * steps);
  EXPECT_EQ(counts[rec::Kind::kKernelLaunch], 4 * steps);
  EXPECT_EQ(counts[rec::Kind::kKernel], 4 * steps);
  EXPECT_EQ(counts[rec::Kind::kCorrelation], 4 * steps);
  EXPECT_EQ(file.damaged_blocks(), 0U);
}

TEST(Recorder, KeepsEveryEventOfSeveralThreads) {
  FakeJob job;
  ASSERT_EQ(job.run("0 4 200"), 0);
  EXPECT_EQ(said(job), "");
  const rec::File file = only_file(job);
  expect_steps(file, 200);
  auto counts = kinds(file);
  EXPECT_EQ(counts[rec::Kind::kGroupApi], 800);
  EXPECT_EQ(counts[rec::Kind::kCollApi], 1000);
  EXPECT_EQ(counts[rec::Kind::kP2pApi], 400);
  EXPECT_EQ(counts[rec::Kind::kCommunicatorEnd], 2);
  EXPECT_EQ(file.header().kernel_times, 1U);
  EXPECT_EQ(file.header().stopped, 1U);
  EXPECT_EQ(file.header().other_kernels, 200U);
  EXPECT_EQ(file.header().nccl_kernels, 800U);
}

TEST(Recorder, EventsEndAndNameTheirParents) {
  FakeJob job;
  ASSERT_EQ(job.run("1 4 1"), 0);
  const rec::File file = only_file(job);
  std::map<std::uint32_t, rec::Kind> kind_of;
  for (const rec::RecordView& record : file.records())
    kind_of[record.number()] = record.kind();
  int sends = 0;
  for (const rec::RecordView& record : file.records()) {
    const auto event = record.as<rec::Event>();
    if (record.kind() >= rec::Kind::kGroupApi && record.kind() < rec::Kind::kKernel) {
      EXPECT_NE(event.head.duration_ns, rec::kNotEnded);
      EXPECT_EQ(kind_of[event.communicator], rec::Kind::kCommunicator);
    }
    if (record.kind() == rec::Kind::kPlan) {
      EXPECT_EQ(kind_of[event.parent], rec::Kind::kKernelLaunch);
    }
    if (record.kind() == rec::Kind::kP2p) {
      const auto p2p = record.as<rec::P2p>();
      EXPECT_EQ(kind_of[event.parent], rec::Kind::kP2pApi);
      EXPECT_EQ(kind_of[p2p.plan], rec::Kind::kPlan);
      EXPECT_TRUE(p2p.peer == 2 || p2p.peer == 0);
      EXPECT_EQ(p2p.channels, 8);
      ++sends;
    }
    if (record.kind() == rec::Kind::kColl) {
      EXPECT_EQ(kind_of[event.parent], rec::Kind::kCollApi);
      EXPECT_EQ(kind_of[record.as<rec::Coll>().plan], rec::Kind::kPlan);
    }
  }
  EXPECT_EQ(sends, 2);
}

TEST(Recorder, SpeaksVersion4) {
  FakeJob job;
  job.set("ASSAY_FAKE_NCCL", "v4");
  ASSERT_EQ(job.run("0 2 3"), 0);
  const rec::File file = only_file(job);
  EXPECT_EQ(file.header().plugin_interface, 4U);
  auto counts = kinds(file);
  EXPECT_EQ(counts[rec::Kind::kColl], 15);
  EXPECT_EQ(counts[rec::Kind::kP2p], 6);
  EXPECT_EQ(counts[rec::Kind::kKernel], 12);
  EXPECT_EQ(counts[rec::Kind::kKernelLaunch], 0);
  for (const rec::RecordView& record : file.records()) {
    if (record.kind() == rec::Kind::kColl) {
      EXPECT_NE(record.as<rec::Coll>().plan, 0U);
      EXPECT_EQ(record.as<rec::Event>().parent, 0U);
    }
  }
}

TEST(Recorder, KilledProcessLeavesAllItHadRecorded) {
  FakeJob job;
  {
    const HangingJob child(job, "0 2 50 hang");
    ASSERT_TRUE(child.waits_until_said("ready"));
  }
  const rec::File file = only_file(job);
  expect_steps(file, 50);
  EXPECT_EQ(file.header().stopped, 0U);
}

TEST(Recorder, ForkedChildLeavesTheFileAlone) {
  FakeJob job;
  ASSERT_EQ(job.run("0 2 10 fork"), 0);
  const auto files = job.files();
  ASSERT_EQ(files.size(), 2U);
  int parents = 0;
  for (const auto& path : files) {
    const rec::File file = rec::File::read(path).value();
    auto counts = kinds(file);
    if (counts[rec::Kind::kCommunicator] == 2) {
      expect_steps(file, 10);
      ++parents;
    } else {
      EXPECT_EQ(counts[rec::Kind::kColl], 1);
    }
  }
  EXPECT_EQ(parents, 1);
}

TEST(Recorder, SaysWhyThereAreNoKernelTimes) {
  FakeJob job;
  job.set("ASSAY_FAKE_CUPTI", "busy");
  ASSERT_EQ(job.run("0 2 1"), 0);
  const rec::File file = only_file(job);
  EXPECT_EQ(file.header().kernel_times, 0U);
  EXPECT_NE(note_of(file).find("another profiler uses CUPTI"), std::string::npos);
  EXPECT_NE(said(job).find("no kernel times are recorded"), std::string::npos);
  EXPECT_EQ(kinds(file)[rec::Kind::kColl], 5);
}

TEST(Recorder, WithoutCuptiNcclTellsTheTimesOfChannels) {
  FakeJob job;
  job.set("ASSAY_RECORDER_KERNEL_TIMES", "nccl");
  ASSERT_EQ(job.run("0 2 10"), 0);
  EXPECT_EQ(said(job), "");
  const rec::File file = only_file(job);
  EXPECT_EQ(file.header().kernel_times, rec::kNcclTimer);
  auto counts = kinds(file);
  EXPECT_EQ(counts[rec::Kind::kKernel], 0);
  EXPECT_EQ(counts[rec::Kind::kKernelChannel], 10 * (4 + 3 * 2 + 2 * 8 + 2));
}

TEST(Recorder, SaysThatGraphsNeedCupti) {
  FakeJob job;
  job.set("ASSAY_RECORDER_KERNEL_TIMES", "nccl");
  ASSERT_EQ(job.run("0 2 1 graph"), 0);
  const std::string words = said(job);
  EXPECT_NE(words.find("--kernel-times cupti"), std::string::npos) << words;
  EXPECT_EQ(words.find("assay recorder:"), words.rfind("assay recorder:"));
}

TEST(Recorder, UnknownKernelTimesAreSaid) {
  FakeJob job;
  job.set("ASSAY_RECORDER_KERNEL_TIMES", "clock");
  ASSERT_EQ(job.run("0 2 1"), 0);
  EXPECT_NE(note_of(only_file(job)).find("'clock' is none of nccl"), std::string::npos);
}

TEST(Recorder, MissingCuptiIsNoFailure) {
  FakeJob job;
  job.set("ASSAY_RECORDER_CUPTI", "/nowhere/libcupti.so");
  ASSERT_EQ(job.run("0 2 1"), 0);
  EXPECT_NE(note_of(only_file(job)).find("/nowhere/libcupti.so"), std::string::npos);
}

TEST(Recorder, FindsCuptiInTheFolderThatTheVariableNames) {
  FakeJob job;
  job.set("ASSAY_RECORDER_CUPTI", "");
  job.set("ASSAY_RECORDER_KERNEL_TIMES", "cupti");
  job.set("ASSAY_LIBRARY_PATH", std::filesystem::path(ASSAY_FAKE_CUPTI).parent_path());
  ASSERT_EQ(job.run("0 2 1"), 0);
  const rec::File file = only_file(job);
  EXPECT_EQ(file.header().kernel_times, 1U) << note_of(file);
}

TEST(Recorder, UnwritableFolderIsSaidOnceAndNoFailure) {
  FakeJob job;
  job.set("ASSAY_RECORDER_OUTPUT", "/proc/nowhere");
  ASSERT_EQ(job.run("0 2 5"), 0);
  EXPECT_TRUE(job.files().empty());
  const std::string words = said(job);
  EXPECT_NE(words.find("/proc/nowhere"), std::string::npos);
  EXPECT_EQ(words.find("assay recorder:"), words.rfind("assay recorder:"));
}

TEST(Recorder, StopsAtItsLimitAndSaysSo) {
  FakeJob job;
  job.set("ASSAY_RECORDER_LIMIT_MB", "1");
  {
    const HangingJob child(job, "0 2 3000 hang");
    ASSERT_TRUE(child.waits_until_said("ready"));
    ASSERT_TRUE(child.waits_until_said("recording ends"));
  }
  const auto files = job.files();
  ASSERT_EQ(files.size(), 1U);
  EXPECT_LE(std::filesystem::file_size(files[0]), 1U << 20U);
  const rec::File file = rec::File::read(files[0]).value();
  EXPECT_EQ(file.header().stopped, 2U);
  EXPECT_GT(file.records().size(), 5000U);
  EXPECT_EQ(file.damaged_blocks(), 0U);
}

TEST(Recorder, UnknownEventsAreSaid) {
  FakeJob job;
  job.set("ASSAY_RECORDER_EVENTS", "proxy,kernels");
  ASSERT_EQ(job.run("0 2 1"), 0);
  const rec::File file = only_file(job);
  EXPECT_NE(note_of(file).find("'kernels'"), std::string::npos);
  EXPECT_EQ(file.header().events, rec::kDefaultEvents | rec::kProxyOpBit | rec::kProxyStepBit);
}

}  // namespace
}  // namespace assay::recorder
