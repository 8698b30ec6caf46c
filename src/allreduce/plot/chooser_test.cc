#include "allreduce/plot/chooser.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "allreduce/codegen/lookup_table.h"
#include "core/output_file.h"

namespace assay::allreduce {
namespace {

constexpr Cell kCell{.world_size = 8, .hidden_size = 8192, .num_tokens = 64};

TEST(Chooser, KnowsTheShippedTablesByTheirNames) {
  const auto chooser = read_chooser("shipped 1.3", "", std::nullopt);
  ASSERT_TRUE(chooser.ok());
  EXPECT_EQ(chooser.value().name, "shipped 1.3");
  EXPECT_EQ(chooser.value().strategy(kCell, Launch::kGraph), Strategy::kNccl);
  Cell smaller = kCell;
  smaller.num_tokens = 32;
  EXPECT_EQ(chooser.value().strategy(smaller, Launch::kGraph), Strategy::kOneshot);
}

TEST(Chooser, ReadsAGeneratedLookupTable) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "assay_chooser_table.cpp";
  const LookupTable table = empty_lookup_table(90, Strategy::kTwoshot);
  ASSERT_TRUE(core::write_file(path, lookup_table_cpp(table, LookupLayout::kUpstream)).ok());
  const auto chooser = read_chooser(path, "table", std::nullopt);
  std::filesystem::remove(path);
  ASSERT_TRUE(chooser.ok()) << chooser.error().message;
  EXPECT_EQ(chooser.value().strategy(kCell, Launch::kGraph), Strategy::kTwoshot);
}

TEST(Chooser, ALookupTableKnowsThePublicStrategiesAndThoseThatItNames) {
  using Arms = std::vector<Strategy>;
  LookupTable table = empty_lookup_table(90, Strategy::kNccl);
  const Chooser first = chooser_of("first", table);
  EXPECT_EQ(first.arms, (Arms{Strategy::kOneshot, Strategy::kTwoshot, Strategy::kNccl}));
  table.cells.front().strategy = Strategy::kNcclSymmetric;
  const Chooser second = chooser_of("second", table);
  EXPECT_EQ(second.arms, (Arms{Strategy::kOneshot, Strategy::kTwoshot, Strategy::kNcclSymmetric,
                               Strategy::kNccl}));
  EXPECT_TRUE(always(Strategy::kNccl).arms.empty());
  EXPECT_EQ(texts_of_arms({always(Strategy::kNccl), first, first}),
            (std::vector<std::string>{
                "first and first beside the fastest of ONESHOT, TWOSHOT and NCCL alone"}));
}

TEST(Chooser, PathsHaveTheShortestNamesThatTellThemApart) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of({"a/table.json", "b/other.json"}), (Names{"table.json", "other.json"}));
  EXPECT_EQ(names_of({"x/a/table.json", "x/b/table.json", "shipped 1.3"}),
            (Names{"a/table.json", "b/table.json", "shipped 1.3"}));
  EXPECT_EQ(names_of({"table.json", "b/table.json"}), (Names{"table.json", "b/table.json"}));
  EXPECT_EQ(names_of({"/a/data/", "/b/data"}), (Names{"a/data", "b/data"}));
  EXPECT_EQ(names_of({"/a/t", "/a/t"}), (Names{"a/t", "a/t"}));
}

TEST(Chooser, NamesTheFileThatIsNoTable) {
  const auto chooser = read_chooser("shipped 9.9", "", std::nullopt);
  ASSERT_FALSE(chooser.ok());
  EXPECT_NE(chooser.error().message.find("shipped 9.9"), std::string::npos);
}

}  // namespace
}  // namespace assay::allreduce
