#include "store/answers/table_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "core/files.h"
#include "core/output_file.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kHeader =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
constexpr const char* kFirst =
    "x,1,d,gemm,a,fp8,1,64,64,0.1\nx,1,d,gemm,a,fp8,4,64,64,0.3\nx,1,d,gemm,a,bfloat16,1,64,64,0."
    "2\n";
constexpr const char* kSecond =
    "x,1,d,gemm,a,fp8,1,64,64,0.5\nx,1,d,gemm,a,fp8,4,64,64,0.7\nx,1,d,gemm,a,bfloat16,1,64,64,0."
    "6\n";

class TableCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    write(file_, std::string(kHeader) + kFirst);
  }

  static void write(const fs::path& path, const std::string& text) {
    ASSERT_TRUE(core::make_directories(path.parent_path()).ok());
    ASSERT_TRUE(core::write_file(path, text, core::Durability::kUnsynced).ok());
  }

  // Each file's own time, which a test may set.
  static void set_time(const fs::path& path, std::int64_t seconds) {
    const std::array<timespec, 2> times = {timespec{.tv_sec = seconds, .tv_nsec = 5},
                                           timespec{.tv_sec = seconds, .tv_nsec = 5}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  }

  // A learner that counts its calls and learns the latency of the first row.
  SpreadLearner learner(const std::string& key = "peaks") {
    return {.key = key, .learn = [this](const WorkRows& rows) {
              ++learnt_;
              Spreads spreads;
              spreads.ways[0] = Spread(
                  std::vector<Miss>(Spread::kFewest, {.raw = 1, .error = rows.latencies.front()}));
              return spreads;
            }};
  }

  TableOfFile read(const std::string& key = "peaks") {
    auto table = TableCache(folder_).table(file_, learner(key));
    EXPECT_TRUE(table.ok()) << table.error().message;
    return std::move(table).value();
  }

  // The latency of the only row of bfloat16, which comes first.
  static double first_ms(const TableOfFile& table) { return table.rows.latencies.front(); }

  [[nodiscard]] fs::path entry() const {
    const auto names = core::list_directory(folder_);
    EXPECT_TRUE(names.ok());
    EXPECT_THAT(names.value(), SizeIs(1));
    return folder_ / names.value().at(0);
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "table_cache";
  const fs::path folder_ = root_ / "cache" / "tables";
  const fs::path file_ = root_ / "tree" / "gemm_perf.csv";
  std::atomic<int> learnt_ = 0;
};

TEST_F(TableCacheTest, AnEntryGivesWhatTheFileGave) {
  const TableOfFile made = read();
  const TableOfFile kept = read();
  EXPECT_FALSE(made.was_kept);
  EXPECT_TRUE(kept.was_kept);
  EXPECT_EQ(learnt_, 1);
  for (const TableOfFile* table : {&made, &kept}) {
    EXPECT_EQ(table->rows.table, "gemm_perf");
    EXPECT_EQ(table->rows.num_rows(), 3U);
    EXPECT_EQ(table->rows.num_families(), 2U);
    EXPECT_EQ(first_ms(*table), 0.2);
    ASSERT_NE(table->rows.spreads, nullptr);
    EXPECT_EQ(table->rows.spreads->of_way(Way::kOwnCurve, 1).eighty, 0.2);
  }
}

TEST_F(TableCacheTest, RowsStayAsLongAsTheyAreHeld) {
  WorkRows rows;
  {
    read();
    rows = read().rows;
  }
  fs::remove_all(folder_);
  EXPECT_EQ(rows.latencies.back(), 0.3);
  EXPECT_EQ(rows.spreads->of_way(Way::kOwnCurve, 1).eighty, 0.2);
}

TEST_F(TableCacheTest, AnotherContentIsReadAnew) {
  read();
  write(file_, std::string(kHeader) + kSecond);
  EXPECT_EQ(first_ms(read()), 0.6);
  EXPECT_TRUE(read().was_kept);
  EXPECT_EQ(first_ms(read()), 0.6);
}

TEST_F(TableCacheTest, TheSameContentOfAnotherTimeIsNotReadAnew) {
  read();
  set_time(file_, 1'000'000);
  EXPECT_TRUE(read().was_kept);
  EXPECT_EQ(learnt_, 1);
  // The entry has the new time now: the content is not looked at again.
  struct stat status = {};
  ASSERT_EQ(::stat(entry().c_str(), &status), 0);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'000'000);
  EXPECT_EQ(status.st_mtim.tv_nsec, 5);
}

TEST_F(TableCacheTest, AnotherLearnerLearnsAnew) {
  read("peaks");
  EXPECT_FALSE(read("other peaks").was_kept);
  EXPECT_TRUE(read("other peaks").was_kept);
  EXPECT_EQ(learnt_, 2);
  const TableCache cache(folder_);
  const auto plain = cache.table(file_, {.key = "other peaks", .learn = nullptr});
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain.value().was_kept);
  EXPECT_EQ(plain.value().rows.spreads, nullptr);
}

TEST_F(TableCacheTest, NoDamageIsUsedOrAnError) {
  read();
  const std::string whole = core::read_file(entry()).value();
  const fs::path path = entry();
  // All of the head, and some of the tables.
  for (std::size_t at = 0; at < whole.size(); at += at < 96 ? 8 : 101) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write(path, damaged);
    EXPECT_EQ(first_ms(read()), 0.2) << at;
    write(path, damaged.substr(0, at));
    EXPECT_EQ(first_ms(read()), 0.2) << at;
  }
  write(path, whole + "more");
  EXPECT_FALSE(read().was_kept);
  write(path, "something else");
  EXPECT_FALSE(read().was_kept);
  EXPECT_TRUE(read().was_kept);
  // What is copied without its time is whole all the same.
  write(path, core::read_file(path).value());
  EXPECT_TRUE(read().was_kept);
}

TEST_F(TableCacheTest, NotesOfTheFileAreToldEachTime) {
  write(file_, std::string(kHeader) + kFirst + "x,1,d,gemm,a,fp8,8,64,64,\n");
  const auto made = read().notes;
  EXPECT_THAT(made, SizeIs(1));
  EXPECT_EQ(read().notes, made);
  EXPECT_TRUE(read().was_kept);
}

TEST_F(TableCacheTest, RowsWithoutATimeAreCountedEachTime) {
  EXPECT_EQ(read().unread, 0);
  write(file_, std::string(kHeader) + kFirst +
                   "x,1,d,gemm,a,fp8,8,64,64,\nx,1,d,gemm,a,fp8,16,64,64,-1\n");
  EXPECT_EQ(read().unread, 2);
  EXPECT_EQ(read().unread, 2);
  EXPECT_TRUE(read().was_kept);
}

TEST_F(TableCacheTest, WithoutAFolderNothingIsKept) {
  const TableCache cache{fs::path()};
  EXPECT_FALSE(cache.table(file_, learner()).value().was_kept);
  EXPECT_FALSE(cache.table(file_, learner()).value().was_kept);
  EXPECT_THAT(cache.note(), IsEmpty());
}

TEST_F(TableCacheTest, AFolderThatCannotBeWrittenIsOneNote) {
  write(root_ / "cache", "a file where the folder would be");
  const TableCache cache(folder_);
  const std::vector<fs::path> files(3, file_);
  for (const auto& table : cache.tables(files, learner(), 2)) {
    ASSERT_TRUE(table.ok()) << table.error().message;
    EXPECT_EQ(first_ms(table.value()), 0.2);
  }
  EXPECT_THAT(cache.note(), HasSubstr("tables are read anew each time: "));
}

TEST_F(TableCacheTest, AnEntryThatIsAFolderIsPassedOver) {
  read();
  const fs::path path = entry();
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(first_ms(read()), 0.2);
  EXPECT_FALSE(read().was_kept);
}

TEST_F(TableCacheTest, ErrorsAreThoseOfTheFile) {
  const TableCache cache(folder_);
  const auto gone = cache.table(root_ / "gone_perf.csv", learner());
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.error().message, HasSubstr("gone_perf.csv"));
  read();
  fs::remove(file_);
  EXPECT_FALSE(cache.table(file_, learner()).ok());
  write(file_, "neither,this\nnor,that\n");
  const auto damaged = cache.table(file_, learner());
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(damaged.error().message, HasSubstr("gemm_perf.csv"));
  const std::vector<fs::path> files = {file_, root_ / "gone_perf.csv"};
  EXPECT_THAT(cache.tables(files, learner()), SizeIs(2));
}

TEST_F(TableCacheTest, TheOldestEntriesGoWhenAllAreTooLarge) {
  std::vector<fs::path> files;
  for (int i = 0; i < 4; ++i) {
    files.push_back(root_ / std::to_string(i) / "gemm_perf.csv");
    write(files.back(), std::string(kHeader) + kFirst);
  }
  read();
  const std::uint64_t size = fs::file_size(entry());
  const TableCache cache(folder_, 2 * size + size / 2);
  for (const fs::path& file : files) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(cache.table(file, learner()).ok());
  }
  EXPECT_THAT(core::list_directory(folder_).value(), SizeIs(2));
  EXPECT_TRUE(cache.table(files[3], learner()).value().was_kept);
  EXPECT_TRUE(cache.table(files[2], learner()).value().was_kept);
  EXPECT_FALSE(cache.table(files[0], learner()).value().was_kept);
}

TEST_F(TableCacheTest, SeveralMayUseAFolderAtOnce) {
  std::vector<fs::path> files;
  for (int i = 0; i < 8; ++i) {
    files.push_back(root_ / std::to_string(i) / "gemm_perf.csv");
    write(files.back(), std::string(kHeader) + (i % 2 == 0 ? kFirst : kSecond));
  }
  std::vector<std::jthread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      const TableCache cache(folder_);
      const auto tables = cache.tables(files, learner(), 2);
      for (std::size_t i = 0; i < tables.size(); ++i) {
        ASSERT_TRUE(tables[i].ok()) << tables[i].error().message;
        EXPECT_EQ(first_ms(tables[i].value()), i % 2 == 0 ? 0.2 : 0.6);
      }
    });
  }
  users.clear();
  for (const auto& table : TableCache(folder_).tables(files, learner()))
    EXPECT_TRUE(table.value().was_kept);
}

TEST(TableCacheFolder, IsTheUsers) {
  const auto folder = [](const std::map<std::string, std::string>& variables) {
    return TableCache::users_folder([&](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(folder({{"HOME", "/home/u"}}), "/home/u/.cache/assay/tables");
  EXPECT_EQ(folder({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/c"}}), "/c/assay/tables");
  EXPECT_EQ(folder({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "c"}}), "/home/u/.cache/assay/tables");
  EXPECT_EQ(folder({{"HOME", "/home/u"}, {"ASSAY_CACHE", "off"}}), "");
  EXPECT_EQ(folder({}), "");
  EXPECT_EQ(folder({{"HOME", "here"}}), "");
}

}  // namespace
}  // namespace assay::store
