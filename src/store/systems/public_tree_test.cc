#include "store/systems/public_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/output_file.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kYaml =
    "gpu: {mem_bw: 1e12, mem_capacity: 1e11}\n"
    "misc: {nccl_version: '2.26.2'}\n";

class PublicTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    write("box.yaml", kYaml);
    write("box_pcie.yaml", kYaml);
  }

  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(core::make_directories((root_ / name).parent_path()).ok());
    ASSERT_TRUE(core::write_file(root_ / name, text, core::Durability::kUnsynced).ok());
  }

  // A file of a table that nobody reads here.
  void add(const std::string& family_to_version, const std::string& table) const {
    write("data/box/" + family_to_version + "/" + table, "");
  }

  [[nodiscard]] PublicTree open(const std::string& system = "box") const {
    auto tree = PublicTree::open(root_, system);
    EXPECT_TRUE(tree.ok()) << tree.error().message;
    return std::move(tree).value();
  }

  // Each source as "backend version: reason".
  [[nodiscard]] std::vector<std::string> sources(const std::string& backend,
                                                 const std::string& version,
                                                 const std::string& table) const {
    const auto found = open().sources(backend, version, table);
    if (!found.ok()) return {found.error().message};
    std::vector<std::string> texts;
    for (const TreeSource& source : found.value()) {
      EXPECT_TRUE(core::is_regular_file(source.file)) << source.file;
      texts.push_back(source.backend + " " + source.version + ": " + source.reason);
    }
    return texts;
  }

  [[nodiscard]] std::string error_of(const fs::path& root, const std::string& system) const {
    const auto tree = PublicTree::open(root, system);
    return tree.ok() ? "none" : tree.error().message;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "public_tree";
};

TEST_F(PublicTreeTest, TheAskedVersionComesFirstThenEarlierThenLaterOnes) {
  for (const char* version : {"0.5.6.post2", "0.5.9", "0.5.10", "0.5.14"})
    add(std::string("gemm/sglang/") + version, "gemm_perf.parquet");
  EXPECT_THAT(sources("sglang", "0.5.10", "gemm"),
              ElementsAre("sglang 0.5.10: the version that was asked for",
                          "sglang 0.5.9: the nearest earlier version than 0.5.10",
                          "sglang 0.5.6.post2: an earlier version than 0.5.10",
                          "sglang 0.5.14: the nearest later version than 0.5.10"));
  const auto found = open().sources("sglang", "0.5.11", "gemm_perf").value();
  EXPECT_EQ(found[0].version, "0.5.10");
  EXPECT_EQ(found[0].origin, TreeOrigin::kEarlier);
  EXPECT_EQ(found[3].version, "0.5.14");
  EXPECT_EQ(found[3].origin, TreeOrigin::kLater);
}

TEST_F(PublicTreeTest, OlderThanAllTakesTheNearestLaterVersion) {
  for (const char* version : {"0.14.0", "0.19.0", "0.24.0"})
    add(std::string("gemm/vllm/") + version, "gemm_perf.parquet");
  EXPECT_THAT(sources("vllm", "0.11.2", "gemm"),
              ElementsAre("vllm 0.14.0: the nearest later version than 0.11.2",
                          "vllm 0.19.0: a later version than 0.11.2",
                          "vllm 0.24.0: a later version than 0.11.2"));
}

TEST_F(PublicTreeTest, AVersionWithoutAPlaceTakesTheNewest) {
  for (const char* version : {"1.2.0rc5", "1.3.0rc10", "1.3.0rc9"})
    add(std::string("gemm/trtllm/") + version, "gemm_perf.parquet");
  EXPECT_THAT(
      sources("trtllm", "gpt-oss-dev", "gemm"),
      ElementsAre(
          "trtllm 1.3.0rc10: 'gpt-oss-dev' has no place among versions; this is the newest",
          "trtllm 1.3.0rc9: 'gpt-oss-dev' has no place among versions; this is an older one",
          "trtllm 1.2.0rc5: 'gpt-oss-dev' has no place among versions; this is an older one"));
  EXPECT_THAT(sources("trtllm", "", "gemm")[0],
              "trtllm 1.3.0rc10: no version was asked for; this is the newest");
  // A folder may have such a name.
  add("gemm/trtllm/gpt-oss-dev", "gemm_perf.parquet");
  EXPECT_THAT(sources("trtllm", "gpt-oss-dev", "gemm")[0],
              "trtllm gpt-oss-dev: the version that was asked for");
  EXPECT_THAT(sources("trtllm", "1.3.0rc10", "gemm").back(),
              "trtllm gpt-oss-dev: gpt-oss-dev has no place among versions");
}

TEST_F(PublicTreeTest, ADeclaredDonorComesBeforeNearerVersions) {
  for (const char* version : {"0.5.10", "0.5.14"})
    add(std::string("gemm/sglang/") + version, "gemm_perf.parquet");
  write("data/box/gemm/sglang/0.5.12/reuse.yaml",
        "schema_version: 1\n"
        "reuse:\n"
        "- {table: gemm_perf, from_version: 0.5.13, reason: gone}\n"
        "- {table: gemm_perf, from_version: 0.5.14, reason: the same kernels}\n"
        "- {table: moe_perf, from_version: 0.5.9}\n");
  EXPECT_THAT(sources("sglang", "0.5.12", "gemm"),
              ElementsAre("sglang 0.5.14: sglang 0.5.12 reuses it: the same kernels",
                          "sglang 0.5.10: the nearest earlier version than 0.5.12"));
  // Another version's declaration is not asked.
  EXPECT_THAT(sources("sglang", "0.5.13", "gemm")[0], StartsWith("sglang 0.5.10: the nearest"));
  // A table of its own comes before the donor.
  add("gemm/sglang/0.5.12", "gemm_perf.parquet");
  EXPECT_THAT(sources("sglang", "0.5.12", "gemm")[0], StartsWith("sglang 0.5.12: the version"));
  EXPECT_THAT(sources("sglang", "0.5.12", "gemm")[1], StartsWith("sglang 0.5.14: sglang 0.5.12"));
}

TEST_F(PublicTreeTest, OtherBackendsComeLastAndAreMarked) {
  add("gemm/vllm/0.24.0", "gemm_perf.parquet");
  add("gemm/trtllm/1.2.0rc5", "gemm_perf.parquet");
  add("gemm/trtllm/1.3.0", "gemm_perf.parquet");
  add("moe/trtllm/1.3.0", "moe_perf.parquet");
  const auto found = open().sources("vllm", "0.24.0", "gemm").value();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].version, "1.3.0");
  EXPECT_EQ(found[2].version, "1.2.0rc5");
  EXPECT_EQ(found[2].origin, TreeOrigin::kOtherBackend);
  EXPECT_THAT(sources("vllm", "0.24.0", "moe"),
              ElementsAre("trtllm 1.3.0: another engine's, not of vllm"));
}

TEST_F(PublicTreeTest, NcclsTablesAreThoseOfTheSystemsVersion) {
  for (const char* version : {"2.23", "2.26.2", "2.29.2"})
    add(std::string("comm/nccl/") + version, "nccl_perf.parquet");
  add("comm/trtllm/1.3.0", "custom_allreduce_perf.parquet");
  EXPECT_THAT(sources("trtllm", "1.3.0", "nccl"),
              ElementsAre("nccl 2.26.2: the version that was asked for",
                          "nccl 2.23: the nearest earlier version than 2.26.2",
                          "nccl 2.29.2: the nearest later version than 2.26.2"));
  EXPECT_THAT(sources("nccl", "2.29.2", "nccl")[0], "nccl 2.29.2: the version that was asked for");
  EXPECT_THAT(open().backends(), ElementsAre("trtllm"));
  EXPECT_THAT(open().versions("nccl"), ElementsAre("2.23", "2.26.2", "2.29.2"));
}

TEST_F(PublicTreeTest, ListsVersionsOfABackendAndOfATable) {
  add("gemm/vllm/0.9.0", "gemm_perf.csv");
  add("gemm/vllm/0.9.0", "gemm_perf.parquet");
  add("gemm/vllm/0.24.0", "gemm_perf.txt");
  add("gemm/vllm/0.24.0", "notes.txt");
  add("moe/vllm/0.14.0", "moe_perf.parquet");
  const PublicTree tree = open();
  EXPECT_THAT(tree.versions("vllm"), ElementsAre("0.9.0", "0.14.0", "0.24.0"));
  EXPECT_THAT(tree.versions("vllm", "gemm_perf"), ElementsAre("0.9.0", "0.24.0"));
  EXPECT_THAT(tree.tables(), ElementsAre("gemm_perf", "moe_perf"));
  EXPECT_EQ(tree.sources("vllm", "0.9.0", "gemm").value()[0].file.extension(), ".parquet");
}

TEST_F(PublicTreeTest, TablesMayLieBesideTheYamlOrWhereItSays) {
  write("beside.yaml", kYaml);
  write("beside/gemm/vllm/0.9.0/gemm_perf.parquet", "");
  EXPECT_THAT(open("beside").versions("vllm"), ElementsAre("0.9.0"));
  write("named.yaml", std::string("data_dir: elsewhere/named\n") + kYaml);
  write("elsewhere/named/gemm/vllm/0.10.0/gemm_perf.parquet", "");
  EXPECT_THAT(open("named").versions("vllm"), ElementsAre("0.10.0"));
}

TEST_F(PublicTreeTest, ErrorsNameWhatIsThereInstead) {
  add("gemm/vllm/0.9.0", "gemm_perf.parquet");
  EXPECT_EQ(error_of(root_, "boc"),
            root_.string() + " has no system 'boc'; did you mean box? it has box, box_pcie");
  EXPECT_THAT(error_of(root_, "../box"), HasSubstr("has no system '../box'"));
  EXPECT_THAT(error_of(root_ / "gone", "box"), HasSubstr("gone: no such folder"));
  EXPECT_THAT(error_of(root_ / "data", "box"), HasSubstr("no tree of tables"));
  EXPECT_THAT(sources("vlm", "0.9.0", "gemm")[0],
              HasSubstr("no tables of 'vlm' for box; did you mean vllm? it has vllm"));
  EXPECT_THAT(sources("vllm", "0.9.0", "gem")[0],
              HasSubstr("has no gem_perf for box; did you mean gemm_perf? it has gemm_perf"));
  const auto none = open("box_pcie").sources("vllm", "0.9.0", "gemm");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("has no tables of box_pcie: looked in"));
  write("broken.yaml", "gpu: [");
  EXPECT_THAT(error_of(root_, "broken"), HasSubstr("broken.yaml: line"));
}

TEST_F(PublicTreeTest, FoldersOfSystemsAreToldApartFromTheirTree) {
  write("checkout/systems/box.yaml", kYaml);
  EXPECT_THAT(error_of(root_ / "checkout", "box"), HasSubstr("its folder 'systems' is one"));
  write("checkout/systems/box/gemm/vllm/0.9.0/gemm_perf.parquet", "");
  EXPECT_THAT(error_of(root_ / "checkout/systems/box", "box"),
              HasSubstr("the folder that it lies in is one"));
}

TEST_F(PublicTreeTest, AReuseThatDoesNotReadIsAnErrorOfItsOwnVersionAlone) {
  add("gemm/vllm/0.9.0", "gemm_perf.parquet");
  write("data/box/gemm/vllm/0.10.0/reuse.yaml", "reuse: 3\n");
  EXPECT_THAT(sources("vllm", "0.10.0", "gemm")[0], HasSubstr("reuse.yaml: no list 'reuse'"));
  EXPECT_THAT(sources("vllm", "0.9.0", "gemm")[0], StartsWith("vllm 0.9.0"));
  write("data/box/gemm/vllm/0.10.0/reuse.yaml", "reuse:\n- {table: gemm_perf}\n");
  EXPECT_THAT(sources("vllm", "0.10.0", "gemm")[0],
              HasSubstr("reuse.yaml: line 2: an entry of 'reuse' has no from_version"));
}

// The public tables are no part of a clone.
class RealPublicTree : public testing::TestWithParam<fs::path> {
 public:
  static std::vector<fs::path> roots() {
    const auto root = fs::path(ASSAY_SOURCE_DIR) / "../shared/data/peer-db";
    if (!fs::exists(root)) return {};
    return {root};
  }
};

TEST_P(RealPublicTree, AnswersForEveryTable) {
  const PublicTree tree = PublicTree::open(GetParam(), "h200_sxm").value();
  EXPECT_THAT(tree.backends(), ElementsAre("sglang", "trtllm", "vllm"));
  EXPECT_THAT(tree.versions("sglang", "gemm_perf"),
              ElementsAre("0.5.6.post2", "0.5.9", "0.5.10", "0.5.14"));
  EXPECT_EQ(tree.facts().nccl_version, "2.26.2");
  const auto first = [&](const char* backend, const char* version, const char* table) {
    return tree.sources(backend, version, table).value()[0].version;
  };
  EXPECT_EQ(first("sglang", "0.5.12", "gemm"), "0.5.14");
  EXPECT_EQ(first("vllm", "0.11.2", "gemm"), "0.14.0");
  EXPECT_EQ(first("trtllm", "0.8.1.post1", "moe"), "1.2.0rc5");
  EXPECT_EQ(first("trtllm", "", "gemm"), "1.3.0rc20");
  for (const std::string& table : tree.tables()) {
    for (const std::string& backend : tree.backends())
      EXPECT_TRUE(tree.sources(backend, "1.0", table).ok()) << table;
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealPublicTree);
INSTANTIATE_TEST_SUITE_P(PublicTree, RealPublicTree, testing::ValuesIn(RealPublicTree::roots()));

}  // namespace
}  // namespace assay::store
