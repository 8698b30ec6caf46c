#include "store/judging/quarantine.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/warnings.h"
#include "store/database/store_test_util.h"
#include "store/files/perf_file.h"
#include "store/systems/public_tree.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// The least time of a product in ms on a GPU with these peaks, a byte for each number where its
// type begins with fp8 or int8, else two.
Rooflines product_rooflines(const Peaks& peaks) {
  Rooflines rooflines;
  rooflines.bound = [peaks](const std::vector<model::PerfField>& exact,
                            const std::vector<std::string>& sizes) -> Roofline {
    std::string type;
    for (const model::PerfField& field : exact) {
      if (field.column == "gemm_dtype") type = std::get<std::string>(field.value);
    }
    const double bytes = type.starts_with("fp8") || type.starts_with("int8") ? 1 : 2;
    const auto place = [&](const char* name) {
      return static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), name) - sizes.begin());
    };
    return [=, m = place("m"), n = place("n"), k = place("k")](std::span<const double> size) {
      return peaks.roofline_ms(bytes * (size[n] * size[k] + size[m] * (size[n] + size[k])),
                               2 * size[m] * size[n] * size[k], type, 0);
    };
  };
  return rooflines;
}

const Peaks kSmallGpu{.memory_bytes_per_s = 4e12,
                      .flops_per_s = {{"bfloat16", 1e15}, {"fp8", 2e15}}};

// A GPU that reaches 60 % of the roofline after `launch_us`, or the time of the host if that is
// more.
std::string products(const std::string& type, double launch_us, double host_us) {
  std::string csv;
  for (const int n : {128, 1024, 4096, 16384}) {
    for (const int k : {128, 1024, 4096, 16384}) {
      for (int m = 1; m <= 16384; m *= 4) {
        const double bytes = type == "bfloat16" ? 2 : 1;
        const double least_us =
            1e3 * kSmallGpu.roofline_ms(bytes * (1.0 * n * k + 1.0 * m * (n + k)), 2.0 * m * n * k,
                                        type, 0);
        csv += fmt::format("{},{},{},{},{}\n", type, m, n, k,
                           1e-3 * std::max(host_us, launch_us + least_us / 0.6));
      }
    }
  }
  return csv;
}

WorkRows table_of(const std::string& rows) {
  auto made = make_work_rows("gemm_perf", frame_of("gemm_dtype,m,n,k,latency\n" + rows));
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

std::string type_of(const WorkRows& rows, std::size_t family) {
  return work_text(rows, family);
}

TEST(Quarantine, TakesProductsThatTimeTheHost) {
  const WorkRows rows = table_of(products("bfloat16", 2.5, 0) + products("fp8_block", 3, 60));
  const auto quarantined = quarantined_families(rows, product_rooflines(kSmallGpu));
  ASSERT_THAT(quarantined, SizeIs(1));
  EXPECT_EQ(type_of(rows, quarantined[0].family), "fp8_block");
  EXPECT_EQ(quarantined[0].end - quarantined[0].begin, 4U * 4 * 8);
  EXPECT_THAT(quarantined[0].reason,
              HasSubstr("the smallest (m=1 n=128 k=128) takes 60.0 us, 24 times that of bfloat16 "
                        "(2.5 us), and 100 % of "));
  EXPECT_EQ(quarantined[0].fallback, "");
  const WorkRows sound = without_families(rows, quarantined_numbers(quarantined));
  ASSERT_EQ(sound.num_families(), 1U);
  EXPECT_EQ(type_of(sound, 0), "bfloat16");
  EXPECT_EQ(sound.num_rows(), rows.num_rows() / 2);
}

TEST(Quarantine, NamesTheFirstSoundSibling) {
  const WorkRows bad = table_of(products("fp8_block", 3, 60));
  const WorkRows other_type = table_of(products("bfloat16", 2.5, 0));
  const WorkRows good = table_of(products("fp8_block", 3, 0));
  const SiblingTable siblings[] = {{.name = "x 3", .rows = &bad},
                                   {.name = "x 2", .rows = &other_type},
                                   {.name = "x 1", .rows = &good},
                                   {.name = "y 1", .rows = &good}};
  const auto quarantined = quarantined_families(bad, product_rooflines(kSmallGpu), siblings);
  ASSERT_THAT(quarantined, SizeIs(1));
  EXPECT_EQ(quarantined[0].fallback, "x 1");
  // Alone, nothing tells how long a launch takes.
  EXPECT_THAT(quarantined_families(bad, product_rooflines(kSmallGpu)), IsEmpty());
}

TEST(Quarantine, OneBadSiblingDoesNotDecideOnOthers) {
  const WorkRows sound = table_of(products("bfloat16", 12, 0));
  const WorkRows too_fast = table_of("bfloat16,1,128,128,0.0001\n");
  const SiblingTable siblings[] = {{.name = "x 1", .rows = &sound},
                                   {.name = "x 2", .rows = &too_fast}};
  EXPECT_THAT(launch_bound_families(sound, product_rooflines(kSmallGpu).bound, siblings),
              IsEmpty());
}

TEST(Quarantine, LeavesSlowProductsThatFollowTheirWork) {
  // 40 us of kernels before each product are as much as many launches, but larger products show.
  const WorkRows slow = table_of(products("bfloat16", 2.5, 0) + products("fp8", 24, 0));
  EXPECT_THAT(quarantined_families(slow, product_rooflines(kSmallGpu)), IsEmpty());
  std::string grows;
  for (const int n : {128, 1024, 4096, 16384}) {
    for (int m = 1; m <= 16384; m *= 4)
      grows += fmt::format("fp8,{},{},4096,{}\n", m, n, 0.06 * std::sqrt(1.0 * m * n / 128));
  }
  const WorkRows curved = table_of(products("bfloat16", 2.5, 0) + grows);
  EXPECT_THAT(launch_bound_families(curved, product_rooflines(kSmallGpu).bound), IsEmpty());
  EXPECT_THAT(launch_bound_families(curved, nullptr), IsEmpty());
}

TEST(Quarantine, TellsImpossibleRowsInRuns) {
  const WorkRows rows = table_of(
      "fp8,1,4096,4096,0.0020\nfp8,2,4096,4096,0.0030\nfp8,4,4096,4096,0.0060\n"
      "fp8,8,4096,4096,0\nfp8,16,4096,4096,0.0041\nfp8,8192,4096,4096,0.2\n"
      "fp8,16384,4096,4096,0.25\nbfloat16,1,4096,4096,0.0081\n");
  const auto quarantined = impossible_rows(rows, product_rooflines(kSmallGpu));
  ASSERT_THAT(quarantined, SizeIs(3));
  const auto fp8 = rows.begins[1];
  EXPECT_EQ(quarantined[0].begin, fp8);
  EXPECT_EQ(quarantined[0].end, fp8 + 2);
  EXPECT_EQ(quarantined[0].reason,
            "fp8 m=1 n=4096 k=4096 takes 2.00 us, but its bytes and operations take at least 4.20 "
            "us");
  EXPECT_EQ(quarantined[1].begin, fp8 + 3);
  EXPECT_EQ(quarantined[2].begin, fp8 + 6);
  EXPECT_THAT(quarantined_numbers(quarantined), ElementsAre(1));
  EXPECT_THAT(impossible_rows(rows, {}), IsEmpty());
  // The data may have stayed in the L2 cache, which is faster.
  Rooflines cached = product_rooflines(kSmallGpu);
  cached.cached = [](const std::vector<model::PerfField>&) { return 0.002; };
  EXPECT_THAT(impossible_rows(rows, cached), SizeIs(1));
}

TEST(Quarantine, TakesFamiliesWithManyImpossibleRows) {
  std::string few;
  std::string many;
  for (int n = 64; n <= 6400; n += 64) {
    const double least = kSmallGpu.roofline_ms(1.0 * n * 4096 + 1.0 * (n + 4096), 0, "fp8", 0);
    few += fmt::format("fp8,1,{},4096,{}\n", n, least * (n % 1280 == 0 ? 0.5 : 2));
    many += fmt::format("fp8,1,{},4096,{}\n", n, least * (n % 384 == 0 ? 0.5 : 2));
  }
  const WorkRows little = table_of(few);
  const WorkRows much = table_of(many);
  const SiblingTable siblings[] = {{.name = "x 2", .rows = &much},
                                   {.name = "x 1", .rows = &little}};
  const Rooflines rooflines = product_rooflines(kSmallGpu);
  EXPECT_THAT(impossible_families(little, rooflines, siblings), IsEmpty());
  const auto quarantined = quarantined_families(much, rooflines, siblings);
  ASSERT_THAT(quarantined, SizeIs(1));
  EXPECT_THAT(quarantined[0].reason,
              HasSubstr("16 % of the rows are faster than the hardware: fp8"));
  EXPECT_EQ(quarantined[0].fallback, "x 1");
}

// The public tables are no part of a clone.
class PublicProducts : public testing::TestWithParam<fs::path> {
 public:
  static std::vector<fs::path> roots() {
    const auto root = fs::path(ASSAY_SOURCE_DIR) / "../shared/data/peer-db";
    if (!fs::exists(root)) return {};
    return {root};
  }
};

// "vllm 0.24.0 fp8_block" for each family of products that is quarantined, and its fallback.
std::map<std::string, std::string> quarantined_products(const fs::path& root,
                                                        const std::string& system) {
  const PublicTree tree = PublicTree::open(root, system).value();
  std::vector<std::string> names;
  std::vector<WorkRows> tables;
  for (const TreeSource& source : tree.sources("vllm", "", "gemm").value()) {
    model::Warnings warnings;
    names.push_back(source.backend + " " + source.version);
    tables.push_back(
        make_work_rows("gemm_perf", read_perf_file(source.file, warnings).value().rows).value());
  }
  std::map<std::string, std::string> found;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::vector<SiblingTable> siblings;
    for (std::size_t j = 0; j < tables.size(); ++j) {
      if (j != i) siblings.push_back({.name = names[j], .rows = &tables[j]});
    }
    const Rooflines rooflines = product_rooflines(tree.facts().peaks);
    for (const Quarantined& part : quarantined_families(tables[i], rooflines, siblings))
      found[names[i] + " " + work_text(tables[i], part.family)] = part.fallback;
  }
  return found;
}

TEST_P(PublicProducts, OnlyThoseOfTheHostAreQuarantined) {
  EXPECT_THAT(quarantined_products(GetParam(), "h200_sxm"),
              UnorderedElementsAre(std::pair("vllm 0.18.0 fp8_block", "vllm 0.19.0"),
                                   std::pair("vllm 0.22.0 fp8_block", "vllm 0.19.0"),
                                   std::pair("vllm 0.24.0 fp8_block", "vllm 0.19.0")));
  EXPECT_THAT(quarantined_products(GetParam(), "h100_sxm"),
              UnorderedElementsAre(std::pair("vllm 0.24.0 fp8_block", "vllm 0.19.0")));
}

// The least time of prompts without a window in ms, by the products of the lower triangle alone.
Rooflines prompt_rooflines(const Peaks& peaks) {
  Rooflines rooflines;
  rooflines.bound = [peaks](const std::vector<model::PerfField>& exact,
                            const std::vector<std::string>& sizes) -> Roofline {
    for (const model::PerfField& field : exact) {
      if (field.column == "window_size" && field.value != model::PerfValue(std::int64_t{0}))
        return nullptr;
    }
    const auto place = [&](const char* name) {
      return static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), name) - sizes.begin());
    };
    return [=, batch = place("batch_size"), isl = place("isl"), heads = place("num_heads"),
            dim = place("head_dim")](std::span<const double> size) {
      const double flops = 2 * size[batch] * size[isl] * size[isl] * size[heads] * size[dim];
      return peaks.roofline_ms(0, flops, "bfloat16", 0);
    };
  };
  return rooflines;
}

TEST_P(PublicProducts, PromptsBeyondThePeakAreQuarantined) {
  const PublicTree tree = PublicTree::open(GetParam(), "h200_sxm").value();
  std::set<std::string> found;
  for (const TreeSource& source : tree.sources("vllm", "", "context_attention").value()) {
    if (source.backend != "vllm") continue;
    model::Warnings warnings;
    const PerfFile file = read_perf_file(source.file, warnings).value();
    const WorkRows rows = make_work_rows(file.table, file.rows).value();
    if (!impossible_families(rows, prompt_rooflines(tree.facts().peaks)).empty())
      found.insert(source.version);
  }
  EXPECT_THAT(found, ElementsAre("0.19.0"));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublicProducts);
INSTANTIATE_TEST_SUITE_P(Quarantine, PublicProducts, testing::ValuesIn(PublicProducts::roots()));

}  // namespace
}  // namespace assay::store
