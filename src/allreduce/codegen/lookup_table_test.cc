#include "allreduce/codegen/lookup_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "allreduce/shipped_tables.h"
#include "allreduce/synthetic_test_util.h"
#include "allreduce/tuning.h"

namespace assay::allreduce {
namespace {

using testing::HasSubstr;

LookupTable small_table() {
  const auto cell = [](Strategy strategy) { return LookupCell{strategy, true}; };
  LookupTable table{.sm_version = 89,
                    .world_sizes = {2, 4},
                    .fusions = {Fusion::kNone, Fusion::kResidualRmsNorm},
                    .hidden_sizes = {128, 256},
                    .num_tokens = {1, 2, 4}};
  table.cells = std::vector<LookupCell>(24, {Strategy::kNccl, false});
  table.cells[0] = cell(Strategy::kOneshot);
  table.cells[1] = cell(Strategy::kTwoshot);
  table.cells[2] = cell(Strategy::kNccl);
  table.cells[3] = cell(Strategy::kNcclSymmetric);
  return table;
}

constexpr const char* kReadmeText =
    R"(// AllReduce lookup: [tp][fusion][hidden][tokens] = strategy
// TP:[2, 4] Fusion:['NONE', 'RESIDUAL_RMS_NORM']
inline AllReduceBestStrategyTableType AllReduceBestStrategyTableSM89 = {
    {
        // TP=2
        { // Fusion=NONE
            {4,5,0}, // hidden_size=128
            {8,0,0} // hidden_size=256 (not measured: 2, 4 tokens)
        },
        { // Fusion=RESIDUAL_RMS_NORM
            // not measured: filled with NCCL (0)
            {0,0,0}, // hidden_size=128
            {0,0,0} // hidden_size=256
        }
    },
    {
        // TP=4
        // not measured: filled with NCCL (0)
        { // Fusion=NONE
            {0,0,0}, // hidden_size=128
            {0,0,0} // hidden_size=256
        },
        { // Fusion=RESIDUAL_RMS_NORM
            {0,0,0}, // hidden_size=128
            {0,0,0} // hidden_size=256
        }
    }
};
)";

constexpr const char* kUpstreamText =
    R"(// AllReduce lookup: [tp][fusion][hidden][tokens] = strategy
// TP:[2, 4]
// Fusion:['NONE', 'RESIDUAL_RMS_NORM']
// Hidden:[128, 256]
// Tokens:[1, 2, 4]
inline AllReduceBestStrategyTableType AllReduceBestStrategyTableSM89 = {
    {
        // TP=2
        { // Fusion=NONE
            {4,5,0},
            {8,0,0}
        },
        { // Fusion=RESIDUAL_RMS_NORM
            {4,4,4},
            {4,4,4}
        }
    },
    {
        // TP=4
        { // Fusion=NONE
            {4,4,4},
            {4,4,4}
        },
        { // Fusion=RESIDUAL_RMS_NORM
            {4,4,4},
            {4,4,4}
        }
    }
};
)";

TEST(LookupTable, ReadmesForm) {
  EXPECT_EQ(lookup_table_cpp(small_table(), LookupLayout::kReadme), kReadmeText);
}

TEST(LookupTable, UpstreamsFormHasNothingElseWhereNothingIsMissing) {
  LookupTable table = small_table();
  for (std::size_t i = 4; i < table.cells.size(); ++i)
    table.cells[i] = {i < 6 ? Strategy::kNccl : Strategy::kOneshot, true};
  EXPECT_EQ(lookup_table_cpp(table, LookupLayout::kUpstream), kUpstreamText);
}

core::Result<LookupTable> parsed(const std::string& text) {
  const auto tables = ASSAY_TRY(parse_lookup_tables(text, "t.cpp"));
  EXPECT_EQ(tables.size(), 1U);
  return tables.front();
}

std::vector<Strategy> strategies_of(const LookupTable& table) {
  std::vector<Strategy> strategies;
  for (const LookupCell& cell : table.cells)
    strategies.push_back(cell.strategy);
  return strategies;
}

TEST(LookupTable, BothFormsAreReadBack) {
  for (const LookupLayout layout : {LookupLayout::kReadme, LookupLayout::kUpstream}) {
    for (const ShippedTable& shipped : shipped_tables()) {
      const auto read = parsed(lookup_table_cpp(shipped.table, layout));
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_EQ(read.value().sm_version, 90);
      EXPECT_EQ(read.value().world_sizes, shipped.table.world_sizes);
      EXPECT_EQ(read.value().fusions, shipped.table.fusions);
      EXPECT_EQ(read.value().hidden_sizes, shipped.table.hidden_sizes);
      EXPECT_EQ(read.value().num_tokens, shipped.table.num_tokens);
      EXPECT_EQ(strategies_of(read.value()), strategies_of(shipped.table));
    }
  }
}

TEST(LookupTable, ReadmesFormNamesItsHiddenSizes) {
  const auto read = parsed(kReadmeText);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().sm_version, 89);
  EXPECT_EQ(read.value().hidden_sizes, (std::vector<std::int64_t>{128, 256}));
  EXPECT_EQ(read.value().num_tokens, (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(read.value().at(0, 0, 1, 0).strategy, Strategy::kNcclSymmetric);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto read = parse_lookup_tables(text, "t.cpp");
  return read.ok() ? "" : read.error().message;
}

TEST(LookupTable, ErrorsNameTheLine) {
  EXPECT_THAT(error_of(""), HasSubstr("t.cpp: no table"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "{4,5,0}", "{4,7,0}")),
              HasSubstr("t.cpp:10: no strategy has the number '7'"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "{4,5,0}", "{4,3,0}")),
              HasSubstr("no strategy has the number '3'"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "SM89", "SM99999999999")),
              HasSubstr("t.cpp:6: no SM version"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "{4,5,0}", "{4,5}")),
              HasSubstr("t.cpp:10: 2 numbers, where 3 token counts are"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "{4,5,0},", "{4,5,0")),
              HasSubstr("t.cpp:10: a row of numbers without its '}'"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "{4,5,0},\n", "\n")),
              HasSubstr("t.cpp:12: 1 hidden size, where 2 hidden sizes are"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "'NONE'", "'NUN'")),
              HasSubstr("t.cpp:3: no fusion is called 'NUN'"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "[2, 4]", "[2, 2]")), HasSubstr("t.cpp:2: '2'"));
  const std::string unlisted = replaced(kUpstreamText, "// TP:[2, 4]\n", "");
  EXPECT_EQ(error_of(unlisted), "");
  EXPECT_THAT(error_of(replaced(unlisted, "// TP=4", "")),
              HasSubstr("t.cpp: the table of SM 89 has 2 TP sizes, and no comment says which"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "Fusion=NONE", "Fusion=NUN")),
              HasSubstr("t.cpp:9: no fusion is called 'NUN'"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "TP=4", "TP=1")),
              HasSubstr("t.cpp:19: TP=1 is not larger than the one before"));
  EXPECT_THAT(error_of(std::string(kUpstreamText) + kUpstreamText),
              HasSubstr("t.cpp:58: a second table of SM 89"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "{8,0,0}", "{}")),
              HasSubstr("t.cpp:11: an empty list"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "{8,0,0}", "{8,0,0}, 4")),
              HasSubstr("t.cpp:11: '4' is in no row of numbers"));
  EXPECT_THAT(error_of(replaced(kUpstreamText, "};\n", "\n")),
              HasSubstr("t.cpp: the table does not end"));
}

// TensorRT-LLM's own header has rows beside each other, several tables, a comment that lists fewer
// fusions than there are, and names of tables behind them.
TEST(LookupTable, ReadsTensorRtLlmsOwnHeader) {
  const std::string rows = "{4, 4, 5}, {4, 5, 0}},";
  const std::string tp = "{// Fusion=NONE\n " + rows + "\n {// Fusion=RESIDUAL_RMS_NORM\n " + rows +
                         "\n {// Fusion=RESIDUAL_RMS_NORM_QUANT_FP8\n {4, 4, 0},\n {5, 5, 0}}}";
  const std::string table = "\n = {{ // TP=2\n " + tp + ",\n { // TP=8\n" + tp + "};\n";
  const std::string text =
      "constexpr int kTpSizeChoice = 3;\n// TP:[2, 4, 8]\n// Fusion:['NONE']\n"
      "// Hidden:[128, 256]\n// Tokens:[1, 2, 4]\n"
      "inline T AllReduceBestStrategyTableSM90" +
      table + "inline T AllReduceBestStrategyTableSM100" + table +
      "std::map<int, T> all = {\n    {90, AllReduceBestStrategyTableSM90},\n"
      "    {100, AllReduceBestStrategyTableSM100},\n};\n";
  const std::string path = testing::TempDir() + "/header.h";
  std::ofstream(path) << text;
  for (const int sm_version : {90, 100}) {
    const auto read = read_lookup_table(path, sm_version);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read.value().sm_version, sm_version);
    EXPECT_EQ(read.value().world_sizes, (std::vector<int>{2, 8}));
    EXPECT_EQ(read.value().fusions, (std::vector<Fusion>{Fusion::kNone, Fusion::kResidualRmsNorm,
                                                         Fusion::kResidualRmsNormQuantFp8}));
    EXPECT_EQ(read.value().lookup(8, Fusion::kResidualRmsNormQuantFp8, 256, 2), Strategy::kTwoshot);
    EXPECT_EQ(read.value().lookup(2, Fusion::kNone, 256, 4), Strategy::kNccl);
  }
  EXPECT_EQ(read_lookup_table(path, 120).error().message,
            path + " has tables of SM 90, 100: none of SM 120");
  EXPECT_EQ(read_lookup_table(path, std::nullopt).error().message,
            path + " has tables of SM 90, 100: nothing says which");
}

TEST(LookupTable, ReadsAFileOrSaysThatItCannot) {
  const auto missing = read_lookup_table("/nowhere/table.cpp", 90);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/table.cpp"));
}

// Compiles the text along with the part of the including project, and runs the program, which
// prints every cell.
std::string compiled_and_run(const std::string& table_text) {
  const std::string folder = testing::TempDir() + "/lookup_table_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/main.cpp") << R"(#include <cstdio>
#include <vector>
using AllReduceBestStrategyTableType = std::vector<std::vector<std::vector<std::vector<int>>>>;
)" << table_text << R"(
int main() {
  for (const auto& tp : AllReduceBestStrategyTableSM90)
    for (const auto& fusion : tp)
      for (const auto& hidden : fusion)
        for (int strategy : hidden) std::printf("%d ", strategy);
}
)";
  const std::string build =
      "c++ -std=c++17 -Wall -Wextra -Werror -o " + folder + "/table " + folder + "/main.cpp";
  if (std::system(build.c_str()) != 0) return "did not compile";
  if (std::system((folder + "/table > " + folder + "/out").c_str()) != 0) return "did not run";
  std::stringstream out;
  out << std::ifstream(folder + "/out").rdbuf();
  return out.str();
}

TEST(LookupTable, ABaseFillsWhatWasNotMeasured) {
  LookupTable table = tune(synthetic({.world_sizes = {2, 4}}), {}, "").value().lookup;
  const LookupTable before = table;
  const LookupTable shipped = shipped_tables()[1].table;
  // Four fusions of TP 8, and the three that were not measured of TP 2 and 4.
  EXPECT_EQ(fill_from(table, shipped, "shipped"), 105U * (4 + 3 + 3));
  for (const std::int64_t hidden_size : kPublicHiddenSizes) {
    for (const std::int64_t tokens : kPublicTokens) {
      EXPECT_EQ(table.lookup(8, Fusion::kNone, hidden_size, tokens),
                shipped.lookup(8, Fusion::kNone, hidden_size, tokens));
      EXPECT_EQ(table.lookup(4, Fusion::kNone, hidden_size, tokens),
                before.lookup(4, Fusion::kNone, hidden_size, tokens));
    }
  }
  EXPECT_NE(lookup_table_cpp(table, LookupLayout::kUpstream).find("taken from shipped"),
            std::string::npos);
}

TEST(LookupTable, CompiledTextHoldsTheChoices) {
  const auto tables = tune(synthetic({.world_sizes = {2, 8}, .noise = 0.02}), {}, "synthetic");
  ASSERT_TRUE(tables.ok());
  EXPECT_EQ(missing_world_sizes(tables.value().lookup), std::vector<int>{4});
  std::string expected;
  std::size_t oneshot = 0;
  for (const int world_size : kPublicWorldSizes) {
    for (int fusion = 0; fusion < 4; ++fusion) {
      for (const std::int64_t hidden_size : kPublicHiddenSizes) {
        for (const std::int64_t tokens : kPublicTokens) {
          const Choice* choice = find_choice(
              tables.value().public_choices,
              {world_size, DataType::kBfloat16, static_cast<Fusion>(fusion), hidden_size, tokens});
          const Strategy strategy = choice ? choice->strategy : Strategy::kNccl;
          expected += std::to_string(static_cast<int>(strategy)) + " ";
          if (strategy == Strategy::kOneshot) ++oneshot;
        }
      }
    }
  }
  EXPECT_GT(oneshot, 90U);  // 98: whole buckets have fewer than their smallest messages
  for (const LookupLayout layout : {LookupLayout::kReadme, LookupLayout::kUpstream})
    EXPECT_EQ(compiled_and_run(lookup_table_cpp(tables.value().lookup, layout)), expected);
}

}  // namespace
}  // namespace assay::allreduce
