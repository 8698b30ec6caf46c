#include "store/systems/system_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/files.h"
#include "store/database/collection_meta.h"
#include "store/database/store_test_util.h"
#include "store/files/parquet.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using SystemPlace = StoreTest;

// The planner asks the Parquet reader for a column's own type, and takes no other.
void expect_types(const TableSpec& spec, const Frame& rows) {
  for (const TableColumn& column : spec.columns) {
    const FrameColumn* found = rows.find(column.name);
    if (found == nullptr) {
      EXPECT_EQ(column.presence, Presence::kSometimes) << spec.table << '.' << column.name;
      continue;
    }
    const bool has_all =
        std::find(found->missing.begin(), found->missing.end(), true) == found->missing.end();
    EXPECT_TRUE(has_all) << spec.table << '.' << column.name;
    const std::size_t type = column.kind == ColumnKind::kWhole  ? 0
                             : column.kind == ColumnKind::kReal ? 1
                                                                : 2;
    EXPECT_EQ(found->values.index(), type) << spec.table << '.' << column.name;
  }
}

void expect_known_values(const PlannerTable& table, const Frame& rows) {
  for (const KnownValues& known : table.known) {
    const FrameColumn* column = rows.find(known.column);
    if (column == nullptr) continue;
    std::set<std::string> values;
    for (std::size_t row = 0; row < rows.num_rows(); ++row)
      values.insert(value_text(column->value(row)));
    for (const std::string& value : values)
      EXPECT_THAT(known.values, testing::Contains(value)) << table.table << '.' << known.column;
  }
}

void expect_one_row_a_key(const PlannerTable& table, const Frame& rows) {
  std::set<std::string> keys;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    std::string key;
    for (const std::string_view name : table.key) {
      const FrameColumn* column = rows.find(name);
      if (column != nullptr) key += value_text(column->value(row)) + ' ';
    }
    EXPECT_TRUE(keys.insert(key).second) << table.table << ": " << key;
  }
}

// The recipe of systems/README.md, held against what the planner reads.
TEST_F(SystemPlace, ShippedDatabasesBecomeWhatThePlannerReads) {
  for (const ShippedSystem& system : shipped_systems()) {
    const std::filesystem::path systems = folder_ / system.name;
    const std::string name(system.name);
    const Store store = open_shipped(system).value();
    const auto placed = place(store, {.systems = systems, .system = name, .backend = "trtllm"});
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    std::set<std::string> tables;
    for (const WrittenFile& file : placed.value().files) {
      if (file.table.empty()) {
        const auto facts = read_collection_meta(file.path, "gemm_perf");
        ASSERT_TRUE(facts.ok()) << facts.error().message;
        EXPECT_EQ(facts.value().at("runtime.collector"), "assay");
        EXPECT_NE(facts.value().at("runtime.framework"), "trtllm");
        continue;
      }
      tables.insert(file.table);
      const std::string backend = file.table == "nccl_perf" ? "nccl/" + placed.value().nccl_version
                                                            : "trtllm/" + placed.value().version;
      EXPECT_EQ(file.path, systems / "data" / name / family_of(file.table) / backend /
                               (file.table + ".parquet"));
      const auto rows = read_parquet_file(file.path);
      ASSERT_TRUE(rows.ok()) << rows.error().message;
      expect_types(*find_table_spec(file.table), rows.value());
      expect_known_values(*find_planner_table(file.table), rows.value());
      expect_one_row_a_key(*find_planner_table(file.table), rows.value());
    }
    // Every model needs these.
    for (const char* needed : {"gemm_perf", "context_attention_perf", "generation_attention_perf",
                               "custom_allreduce_perf", "nccl_perf", "moe_perf"})
      EXPECT_THAT(tables, testing::Contains(needed));
    const auto text = system_text_to_place(store, &system, name, placed.value());
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_THAT(problems_for_planner(text.value(), name, placed.value()), IsEmpty());
  }
}

TEST_F(SystemPlace, AnotherNameHasItsOwnFolder) {
  ASSERT_FALSE(shipped_systems().empty());
  const ShippedSystem& system = shipped_systems().front();
  const Store store = open_shipped(system).value();
  const auto text = system_text_to_place(store, &system, "mine", {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(text.value(), HasSubstr("\ndata_dir: data/mine "));
  EXPECT_THAT(problems_for_planner(text.value(), "mine", {}), IsEmpty());
  EXPECT_THAT(problems_for_planner(text.value(), "my", {}),
              ElementsAre("my.yaml: its data_dir is not data/my"));
}

// A store that has nothing but a product describes an H200 all the same, with what it assumes.
TEST_F(SystemPlace, AStoreOfOneTableGivesAllFieldsThatThePlannerNeeds) {
  Store store = open(Store::Mode::kCreate);
  ASSERT_TRUE(store.append(store.begin_run(test_run()).value(), gemm_case(1, 0.5)).ok());
  const Placed placed{.framework = "assay", .device = "NVIDIA H200"};
  const auto text = system_text_to_place(store, nullptr, "x", placed);
  ASSERT_TRUE(text.ok()) << text.error().message;
  const std::vector<std::string> problems = problems_for_planner(text.value(), "x", placed);
  EXPECT_THAT(problems,
              ElementsAre("x.yaml: the planner needs misc.nccl_version, which the file does not "
                          "have"));
  EXPECT_THAT(text.value(), HasSubstr("other_mem: 3758096384  # assumed: "));
  EXPECT_THAT(text.value(), HasSubstr("inter_node_bw: 50000000000  # assumed: "));
  EXPECT_THAT(text.value(), HasSubstr("\n    1: 0  # assumed: "));
}

TEST_F(SystemPlace, TellsWhatAFileThatIsThereLacks) {
  const Placed placed{.nccl_version = "2.28.9"};
  const std::string text = "data_dir: data/x\ngpu:\n  mem_bw: 1\nmisc:\n  nccl_version: '2.26.2'\n";
  const std::vector<std::string> problems = problems_for_planner(text, "x", placed);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0], HasSubstr("gpu.mem_capacity, "));
  EXPECT_THAT(problems[0], HasSubstr("misc.nccl_mem.8, which the file does not have"));
  EXPECT_THAT(problems[1], HasSubstr("misc.nccl_version is 2.26.2"));
  EXPECT_THAT(problems_for_planner("- 1\n", "x", placed), ElementsAre(HasSubstr("x.yaml: ")));
}

}  // namespace
}  // namespace assay::store
