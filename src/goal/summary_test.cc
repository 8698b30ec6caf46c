#include "goal/summary.h"

#include <gtest/gtest.h>

#include <string>

#include "goal/goal_test_util.h"

namespace assay::goal {
namespace {

TEST(JobSummary, CountsOperationsByKind) {
  model::Job job;
  job.nccl_version = "2.28.9";
  job.gpus.resize(2);
  job.communicators = {{.name = "0x1", .gpus = {0, 1, model::kNoGpu}, .channels = {}}};
  model::Operation operation;
  operation.algorithm = model::NcclAlgorithm::kRing;
  operation.protocol = model::NcclProtocol::kLl;
  operation.bytes = 1000;
  operation.end_ns = 2'000'000;
  job.gpus[0].operations = {operation, operation};
  operation.bytes = 3000;
  job.gpus[1].operations = {operation};
  job.gpus[1].window_end_ns = 4'000'000;
  job.matches = {.by_correlation = 1, .by_order = 3, .by_time = 0};
  const model::Book book = summarize_job(job);
  EXPECT_EQ(book.title, "A recording of 2 GPUs with NCCL 2.28.9");
  const model::Table& operations = *book.find("operations");
  ASSERT_EQ(operations.row_count(), 1U);
  EXPECT_EQ(model::text(operations.at(0, 0)), "AllReduce");
  EXPECT_EQ(model::text(operations.at(0, 1)), "RING");
  EXPECT_EQ(model::text(operations.at(0, 3)), "3");
  EXPECT_EQ(model::text(operations.at(0, 6)), "1000");
  EXPECT_EQ(model::text(operations.at(0, 7)), "3000");
  EXPECT_EQ(model::number(operations.at(0, 8)), 2.0);
  const model::Table& communicators = *book.find("communicators");
  EXPECT_EQ(model::text(communicators.at(0, 2)), "1");
  EXPECT_EQ(model::text(communicators.at(0, 5)), "no");
  const model::Table& kernels = *book.find("kernels");
  ASSERT_EQ(kernels.row_count(), 4U);
  EXPECT_EQ(model::text(kernels.at(3, 1)), "4");
  // Two operations at the same time count once.
  EXPECT_EQ(model::number(book.find("gpus")->at(0, 7)), 2.0);
}

// Returns the cells of a row, separated by commas.
std::string row(const model::Book& book, const char* table_name, std::size_t row_number) {
  const model::Table* table = book.find(table_name);
  std::string text;
  for (std::size_t column = 0; column < table->columns.size(); ++column) {
    text += (column > 0 ? "," : "") + model::text(table->at(row_number, column));
  }
  return text;
}

TEST(ScheduleStatistics, CountsByKindRankAndSize) {
  const model::Book book = schedule_statistics(
      schedule_of("num_ranks 2\nrank 0 {\nl0: calc 5 cpu 3\nl1: send 1024b to 1\nl2: send 0b to 1\n"
                  "send 1023b to 1 nic 1\nl1 requires l0\nl2 irequires l0\n}\n"
                  "rank 1 {\nrecv 1024b from 0\n}\n"),
      "x.bin");
  EXPECT_EQ(book.title, "GOAL schedule x.bin");
  EXPECT_EQ(row(book, "operations", 0), "send,3,0,3,2047,0,2047,bytes");
  EXPECT_EQ(row(book, "operations", 1), "receive,1,0,1,1024,0,1024,bytes");
  EXPECT_EQ(row(book, "operations", 2), "calculation,1,0,1,5,0,5,ns");
  ASSERT_EQ(book.find("message_sizes")->row_count(), 3U);
  EXPECT_EQ(row(book, "message_sizes", 0).substr(0, 6), "0,0,1,");
  EXPECT_EQ(row(book, "message_sizes", 1).substr(0, 11), "512,1023,1,");
  EXPECT_EQ(row(book, "message_sizes", 2).substr(0, 12), "1024,2047,1,");
  EXPECT_EQ(row(book, "schedule", 4).substr(0, 8), "roots,3,");
  EXPECT_EQ(row(book, "schedule", 5).substr(0, 11), "requires,1,");
  EXPECT_EQ(row(book, "schedule", 6).substr(0, 12), "irequires,1,");
  EXPECT_EQ(row(book, "schedule", 7).substr(0, 7), "cpus,4,");
  EXPECT_EQ(row(book, "schedule", 8).substr(0, 7), "nics,2,");
}

TEST(ScheduleStatistics, TellsTimesInNanosecondsWhateverTheUnit) {
  const model::Book book = schedule_statistics(
      schedule_of("num_ranks 1\nrank 0 {\ncalc 100\nsend 100b to 0\n}\n"), "x.bin", 0.04);
  EXPECT_EQ(row(book, "operations", 0), "send,1,1,1,100,100,100,bytes");
  EXPECT_EQ(row(book, "operations", 2), "calculation,1,1,1,4,4,4,ns");
  EXPECT_EQ(book.find("operations")->title,
            "Operations by kind; min and max are those of a rank; the schedule counts calculations "
            "in units of 0.04 ns");
}

}  // namespace

}  // namespace assay::goal
