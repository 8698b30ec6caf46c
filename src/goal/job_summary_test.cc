#include "goal/job_summary.h"

#include <gtest/gtest.h>

#include <string>

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
  job.matches.by_order = 3;
  const model::Book book = describe(job);
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
  // Two operations at the same time count once.
  EXPECT_EQ(model::number(book.find("gpus")->at(0, 7)), 2.0);
}

}  // namespace
}  // namespace assay::goal
