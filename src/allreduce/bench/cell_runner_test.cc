#include "allreduce/bench/cell_runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

// A worker that says hello and then never answers.
fs::path silent_worker() {
  fs::path path = fs::path(testing::TempDir()) / "silent-worker";
  std::ofstream(path) << "#!/bin/sh\n"
                      << "echo '" << message_line(WorkerHello{90, {}}) << "'\n"
                      << "echo '{\"id\":1,\"doing\":\"check\",\"strategy\":\"ONESHOT\"}'\n"
                      << "exec cat >/dev/null\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST(CellRunner, AStrategyIsDroppedAfterThreeHangsInARow) {
  const WorkerLaunch launch{.program = silent_worker(),
                            .log = fs::path(testing::TempDir()) / "worker.log"};
  CellRunner runner({.start_worker = [&] { return Worker::start(launch); },
                     .on_notice = [](const std::string&) {}},
                    std::chrono::milliseconds(50));
  CellRequest request{.id = 1, .cell = {}, .strategies = {Strategy::kOneshot}};
  for (int hangs = 1; hangs <= 3; ++hangs) {
    EXPECT_EQ(runner.left_out(), 0) << hangs;
    const auto measured = runner.measure(request);
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    ASSERT_EQ(measured.value().size(), 1U);
    EXPECT_EQ(measured.value()[0].outcome, Outcome::kHang);
  }
  EXPECT_TRUE(runner.measure(request).value().empty());
  EXPECT_EQ(runner.left_out(), 1);
}

}  // namespace
}  // namespace assay::allreduce
