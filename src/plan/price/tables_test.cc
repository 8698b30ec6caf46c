#include "plan/price/tables.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "model/warnings.h"
#include "store/files/csv_frame.h"

namespace assay::plan {
namespace {

constexpr const char* kProducts =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
    "F,1,D,gemm,k,bfloat16,1,64,128,1\n"
    "F,1,D,gemm,k,bfloat16,1000,64,128,3\n"
    "F,1,D,gemm,k,bfloat16,1,128,64,2\n"
    "F,1,D,gemm,k,bfloat16,1000,128,64,7\n";

core::Result<std::vector<TableSource>> load_products(const std::string& table) {
  const auto read = [=]() -> core::Result<TableSource::Index> {
    model::Warnings warnings;
    const auto frame =
        ASSAY_TRY(store::read_csv_frame(kProducts, warnings, {.text_columns = {"version"}}));
    return std::make_shared<const store::WorkIndex>(
        ASSAY_TRY(store::WorkIndex::make(table, frame, nullptr)));
  };
  return std::vector<TableSource>{TableSource("made", Fidelity::kEngine, read)};
}

serving::OperatorUse product(std::int64_t n, std::int64_t k) {
  return {.op = "gemm",
          .table = "gemm_perf",
          .op_name = "gemm",
          .key = {{"n", model::PerfValue(n)}, {"k", model::PerfValue(k)}},
          .sizes = {{.column = "m"}}};
}

class SharedTables : public testing::Test {
 protected:
  void SetUp() override {
    auto sources = tables_.sources("gemm_perf");
    ASSERT_TRUE(sources.ok());
    auto index = sources.value().front().index();
    ASSERT_TRUE(index.ok()) << index.error().message;
    index_ = index.value();
  }

  Tables tables_{std::nullopt, load_products, [](const auto&) { return nullptr; },
                 [](const auto&) { return nullptr; }};
  TableSource::Index index_;
};

TEST_F(SharedTables, FindTheFamiliesOfEachUse) {
  for (int time = 0; time < 2; ++time) {
    for (const auto& use : {product(64, 128), product(128, 64), product(64, 64)}) {
      const auto& found = tables_.families_of(index_, use);
      const auto expected = store::families_of(use, index_->rows());
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found.front().sizes, expected.front().sizes);
      EXPECT_EQ(found.front().has_key, expected.front().has_key);
    }
  }
}

TEST_F(SharedTables, AnswerAKeyWhateverAnotherHasAsked) {
  const auto other = tables_.family(index_, 0, "n=64 k=128");
  const std::array<double, 3> wide = {500, 128, 64};
  const std::array<double, 3> deep = {500, 64, 128};
  (void)other->at(deep, store::Beyond::kExtrapolate);
  const auto own = tables_.family(index_, 0, "n=128 k=64");
  EXPECT_NE(own, other);
  EXPECT_EQ(tables_.family(index_, 0, "n=128 k=64"), own);
  const double latency = own->at(wide, store::Beyond::kExtrapolate).latency;
  EXPECT_EQ(latency, index_->own_family(0).at(wide, store::Beyond::kExtrapolate).latency);
  EXPECT_NE(latency, other->at(deep, store::Beyond::kExtrapolate).latency);
}

}  // namespace
}  // namespace assay::plan
