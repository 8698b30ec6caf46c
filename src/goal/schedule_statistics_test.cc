#include "goal/schedule_statistics.h"

#include <gtest/gtest.h>

#include <string>

#include "goal/goal_text_for_test.h"

namespace assay::goal {
namespace {

// Cells of a row by commas.
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

}  // namespace
}  // namespace assay::goal
