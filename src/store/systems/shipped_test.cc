#include "store/systems/shipped.h"

#include <gmock/gmock.h>
#include <zstd.h>

#include "core/files.h"
#include "store/database/store_database.h"
#include "store/database/store_test_util.h"
#include "store/files/perf_file.h"

namespace assay::store {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

std::string packed(const std::string& bytes) {
  std::string frame(ZSTD_compressBound(bytes.size()), ' ');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 3));
  return frame;
}

Store opened(const ShippedSystem& system) {
  auto store = open_shipped(system);
  EXPECT_TRUE(store.ok()) << store.error().message;
  return std::move(store).value();
}

TEST(ShippedTest, EverySystemHasTablesOfOneDeviceAndItsPeaks) {
  ASSERT_FALSE(shipped_systems().empty());
  for (const ShippedSystem& system : shipped_systems()) {
    const Store store = opened(system);
    const auto contents = store.list();
    ASSERT_TRUE(contents.ok()) << contents.error().message;
    ASSERT_FALSE(contents.value().empty());
    const auto origin = store.origin();
    ASSERT_TRUE(origin.ok()) << origin.error().message;
    ASSERT_EQ(origin.value().devices.size(), 1U);
    for (const Content& content : contents.value())
      EXPECT_EQ(content.device, origin.value().devices.front()) << content.table;
    EXPECT_THAT(origin_text(origin.value()),
                MatchesRegex(".+, assay [0-9.]+, measured [0-9]+-[0-9]+-[0-9]+( to .+)?"));
    const auto peaks = peaks_of(system);
    ASSERT_TRUE(peaks.ok()) << peaks.error().message;
    EXPECT_GT(peaks.value().memory_bytes_per_s, 0);
    EXPECT_GT(peaks.value().flops_of("bfloat16"), 0);
    // The description is of the same device and name.
    EXPECT_THAT(std::string(system.yaml.substr(0, system.yaml.find('\n'))),
                HasSubstr(std::string(system.name) + ": " + origin.value().devices.front()));
  }
}

// Every measured table is written as CSV and as Parquet and read again without a warning.
TEST(ShippedTest, TablesSurviveTheirFiles) {
  for (const ShippedSystem& system : shipped_systems()) {
    const Store store = opened(system);
    const auto tables = store.tables();
    ASSERT_TRUE(tables.ok()) << tables.error().message;
    EXPECT_GT(tables.value().size(), 5U);
    for (const std::string& table : tables.value()) {
      SCOPED_TRACE(table);
      const auto rows = store.table({.table = table}, Store::Columns::kPublic);
      ASSERT_TRUE(rows.ok()) << rows.error().message;
      for (const FileFormat format : {FileFormat::kCsv, FileFormat::kParquet}) {
        const auto bytes = format_perf_file(table, rows.value(), {.format = format});
        ASSERT_TRUE(bytes.ok()) << bytes.error().message;
        model::Warnings warnings;
        const auto file = parse_perf_file(bytes.value(), table + ".txt", warnings);
        ASSERT_TRUE(file.ok()) << file.error().message;
        EXPECT_EQ(file.value().table, table);
        EXPECT_EQ(file.value().rows.num_rows(), rows.value().num_rows());
        for (const model::Warning& warning : warnings.all())
          ADD_FAILURE() << warning.reason;
      }
    }
  }
}

TEST(ShippedTest, HoldsNothingThatTellsOneMachineFromAnother) {
  for (const ShippedSystem& system : shipped_systems()) {
    const auto runs = opened(system).runs();
    ASSERT_TRUE(runs.ok());
    for (const StoredRun& stored : runs.value()) {
      EXPECT_EQ(stored.run.facts.count("host"), 0U);
      EXPECT_EQ(stored.run.facts.count("GPU uuids"), 0U);
      for (const auto& fact : stored.run.facts)
        EXPECT_THAT(fact.second, testing::Not(HasSubstr(" /"))) << fact.first;
    }
  }
}

TEST(ShippedTest, NothingWritesIntoIt) {
  const ShippedSystem& system = shipped_systems().front();
  Store store = opened(system);
  const std::size_t runs = store.runs().value().size();
  const auto begun = store.begin_run(test_run());
  ASSERT_FALSE(begun.ok());
  EXPECT_THAT(begun.error().message, HasSubstr("the shipped database " + std::string(system.name) +
                                               ": the store may not be written"));
  EXPECT_FALSE(store.append(1, gemm_case(1, 2)).ok());
  EXPECT_EQ(store.runs().value().size(), runs);
}

TEST(ShippedTest, AnUnknownNameIsToldFromAMissingFile) {
  EXPECT_EQ(find_shipped("no_such_system"), nullptr);
  const auto name = open_to_read("no_such_system");
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(
      name.error().message,
      "no_such_system: no such file, and no system of this name ships with assay (these do: " +
          shipped_names() + ")");
  const auto peaks = peaks_of_system("no_such_system");
  ASSERT_FALSE(peaks.ok());
  EXPECT_EQ(peaks.error().message, name.error().message);
  const auto file = open_to_read("no/such/perf.db");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message, "no/such/perf.db: no such store");
}

TEST(OriginTest, IsOfAllRunsButReruns) {
  auto store = Store::in_memory();
  ASSERT_TRUE(store.ok());
  const auto run = [](const char* kind, const char* day, const char* device, const char* maker) {
    auto one = test_run(kind);
    one.started_at = std::string(day) + "T03:04:05Z";
    one.device = device;
    one.facts = {{"made by", maker}};
    return one;
  };
  ASSERT_TRUE(store.value().begin_run(run("collect", "2026-01-03", "GPU A", "assay 1")).ok());
  ASSERT_TRUE(store.value().begin_run(run("collect", "2026-01-02", "GPU B", "assay 1")).ok());
  ASSERT_TRUE(store.value().begin_run(run("collect", "2026-01-04", "GPU A", "assay 2")).ok());
  ASSERT_TRUE(store.value().begin_run(run("rerun", "2026-01-09", "GPU C", "assay 3")).ok());
  const auto origin = store.value().origin();
  ASSERT_TRUE(origin.ok()) << origin.error().message;
  EXPECT_EQ(origin_text(origin.value()),
            "GPU A, GPU B, assay 1, assay 2, measured 2026-01-02 to 2026-01-04");
  Origin one_day = origin.value();
  one_day.last_day = one_day.first_day;
  EXPECT_THAT(origin_text(one_day), testing::EndsWith(", measured 2026-01-02"));
}

class ShippedNameTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
  }

  void TearDown() override {
    std::filesystem::current_path(before_);
    StoreTest::TearDown();
  }

  std::filesystem::path before_;
};

TEST_F(ShippedNameTest, AFileOfTheNameComesFirstAFolderDoesNot) {
  const ShippedSystem& system = shipped_systems().front();
  const std::filesystem::path name = system.name;
  EXPECT_EQ(shipped_at(name), &system);
  std::filesystem::create_directory(name);
  EXPECT_EQ(shipped_at(name), &system);
  std::filesystem::remove(name);
  { const auto made = Store::open(name, Store::Mode::kCreate); }
  EXPECT_EQ(shipped_at(name), nullptr);
  const auto store = open_to_read(name);
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_TRUE(store.value().runs().value().empty());
}

using PackedStoreTest = StoreTest;

TEST_F(PackedStoreTest, GivesWhatTheFileHolds) {
  {
    Store store = open(Store::Mode::kCreate);
    const auto run = store.begin_run(test_run());
    ASSERT_TRUE(run.ok());
    ASSERT_TRUE(store.append(run.value(), gemm_case(7, 0.25)).ok());
  }
  // A store with a write-ahead log is more than one file; tools/ship_system.py removes the log.
  {
    const auto database = Database::open(file_, Store::Mode::kWrite);
    ASSERT_TRUE(database.ok()) << database.error().message;
    ASSERT_TRUE(database.value().execute("PRAGMA journal_mode = DELETE").ok());
  }
  const std::string frame = packed(core::read_file(file_).value());
  const auto store = Store::unpack("it", frame);
  ASSERT_TRUE(store.ok()) << store.error().message;
  const auto table = store.value().table({.table = "gemm_perf"}, Store::Columns::kPublic);
  ASSERT_TRUE(table.ok()) << table.error().message;
  ASSERT_EQ(table.value().num_rows(), 1U);
  EXPECT_EQ(table.value().find("m")->value(0), model::PerfValue(std::int64_t{7}));
  EXPECT_EQ(table.value().find("latency")->value(0), model::PerfValue(0.25));

  const auto cut = Store::unpack("it", std::string_view(frame).substr(0, frame.size() / 2));
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().message, HasSubstr("it: damaged (zstd"));
}

// The frame of a few bytes says in its header that it holds 2^40.
TEST_F(PackedStoreTest, RefusesAFrameThatClaimsTooMuch) {
  std::string frame = "\x28\xB5\x2F\xFD\xC0\x58";
  frame += std::string("\0\0\0\0\0\1\0\0", 8);
  const auto claims = Store::unpack("it", frame);
  ASSERT_FALSE(claims.ok());
  EXPECT_EQ(claims.error().message, "it: 14 bytes claim to unpack to 1099511627776");
}

TEST_F(PackedStoreTest, OpensTheBytesOfAFile) {
  { open(Store::Mode::kCreate); }
  const auto database = Database::open(file_, Store::Mode::kWrite);
  ASSERT_TRUE(database.ok() && database.value().execute("PRAGMA journal_mode = DELETE").ok());
  const std::string bytes = core::read_file(file_).value();
  const auto store = Store::from_bytes("it", bytes);
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_TRUE(store.value().runs().value().empty());
  EXPECT_FALSE(Store::from_bytes("it", "").ok());
  EXPECT_FALSE(Store::from_bytes("it", bytes.substr(0, 100)).ok());
}

TEST_F(PackedStoreTest, RefusesWhatIsNoStore) {
  const auto plain = Store::unpack("it", "SQLite format 3");
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().message, "it: not a store packed by zstd");
  const auto text = Store::unpack("it", packed(std::string(8192, 'x')));
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().message, HasSubstr("it: not a store"));
}

}  // namespace
}  // namespace assay::store
