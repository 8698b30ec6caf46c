// Compiles generated headers, alone and with a program that compares their lookup with the table's
// over a grid that reaches far beyond the table.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "allreduce/codegen/generated_files.h"
#include "core/files.h"
#include "core/output_file.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kWarnings = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror";

std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> sizes{std::numeric_limits<std::int64_t>::min(), -5, 0, 2880, 5120, 7168,
                                  std::numeric_limits<std::int64_t>::max()};
  for (int bit = 0; bit < 63; bit += bit < 24 ? 1 : 5) {
    sizes.push_back(std::int64_t{1} << bit);
    if (bit > 1 && bit < 24) sizes.push_back((std::int64_t{1} << bit) - 1);
  }
  for (std::int64_t size = 3; size <= 20000; size += 1237)
    sizes.push_back(size);
  return sizes;
}

std::vector<int> world_sizes() {
  std::vector<int> sizes{std::numeric_limits<int>::min(), -1, std::numeric_limits<int>::max()};
  for (int size = 0; size <= 16; ++size)
    sizes.push_back(size);
  return sizes;
}

// The numbers of Fusion and of DataType; the last two of each stand for no enumerator.
const std::vector<int> kFusions{0, 1, 2, 3, 4, 255};
const std::vector<int> kDataTypes{0, 1, 2, 3, 255};

template <class Number>
std::string list_text(const std::string& name, const std::vector<Number>& numbers) {
  std::string text = fmt::format("static const long long {}[] = {{", name);
  for (const Number number : numbers)
    text += fmt::format("{}LL + {}, ", number < 0 ? number + 1 : number, number < 0 ? -1 : 0);
  return text + "};\n";
}

// Returns one byte for each point of the grid, in the order of the programs' loops.
template <class Answer>
std::string answers_on_grid(const Answer& answer) {
  std::string answers;
  for (const int world_size : world_sizes()) {
    for (const int fusion : kFusions) {
      for (const int type : kDataTypes) {
        for (const std::int64_t hidden : sizes()) {
          for (const std::int64_t tokens : sizes()) {
            answers += static_cast<char>(answer(world_size, static_cast<Fusion>(fusion),
                                                static_cast<DataType>(type), hidden, tokens));
          }
        }
      }
    }
  }
  return answers;
}

void write_text(const fs::path& path, const std::string& text) {
  core::write_file(path, text, core::Durability::kUnsynced).value();
}

// Writes the grid as arrays for the program.
void write_grid(const fs::path& folder) {
  write_text(folder / "grid.h",
             list_text("kWorldSizes", world_sizes()) + list_text("kFusions", kFusions) +
                 list_text("kDataTypes", kDataTypes) + list_text("kSizes", sizes()));
}

// The table's answers, with a bit for those that are extrapolated and one for those measured.
std::string marked_answers(const StrategyTable& table, bool is_of_asked_sm = true) {
  return answers_on_grid(
      [&](int world_size, Fusion fusion, DataType type, std::int64_t hidden, std::int64_t tokens) {
        const TableMatch match = table.find(world_size, fusion, type, hidden, tokens);
        return static_cast<int>(match.strategy) | (match.is_extrapolated ? 128 : 0) |
               (is_of_asked_sm && match.is_measured() ? 16 : 0);
      });
}

// Returns a table with slices of every fusion whose number, rows and segments are random.
StrategyTable random_table(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(random() % bound);
  };
  StrategyTable table{.sm_version = 90, .fallback = Strategy::kNccl, .provenance = "nobody\\\n"};
  const auto any_strategy = [&] {
    return kStrategies.at(static_cast<std::size_t>(below(5))).strategy;
  };
  for (int fusion = 0; fusion < 4; ++fusion) {
    for (int world_size = 1 + static_cast<int>(below(3)); world_size <= 12;
         world_size += 1 + static_cast<int>(below(6))) {
      TableSlice slice{.world_size = world_size,
                       .fusion = static_cast<Fusion>(fusion),
                       .data_type = static_cast<DataType>(below(3)),
                       .rows = {}};
      if (below(3) == 0) {
        slice.origin = Origin::kExtrapolated;
        slice.from_world_size = 4;
      }
      for (std::int64_t hidden = 1 + below(500); hidden < 20000; hidden += 1 + below(6000)) {
        TableRow row{.hidden_size = hidden, .segments = {{0, any_strategy()}}};
        while (below(3) > 0) {
          row.segments.push_back(
              {row.segments.back().from_bytes + 1 + below(1U << 22), any_strategy()});
        }
        if (below(3) > 0) row.measured_to_bytes = 1 + below(1U << 26);
        slice.rows.push_back(std::move(row));
      }
      table.slices.push_back(std::move(slice));
    }
  }
  return table;
}

StrategyTable smallest_table() {
  StrategyTable table{.sm_version = 100, .fallback = Strategy::kOneshot};
  table.slices.push_back({.world_size = 4, .rows = {{4096, {{0, Strategy::kTwoshot}}}}});
  return table;
}

// A table with two slices equally near to TP 4 and two rows equally near to hidden size 2048.
StrategyTable table_of_ties() {
  const std::vector<TableRow> low{{1024, {{0, Strategy::kOneshot}}},
                                  {4096, {{0, Strategy::kNccl}}}};
  const std::vector<TableRow> high{{1024, {{0, Strategy::kTwoshot}}},
                                   {4096, {{0, Strategy::kTwoshotPush}}}};
  StrategyTable table{.sm_version = 90};
  table.slices = {{.world_size = 8, .data_type = DataType::kFloat32, .rows = high},
                  {.world_size = 2, .data_type = DataType::kFloat32, .rows = low},
                  {.world_size = 8, .data_type = DataType::kFloat16, .rows = low}};
  return table;
}

class GeneratedHeader : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void TearDown() override { fs::remove_all(folder_); }

  void write(const StrategyTable& table, const std::string& name_space) {
    write_text(folder_ / "strategy_table.h",
               strategy_header(table, {.name_space = name_space}).value());
    copy_program("header_program.cu", "program.cu");
    name_space_ = header_alias(table, {.name_space = name_space});
    write_grid(folder_);
    write_text(folder_ / "answers",
               answers_on_grid([&](int world_size, Fusion fusion, DataType type,
                                   std::int64_t hidden, std::int64_t tokens) {
                 return table.lookup(world_size, fusion, type, hidden, tokens);
               }));
  }

  void copy_program(const std::string& from, const std::string& to) const {
    fs::copy_file(fs::path(ASSAY_SOURCE_DIR) / "tests/allreduce" / from, folder_ / to,
                  fs::copy_options::overwrite_existing);
  }

  // Four tables behind a dispatcher, and a fifth of the same SM and launch as the first, in
  // another source of the same program.
  void write_tables() const {
    const std::vector<StrategyTable> tables{
        variant(11, 90, Launch::kGraph), variant(12, 90, Launch::kEager),
        variant(13, 100, Launch::kGraph), variant(15, 90, Launch::kIsolated)};
    const StrategyTable other = variant(14, 90, Launch::kGraph);
    write_text(folder_ / "allreduce_tables.h", dispatcher_header(tables).value());
    write_text(folder_ / "first_table.h", strategy_header(tables[0]).value());
    write_text(folder_ / "other_table.h", strategy_header(other).value());
    copy_program("tables_program.cu", "program.cu");
    copy_program("other_table.cu", "other.cu");
    write_grid(folder_);
    std::string answers;
    for (const StrategyTable& table : tables)
      answers += marked_answers(table, table.sm_version == 90);
    write_text(folder_ / "answers", answers + marked_answers(other));
  }

  static StrategyTable variant(std::uint64_t seed, int sm_version, Launch launch) {
    StrategyTable table = random_table(seed);
    table.sm_version = sm_version;
    table.launch = launch;
    return table;
  }

  // Runs the command and returns its output, or "" when it succeeds.
  [[nodiscard]] std::string complaint(const std::string& command) const {
    const fs::path log = folder_ / "log";
    const std::string line =
        fmt::format("cd '{}' && {{ {}; }} > log 2>&1", folder_.string(), command);
    if (std::system(line.c_str()) == 0) return "";
    return command + "\n" + core::read_file(log).value() + "(failed)";
  }

  static bool is_there(const std::string& program) {
    return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
  }

  void expect_agreement(const std::string& compiler, const std::string& options) const {
    EXPECT_EQ(complaint(fmt::format("{} {} -x c++ -fsyntax-only {} strategy_table.h", compiler,
                                    options, kWarnings)),
              "");
    EXPECT_EQ(complaint(fmt::format("{} {} -x c++ -O1 {} -fsanitize=undefined "
                                    "-fno-sanitize-recover=all -DTABLE={} program.cu -o program",
                                    compiler, options, kWarnings, name_space_)),
              "");
    EXPECT_EQ(complaint("./program answers"), "");
  }

  fs::path folder_;
  std::string name_space_;
};

TEST_F(GeneratedHeader, AnswersAsTheTableDoes) {
  if (!is_there("c++")) GTEST_SKIP() << "there is no C++ compiler (c++) to try headers with";
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    write(random_table(seed), "my::table");
    expect_agreement("c++", "-std=c++17");
  }
  write(table_of_ties(), "ties");
  expect_agreement("c++", "-std=c++17");
  write(smallest_table(), "allreduce_table");
  expect_agreement("c++", "-std=c++17");
  expect_agreement("c++", "-std=c++20");
  StrategyTable of_unknown_links = smallest_table();
  of_unknown_links.sm_version = 89;
  write(of_unknown_links, "allreduce_table");
  expect_agreement("c++", "-std=c++17");
}

TEST_F(GeneratedHeader, AnswersUnderClang) {
  if (!is_there("clang++")) GTEST_SKIP() << "there is no clang++";
  write(random_table(4), "t");
  expect_agreement("clang++", "-std=c++17");
}

TEST_F(GeneratedHeader, CompilesInCudaCode) {
  if (!is_there("nvcc")) GTEST_SKIP() << "there is no nvcc";
  write(random_table(5), "my::table");
  EXPECT_EQ(complaint("nvcc -std=c++17 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror "
                      "-DTABLE=my::table_sm90_graph program.cu -o program"),
            "");
  EXPECT_EQ(complaint("./program answers"), "");
}

TEST_F(GeneratedHeader, TablesOfOneProgramAnswerEachForItself) {
  write_tables();
  for (const char* compiler : {"g++", "clang++"}) {
    if (!is_there(compiler)) continue;
    EXPECT_EQ(complaint(fmt::format("{} -std=c++17 -x c++ -O2 {} program.cu other.cu -o program",
                                    compiler, kWarnings)),
              "");
    EXPECT_EQ(complaint("./program answers"), "");
  }
  if (!is_there("nvcc")) return;
  EXPECT_EQ(complaint("nvcc -std=c++17 -O2 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror "
                      "program.cu other.cu -o program"),
            "");
  EXPECT_EQ(complaint("./program answers"), "");
}

TEST(StrategyHeader, TwoTablesOfOneSmAndLaunchHaveNoDispatcher) {
  EXPECT_THAT(dispatcher_header({smallest_table(), smallest_table()}).error().message,
              HasSubstr("two tables are of SM 100 and graph launches"));
}

TEST(StrategyHeader, ItsNamesTellSmLaunchAndContent) {
  StrategyTable table = smallest_table();
  const std::string graph = header_namespace(table);
  EXPECT_THAT(graph, testing::MatchesRegex("allreduce_table_sm100_graph_[0-9a-f]{16}"));
  table.launch = Launch::kEager;
  EXPECT_THAT(header_namespace(table), testing::StartsWith("allreduce_table_sm100_eager_"));
  table = smallest_table();
  table.slices[0].rows[0].segments[0].strategy = Strategy::kNccl;
  EXPECT_NE(header_namespace(table), graph);
}

TEST(StrategyHeader, SaysWhatItIsMadeFrom) {
  StrategyTable table = smallest_table();
  table.provenance = "8x H200,\nNCCL 2.28 \\";
  const std::string header = strategy_header(table).value();
  EXPECT_THAT(header, HasSubstr("Measured on:\n// 8x H200, NCCL 2.28 \\.\n"));
  EXPECT_THAT(header, HasSubstr("#ifndef ALLREDUCE_TABLE_SM100_GRAPH_"));
  EXPECT_THAT(header, HasSubstr("  kTwoshotPush = 100,\n"));
  EXPECT_THAT(header, testing::Not(HasSubstr("kAuto")));
}

TEST(StrategyHeader, BadOptionsAndEmptyTablesAreErrors) {
  for (const char* name : {"", "::", "a::", "::a", "1a", "a b", "a:b", "a::2", "x;"}) {
    EXPECT_THAT(strategy_header(smallest_table(), {.name_space = name}).error().message,
                HasSubstr("no name of a C++ namespace"))
        << name;
  }
  EXPECT_THAT(strategy_header({.sm_version = 90}).error().message, HasSubstr("no slice"));
}

}  // namespace
}  // namespace assay::allreduce
