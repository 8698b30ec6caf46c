#include "core/task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/terminal.h"

namespace assay::core {
namespace {

TEST(Task, StopsOnlyTheThreadsThatWorkForIt) {
  const std::int32_t stop = 1;
  Task task(nullptr, &stop);
  EXPECT_FALSE(interrupted());
  {
    const WorkingFor working(&task);
    EXPECT_TRUE(interrupted());
    EXPECT_FALSE(check_interrupt().ok());
    std::thread([] { EXPECT_FALSE(interrupted()); }).join();
  }
  EXPECT_FALSE(interrupted());
}

TEST(Task, IsThatOfTheThreadsOfALoop) {
  Task task;
  const WorkingFor working(&task);
  std::atomic<int> ours = 0;
  parallel_for(64, 4, [&](std::size_t) { ours += Task::current() == &task ? 1 : 0; });
  EXPECT_EQ(ours, 64);
}

TEST(Task, WorkThatCannotTellHowFarItIsCanBeStopped) {
  int asked = 0;
  Task task([&](const std::string&, std::uint64_t, std::uint64_t) { return ++asked < 3; });
  const WorkingFor working(&task);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!interrupted() && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(interrupted());
}

TEST(Task, HearsOfProgress) {
  std::string heard;
  Task task([&](const std::string& doing, std::uint64_t done, std::uint64_t total) {
    heard = doing + " " + std::to_string(done) + " of " + std::to_string(total);
    return true;
  });
  const WorkingFor working(&task);
  Progress progress("reading", Progress::Show::kNever);
  progress.add_total(100);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (heard.empty() && std::chrono::steady_clock::now() < end)
    progress.advance(0);
  EXPECT_EQ(heard, "reading 0 of 100");
}

}  // namespace
}  // namespace assay::core
