#include "allreduce/strategy_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace assay::allreduce {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TableSlice slice(int world_size, DataType type, std::vector<TableRow> rows) {
  return {.world_size = world_size,
          .fusion = Fusion::kNone,
          .data_type = type,
          .rows = std::move(rows)};
}

StrategyTable sample_table() {
  StrategyTable table{
      .sm_version = 90, .fallback = Strategy::kNcclSymmetric, .provenance = "a \"test\"\n"};
  table.slices = {
      slice(8, DataType::kBfloat16, {{128, {{0, Strategy::kOneshot}}}}),
      slice(2, DataType::kBfloat16,
            {{1024,
              {{0, Strategy::kOneshot}, {65536, Strategy::kTwoshot}, {1 << 20, Strategy::kNccl}}},
             {4096, {{0, Strategy::kTwoshotPush}}}}),
      slice(2, DataType::kFloat32, {{1024, {{0, Strategy::kNccl}}}}),
  };
  return table;
}

Strategy lookup(const StrategyTable& table,
                int world_size,
                std::int64_t hidden,
                std::int64_t tokens,
                DataType type = DataType::kBfloat16) {
  return table.lookup(world_size, Fusion::kNone, type, hidden, tokens);
}

TEST(StrategyTable, EarlierVersionsAreRead) {
  std::string json = table_json(sample_table());
  json.replace(json.find("\"version\": 3"), 12, "\"version\": 2");
  EXPECT_TRUE(table_from_json(json, "old").ok());
  json.replace(json.find("\"version\": 2"), 12, "\"version\": 1");
  const auto table = table_from_json(json, "older");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_FALSE(table.value().find(8, Fusion::kNone, DataType::kBfloat16, 128, 1).is_extrapolated);
  // Times of eight GPUs are none of four.
  EXPECT_TRUE(table.value().find(4, Fusion::kNone, DataType::kBfloat16, 128, 1).is_extrapolated);
}

TEST(StrategyTable, JsonKeepsWhatWasNotMeasured) {
  StrategyTable table = sample_table();
  table.slices[0].origin = Origin::kExtrapolated;
  table.slices[0].from_world_size = 2;
  table.slices[1].rows[1].origin = Origin::kInterpolated;
  const StrategyTable read = table_from_json(table_json(table), "kept").value();
  EXPECT_EQ(read.slices[0].origin, Origin::kExtrapolated);
  EXPECT_EQ(read.slices[0].from_world_size, 2);
  EXPECT_EQ(read.slices[1].rows[0].origin, Origin::kMeasured);
  EXPECT_EQ(read.slices[1].rows[1].origin, Origin::kInterpolated);
}

// 7 MiB, and a MiB that switches sum, at 450 GB/s.
TEST(StrategyTable, JsonHasTheLimitBesideWhatIsExtrapolated) {
  StrategyTable table;
  table.sm_version = 90;
  table.slices = {{.world_size = 8,
                   .rows = {{1024, {{0, Strategy::kOneshot}, {1 << 20, Strategy::kNccl}}}},
                   .origin = Origin::kExtrapolated,
                   .from_world_size = 4}};
  EXPECT_THAT(table_json(table), HasSubstr("\"origin\": \"extrapolated\", \"from_world_size\": 4, "
                                           "\"link_limit_us_per_mib\": {\"ONESHOT\": 16.311, "
                                           "\"NCCL\": 2.330}, \"rows\""));
  EXPECT_EQ(table_json(table_from_json(table_json(table), "kept").value()), table_json(table));
  table.sm_version = 89;
  EXPECT_THAT(table_json(table), testing::Not(HasSubstr("link_limit"))) << "not known";
  table.sm_version = 90;
  table.slices[0].origin = Origin::kMeasured;
  EXPECT_THAT(table_json(table), testing::Not(HasSubstr("link_limit")));
}

TEST(StrategyTable, SegmentsBeginWithTheirBorder) {
  const StrategyTable table = sample_table();
  EXPECT_EQ(lookup(table, 2, 1024, 1), Strategy::kOneshot);
  EXPECT_EQ(lookup(table, 2, 1024, 31), Strategy::kOneshot);
  EXPECT_EQ(lookup(table, 2, 1024, 32), Strategy::kTwoshot);
  EXPECT_EQ(lookup(table, 2, 1024, 511), Strategy::kTwoshot);
  EXPECT_EQ(lookup(table, 2, 1024, 512), Strategy::kNccl);
}

TEST(StrategyTable, TheNearestRowIsByRatioAndTheLargerOfTwo) {
  const StrategyTable table = sample_table();
  EXPECT_EQ(lookup(table, 2, 1, 1), Strategy::kOneshot);
  EXPECT_EQ(lookup(table, 2, 2047, 1), Strategy::kOneshot);
  EXPECT_EQ(lookup(table, 2, 2048, 1), Strategy::kTwoshotPush);  // 1024 x 4096 = 2048 x 2048
  EXPECT_EQ(lookup(table, 2, kHuge, 1), Strategy::kTwoshotPush);
}

TEST(StrategyTable, TheNearestTpComesBeforeTheType) {
  const StrategyTable table = sample_table();
  EXPECT_EQ(table.find(3, Fusion::kNone, DataType::kBfloat16, 1, 1).slice->world_size, 2);
  EXPECT_EQ(table.find(4, Fusion::kNone, DataType::kBfloat16, 1, 1).slice->world_size, 8);
  const TableMatch far = table.find(6, Fusion::kNone, DataType::kFloat32, 1, 1);
  EXPECT_EQ(far.slice->world_size, 8);
  EXPECT_EQ(far.slice->data_type, DataType::kBfloat16);
  EXPECT_EQ(far.size_bytes, 4);
  EXPECT_EQ(lookup(table, 2, 1024, 1, DataType::kFloat32), Strategy::kNccl);
  EXPECT_EQ(lookup(table, 2, 1024, 1, DataType::kFloat16), Strategy::kOneshot);
}

TEST(StrategyTable, OnlyWhatNothingStandsInForIsMeasured) {
  StrategyTable table = sample_table();
  const auto is_measured = [&](int world_size, Fusion fusion, DataType type) {
    return table.find(world_size, fusion, type, 1024, 1).is_measured();
  };
  EXPECT_TRUE(is_measured(2, Fusion::kNone, DataType::kBfloat16));
  EXPECT_FALSE(is_measured(3, Fusion::kNone, DataType::kBfloat16));
  EXPECT_FALSE(is_measured(8, Fusion::kNone, DataType::kFloat32)) << "bfloat16 stands in";
  EXPECT_FALSE(is_measured(2, Fusion::kResidualRmsNorm, DataType::kBfloat16)) << "the fallback";
  for (TableSlice& slice : table.slices)
    slice.origin = Origin::kExtrapolated;
  EXPECT_FALSE(is_measured(2, Fusion::kNone, DataType::kBfloat16));
}

TEST(StrategyTable, MessagesLargerThanAllThatWereTimedAreNotMeasured) {
  StrategyTable table = sample_table();
  const auto is_beyond = [&](std::int64_t tokens) {
    return table.find(2, Fusion::kNone, DataType::kBfloat16, 1024, tokens).is_beyond;
  };
  EXPECT_FALSE(is_beyond(kHuge)) << "the table does not say how far it was measured";
  for (TableRow& row : table.slices[1].rows)
    row.measured_to_bytes = 2 * 1024 * 100;
  table = table_from_json(table_json(table), "its own").value();
  EXPECT_FALSE(is_beyond(100));
  EXPECT_TRUE(is_beyond(101));
  EXPECT_FALSE(table.find(2, Fusion::kNone, DataType::kBfloat16, 1024, 101).is_measured());
}

TEST(StrategyTable, NoSliceIsTheFallback) {
  const TableMatch match =
      sample_table().find(2, Fusion::kResidualRmsNorm, DataType::kBfloat16, 128, 3);
  EXPECT_EQ(match.strategy, Strategy::kNcclSymmetric);
  EXPECT_EQ(match.slice, nullptr);
  EXPECT_EQ(match.size_bytes, 768);
}

TEST(StrategyTable, MessageBytesNeverOverflow) {
  EXPECT_EQ(message_bytes(3, 5, DataType::kFloat32), 60);
  EXPECT_EQ(message_bytes(0, -7, DataType::kBfloat16), 2);
  EXPECT_EQ(message_bytes(std::int64_t{1} << 40, std::int64_t{1} << 40, DataType::kBfloat16),
            kHuge);
  EXPECT_EQ(message_bytes(1, kHuge, DataType::kFloat16), kHuge);
  EXPECT_EQ(message_bytes(std::int64_t{1} << 61, 1, DataType::kBfloat16), std::int64_t{1} << 62);
}

TEST(StrategyTable, TheLookupIsTotal) {
  const StrategyTable table = sample_table();
  const std::int64_t odd[] = {
      std::numeric_limits<std::int64_t>::min(), -5, 0, 1, 2880, std::int64_t{1} << 40, kHuge};
  for (const int world_size :
       {std::numeric_limits<int>::min(), -1, 0, 1, 3, 5, 6, 16, std::numeric_limits<int>::max()}) {
    for (const std::int64_t hidden : odd) {
      for (const std::int64_t tokens : odd) {
        for (int number = 0; number < 6; ++number) {
          const auto fusion = static_cast<Fusion>(number * 51);
          const auto type = static_cast<DataType>(number);
          const TableMatch match = table.find(world_size, fusion, type, hidden, tokens);
          EXPECT_GE(match.size_bytes, 2);
          EXPECT_EQ(match.slice == nullptr, fusion != Fusion::kNone);
          EXPECT_EQ(match.strategy,
                    match.slice == nullptr ? table.fallback : match.segment->strategy);
        }
      }
    }
  }
}

TEST(StrategyTable, SurvivesJson) {
  const StrategyTable table = sample_table();
  const std::string json = table_json(table);
  const StrategyTable read = table_from_json(json, "t.json").value();
  EXPECT_EQ(table_json(read), json);
  EXPECT_EQ(read.sm_version, 90);
  EXPECT_EQ(read.fallback, Strategy::kNcclSymmetric);
  EXPECT_EQ(read.provenance, table.provenance);
  ASSERT_EQ(read.slices.size(), 3U);
  EXPECT_EQ(read.slices[1].rows[0].segments, table.slices[1].rows[0].segments);
  EXPECT_THAT(json, HasSubstr("        {\"hidden_size\": 4096, \"segments\": [{\"from_bytes\": 0, "
                              "\"strategy\": \"TWOSHOT_PUSH\"}]}\n"));
  EXPECT_TRUE(table_from_json(table_json({.sm_version = 90}), "none").value().slices.empty());
}

std::string table_error(const std::string& json) {
  const auto table = table_from_json(json, "t.json");
  return table.ok() ? "read without an error" : table.error().message;
}

// Returns the sample's JSON with `from` replaced by `to`.
std::string damaged(const std::string& from, const std::string& to) {
  std::string json = table_json(sample_table());
  const std::size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return table_error(json.replace(at, from.size(), to));
}

TEST(StrategyTable, BadJsonIsAnErrorWithItsPlace) {
  EXPECT_EQ(table_error("{"), "'t.json' is no JSON from line 1, column 2 on");
  EXPECT_EQ(table_error(""), "'t.json' is no JSON from line 1, column 1 on");
  EXPECT_EQ(table_error("{\n  \"format\": oops\n}"),
            "'t.json' is no JSON from line 2, column 13 on");
  EXPECT_EQ(table_error("[1e999]"), "'t.json' has a number that is too large");
  EXPECT_EQ(table_error("[]"), "'t.json': is no JSON object");
  EXPECT_EQ(table_error("{}"), "'t.json': has no field \"format\"");
  EXPECT_THAT(damaged("allreduce table", "trace"), HasSubstr("format is not"));
  EXPECT_THAT(damaged("\"version\": 3", "\"version\": 4"), HasSubstr("version is none of 1 to 3"));
  EXPECT_THAT(damaged("\"rows\"", "\"origin\": \"interpolated\", \"rows\""),
              HasSubstr("slices[0].origin does not belong here"));
  EXPECT_EQ(damaged("\"strategy\": \"TWOSHOT\"", "\"strategy\": \"THREESHOT\""),
            "'t.json': slices[1].rows[0].segments[1].strategy is 'THREESHOT', which is not known");
  EXPECT_THAT(damaged("\"strategy\": \"TWOSHOT\"", "\"strategy\": \"AUTO\""),
              HasSubstr("segments[1].strategy is AUTO"));
  EXPECT_THAT(damaged("\"fallback\": \"NCCL_SYMMETRIC\"", "\"fallback\": \"AUTO\""),
              HasSubstr("fallback is AUTO"));
  EXPECT_THAT(damaged("\"from_bytes\": 65536", "\"from_bytes\": 1048576"),
              HasSubstr("slices[1].rows[0].segments[2] must be from more bytes"));
  EXPECT_THAT(damaged("\"from_bytes\": 65536", "\"from_bytes\": -1"), HasSubstr("whole number"));
  EXPECT_THAT(damaged("\"from_bytes\": 65536", "\"from_bytes\": 18446744073709551615"),
              HasSubstr("whole number"));
  EXPECT_THAT(damaged("\"from_bytes\": 65536", "\"from_bytes\": 65536.5"),
              HasSubstr("whole number"));
  EXPECT_THAT(damaged("\"from_bytes\": 0", "\"from_bytes\": 1"), HasSubstr("must be from 0 bytes"));
  EXPECT_THAT(damaged("4096", "1024"),
              HasSubstr("slices[1].rows[1] must have a larger hidden_size"));
  EXPECT_THAT(damaged("\"world_size\": 8", "\"world_size\": 0"), HasSubstr("slices[0].world_size"));
  EXPECT_THAT(damaged("float32", "bfloat16"), HasSubstr("slices[2] has world_size, fusion and"));
  EXPECT_THAT(damaged("\"rows\"", "\"row\""), HasSubstr("slices[0] has an unknown field \"row\""));
  EXPECT_THAT(damaged("[{\"from_bytes\": 0, \"strategy\": \"ONESHOT\"}]", "[]"),
              HasSubstr("slices[0].rows[0].segments is empty"));
  EXPECT_THAT(damaged("[{\"from_bytes\": 0, \"strategy\": \"ONESHOT\"}]", "7"),
              HasSubstr("slices[0].rows[0].segments must be a list"));
}

}  // namespace
}  // namespace assay::allreduce
