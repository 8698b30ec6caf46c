#include "plan/price/state_space_bound.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace assay::plan {
namespace {

// 64 heads of 64 columns, a state of 128; 1 GB/s is 1e6 bytes in a ms.
store::Roofline bound(const std::string& op, const std::string& phase) {
  const std::vector<model::PerfField> exact = {
      {"phase", model::PerfValue(phase)}, {"d_state", std::int64_t{128}},
      {"d_conv", std::int64_t{4}},        {"nheads", std::int64_t{64}},
      {"head_dim", std::int64_t{64}},     {"op_name", model::PerfValue(op)}};
  std::vector<std::string> sizes = {"batch_size"};
  if (phase == "context") sizes.emplace_back("seq_len");
  return state_space_bound(1e9, 0.5)(exact, sizes);
}

TEST(StateSpaceBound, DecodingReadsAndWritesTheState) {
  const double state = 64 * 64 * 128 * 4;
  const double columns = 64 * 64 * 2;
  EXPECT_DOUBLE_EQ(bound("mamba2_scan", "generation")(std::array{8.0}),
                   0.5 + 8 * (2 * state + 2 * columns) / 1e6);
  EXPECT_DOUBLE_EQ(bound("mamba2_conv", "generation")(std::array{8.0}),
                   0.5 + 8 * (2 * 3 * columns + 2 * columns) / 1e6);
}

TEST(StateSpaceBound, PromptsWriteItOnce) {
  const double state = 64 * 64 * 128 * 4;
  const double columns = 64 * 64 * 2;
  EXPECT_DOUBLE_EQ(bound("mamba2_scan", "context")(std::array{2.0, 1000.0}),
                   0.5 + (2 * state + 2000 * 2 * columns) / 1e6);
  EXPECT_DOUBLE_EQ(bound("mamba2_conv", "context")(std::array{2.0, 1000.0}),
                   0.5 + (2 * 3 * columns + 2000 * 2 * columns) / 1e6);
}

}  // namespace
}  // namespace assay::plan
