#include "trace/pipelines/spread.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/output_file.h"
#include "report/book.h"
#include "trace/pipelines.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

// Threads in the place of processes.
class Mail {
 public:
  void put(int from, int to, std::string_view message) {
    const std::scoped_lock lock(mutex_);
    boxes_[{from, to}].emplace_back(message);
    arrived_.notify_all();
  }

  std::string take(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to}];
    arrived_.wait(lock, [&] { return !box.empty(); });
    std::string message = std::move(box.front());
    box.pop_front();
    return message;
  }

  bool has(int from, int to) {
    const std::scoped_lock lock(mutex_);
    return !boxes_[{from, to}].empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::string>> boxes_;
};

class ThreadGroup final : public core::ProcessGroup {
 public:
  ThreadGroup(Mail& mail, int rank, int size) : mail_(mail), rank_(rank), size_(size) {}

  [[nodiscard]] int rank() const override { return rank_; }

  [[nodiscard]] int size() const override { return size_; }

  core::Status send(int to, std::string_view message) override {
    mail_.put(rank_, to, message);
    return {};
  }

  core::Result<std::string> receive(int from) override { return mail_.take(from, rank_); }

  bool has_message(int from) override { return mail_.has(from, rank_); }

 private:
  Mail& mail_;
  int rank_;
  int size_;
};

class SpreadTest : public ::testing::Test {
 protected:
  SpreadTest() : folder_(fs::temp_directory_path() / fmt::format("assay_spread_{}", ::getpid())) {
    fs::remove_all(folder_);
  }

  ~SpreadTest() override { fs::remove_all(folder_); }

  static fs::path sample() {
    return fs::path(ASSAY_SOURCE_DIR) / "samples" / "traces-2gpu" / "ctas_default";
  }

  // Runs `command` with a request whose reading so many threads share, as processes would.
  template <class SomeRequest, class Run>
  static core::Result<CommandResult> run(SomeRequest request, int processes, const Run& command) {
    Mail mail;
    ThreadGroup leader(mail, 0, processes);
    std::vector<std::jthread> others;
    for (int rank = 1; rank < processes; ++rank)
      others.emplace_back([&mail, request, rank, processes] {
        ThreadGroup own(mail, rank, processes);
        EXPECT_TRUE(follow(request, own).ok());
      });
    core::Progress silent("", core::Progress::Show::kNever);
    request.processes = processes > 1 ? &leader : nullptr;
    core::Result<CommandResult> result = command(request, silent);
    dismiss(leader);
    return result;
  }

  static core::Result<CommandResult> collectives(const fs::path& folder, int processes) {
    CollectivesRequest request;
    request.folder = folder;
    request.output.kind = Output::Kind::kBook;
    return run(request, processes, run_collectives);
  }

  core::Result<CommandResult> analyze(int processes) {
    AnalyzeRequest request;
    request.configuration = sample();
    request.output.folder = folder_ / fmt::format("of_{}", processes);
    request.output.formats = {FileFormat::kCsv};
    request.names = FileNames::kAlsoLegacy;
    return run(request, processes, run_analyze);
  }

  // Returns the trace of a rank, in a copy of the sample.
  fs::path copied_trace(int rank) {
    if (!fs::exists(folder_ / "in")) {
      fs::create_directories(folder_ / "in");
      fs::copy(sample(), folder_ / "in", fs::copy_options::recursive);
    }
    return folder_ / "in/torch_profiler" / fmt::format("rank{}", rank) / "trace.json.gz";
  }

  void damage_rank(int rank) { ASSERT_TRUE(core::write_file(copied_trace(rank), "{}").ok()); }

  void cut_rank(int rank) {
    const fs::path file = copied_trace(rank);
    const std::string whole = core::read_file(file).value();
    ASSERT_TRUE(core::write_file(file, whole.substr(0, whole.size() / 2)).ok());
  }

  fs::path folder_;
};

TEST_F(SpreadTest, AnyNumberOfProcessesWritesTheSameBook) {
  const auto alone = collectives(sample(), 1);
  ASSERT_TRUE(alone.ok());
  for (const int processes : {2, 3}) {
    const auto shared = collectives(sample(), processes);
    ASSERT_TRUE(shared.ok()) << shared.error().message;
    EXPECT_EQ(report::json(*shared.value().book), report::json(*alone.value().book));
  }
}

TEST_F(SpreadTest, TheProcessThatReadARankWritesItsReport) {
  const auto alone = analyze(1);
  const auto shared = analyze(2);
  ASSERT_TRUE(alone.ok());
  ASSERT_TRUE(shared.ok()) << shared.error().message;
  ASSERT_EQ(shared.value().written.size(), alone.value().written.size());
  for (std::size_t i = 0; i < alone.value().written.size(); ++i) {
    EXPECT_EQ(shared.value().written[i].filename(), alone.value().written[i].filename());
    EXPECT_TRUE(fs::exists(shared.value().written[i]));
  }
}

TEST_F(SpreadTest, AFileThatAProcessCannotReadIsTold) {
  damage_rank(1);
  const auto alone = collectives(folder_ / "in", 1);
  const auto shared = collectives(folder_ / "in", 2);
  ASSERT_TRUE(alone.ok());
  ASSERT_TRUE(shared.ok()) << shared.error().message;
  EXPECT_THAT(shared.value().incomplete, ::testing::HasSubstr("rank 1 has a trace that cannot"));
  EXPECT_EQ(shared.value().incomplete, alone.value().incomplete);
  EXPECT_EQ(report::json(*shared.value().book), report::json(*alone.value().book));
}

TEST_F(SpreadTest, WhenNoProcessCanReadItsFilesTheFirstIsTold) {
  damage_rank(0);
  damage_rank(1);
  const auto shared = collectives(folder_ / "in", 2);
  ASSERT_FALSE(shared.ok());
  EXPECT_THAT(shared.error().message, ::testing::HasSubstr("rank0"));
}

TEST_F(SpreadTest, AnotherProcessTellsWhyAFileIsNotWhole) {
  cut_rank(1);
  const auto error_of = [&](int processes) {
    AnalyzeRequest request;
    request.configuration = folder_ / "in";
    request.output.folder = folder_ / "out";
    request.kept = keep_for(CompareRequest());
    const auto result = run(request, processes, run_analyze);
    return result.ok() ? "" : result.error().message;
  };
  EXPECT_THAT(error_of(1), ::testing::HasSubstr("is truncated"));
  EXPECT_EQ(error_of(2), error_of(1));
}

}  // namespace
}  // namespace assay::trace
