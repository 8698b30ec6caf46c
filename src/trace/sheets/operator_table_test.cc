#include "trace/sheets/operator_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::trace {
namespace {

std::uint32_t add_kernel(model::Trace& trace, const std::string& name, std::int64_t duration_ns) {
  model::GpuEvent event;
  event.name = trace.texts.intern(name);
  event.stream = 7;
  event.duration_ns = duration_ns;
  trace.gpu_events.push_back(event);
  return static_cast<std::uint32_t>(trace.gpu_events.size() - 1);
}

TEST(KernelDetails, SummarisesByPositionAndSortsByTotal) {
  model::Trace trace;
  const std::vector<std::uint32_t> first = {add_kernel(trace, "slow", 3000),
                                            add_kernel(trace, "fast", 1000)};
  const std::vector<std::uint32_t> second = {add_kernel(trace, "slow", 5000),
                                             add_kernel(trace, "fast", 1500)};
  const std::vector<std::uint32_t> odd = {add_kernel(trace, "slow", 9000)};
  const std::vector<GpuWorkList> instances = {first, second, odd};

  const KernelDetails details = kernel_details(analyze_rank(trace, {}, 0), instances);

  EXPECT_EQ(details.full,
            "[{'name': 'fast', 'stream': 7, 'count': 2, 'total_duration_us': 2.5, "
            "'mean_duration_us': 1.25, 'median_duration_us': 1.25, 'std_dev_duration_us': 0.25, "
            "'min_duration_us': 1.0, 'max_duration_us': 1.5}, "
            "{'name': 'slow', 'stream': 7, 'count': 2, 'total_duration_us': 8.0, "
            "'mean_duration_us': 4.0, 'median_duration_us': 4.0, 'std_dev_duration_us': 1.0, "
            "'min_duration_us': 3.0, 'max_duration_us': 5.0}]");
  EXPECT_EQ(details.left_out, 1);
}

TEST(KernelDetails, ShortensNamesAndRoundsMeans) {
  model::Trace trace;
  const std::vector<std::uint32_t> only = {add_kernel(trace, std::string(70, 'k'), 1238)};
  const std::vector<GpuWorkList> instances = {only};

  EXPECT_EQ(kernel_details(analyze_rank(trace, {}, 0), instances).truncated,
            "[{'name': '" + std::string(64, 'k') + "...', 'stream': 7, 'mean_duration_us': 1.24}]");
}

TEST(KernelDetails, IsEmptyWithoutInstances) {
  EXPECT_EQ(kernel_details(RankAnalysis(), {}).full, "");
}

}  // namespace
}  // namespace assay::trace
