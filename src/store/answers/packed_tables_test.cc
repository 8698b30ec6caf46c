#include "store/answers/packed_tables.h"

#include <gtest/gtest.h>

#include <cstring>

#include "store/answers/query.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

constexpr const char* kProducts =
    "kernel_source,gemm_dtype,m,n,k,latency,interval_low_ms,interval_high_ms,samples,power,"
    "throttled\n"
    "a,fp8,1,64,64,0.1,0.09,0.11,7,300,0\na,fp8,4,64,64,0.3,0.2,0.4,7,500,1\n"
    "b,bfloat16,1,64,128,0.2,,,,700,\n";
constexpr const char* kOthers =
    "kind,alpha,width,batch_size,s,latency\nx,1.5,8,1,2,1\nx,,8,2,4,2\n";

MappedTable mapped(const std::string& table, const std::string& csv) {
  auto rows = make_work_rows(table, frame_of(csv));
  EXPECT_TRUE(rows.ok());
  MappedTable made{.rows = std::move(rows).value(), .spreads = {}};
  made.spreads.ways[0] = Spread(std::vector<Miss>(Spread::kFewest, {.raw = 1, .error = 0.25}));
  return made;
}

// As the linker aligns what it embeds.
std::vector<std::uint64_t> aligned(const std::string& bytes) {
  std::vector<std::uint64_t> words((bytes.size() + 7) / 8);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

TEST(PackedTables, GivesBackWhatTellsThePowerOfOtherRows) {
  MappedTable table = mapped("gemm_perf", kProducts);
  const PoweredRow one{.load = {.memory = 0.5, .compute = 0.25, .milliseconds = 2, .type = "fp8"},
                       .watts = 600};
  const PoweredRow two{
      .load = {.memory = 0.1, .compute = 0.75, .milliseconds = 3, .type = "bfloat16"},
      .watts = 650};
  table.power = {.device = "NVIDIA H200",
                 .samples = {{.op_name = "gemm",
                              .rows = {one, two},
                              .limit_watts = 700,
                              .errors = {.median = 0.05, .p90 = 0.1},
                              .errors_of_other_types = PowerErrors{.median = 0.06, .p90 = 0.2}}}};
  const std::string bytes = pack_tables("", {table, mapped("other_perf", kOthers)});
  const auto words = aligned(bytes);
  const auto packed =
      PackedTables::open({reinterpret_cast<const char*>(words.data()), bytes.size()});
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed.value().table("other_perf").value().power, nullptr);
  const auto power = packed.value().table("gemm_perf").value().power;
  ASSERT_NE(power, nullptr);
  EXPECT_EQ(power->device, "NVIDIA H200");
  const PowerSample* sample = power->find("gemm");
  ASSERT_NE(sample, nullptr);
  EXPECT_DOUBLE_EQ(sample->limit_watts, 700);
  EXPECT_DOUBLE_EQ(sample->errors.median, 0.05);
  EXPECT_DOUBLE_EQ(sample->errors_of_other_types->p90, 0.2);
  ASSERT_EQ(sample->rows.size(), 2U);
  EXPECT_EQ(sample->rows.back().load.type, "bfloat16");
  EXPECT_DOUBLE_EQ(sample->rows.back().load.milliseconds, 3);
  EXPECT_DOUBLE_EQ(sample->rows.back().watts, 650);
}

TEST(PackedTables, GivesTheRowsBack) {
  const std::vector<MappedTable> tables{mapped("gemm_perf", kProducts),
                                        mapped("other_perf", kOthers)};
  const std::string bytes = pack_tables("measured by hand", tables);
  const auto words = aligned(bytes);
  const auto packed =
      PackedTables::open({reinterpret_cast<const char*>(words.data()), bytes.size()});
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_EQ(packed.value().origin(), "measured by hand");
  for (const MappedTable& table : tables) {
    const WorkRows& expected = table.rows;
    const auto rows = packed.value().table(expected.table);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_EQ(rows.value().sizes, expected.sizes);
    EXPECT_EQ(rows.value().work.axes.size(), expected.work.axes.size());
    EXPECT_EQ(rows.value().work.axes.front().times, expected.work.axes.front().times);
    const auto equal = [](auto a, auto b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    };
    EXPECT_TRUE(equal(rows.value().codes, expected.codes));
    EXPECT_TRUE(equal(rows.value().begins, expected.begins));
    EXPECT_TRUE(equal(rows.value().values, expected.values));
    EXPECT_TRUE(equal(rows.value().latencies, expected.latencies));
    EXPECT_TRUE(equal(rows.value().watts, expected.watts));
    EXPECT_EQ(expected.watts.empty(), expected.table == "other_perf");
    EXPECT_TRUE(equal(rows.value().throttled, expected.throttled));
    EXPECT_EQ(expected.throttled.empty(), expected.table == "other_perf");
    ASSERT_NE(rows.value().spreads, nullptr);
    EXPECT_EQ(rows.value().spreads->of_way(Way::kOwnCurve, 2).eighty, 0.5);
    ASSERT_EQ(rows.value().intervals.size(), expected.intervals.size());
    for (std::size_t i = 0; i < expected.exact.size(); ++i)
      EXPECT_EQ(rows.value().exact[i].values, expected.exact[i].values);
  }
  EXPECT_EQ(packed.value().table("moe_perf").error().message,
            "no table moe_perf; it has gemm_perf, other_perf");
}

TEST(PackedTables, RefusesWhatIsCutOff) {
  const std::string bytes = pack_tables("", {mapped("gemm_perf", kProducts)});
  const auto words = aligned(bytes);
  for (std::size_t size = 0; size < bytes.size(); size += 8) {
    const std::string_view part(reinterpret_cast<const char*>(words.data()), size);
    const auto packed = PackedTables::open(part);
    EXPECT_TRUE(!packed.ok() || !packed.value().table("gemm_perf").ok()) << size;
  }
}

}  // namespace
}  // namespace assay::store
