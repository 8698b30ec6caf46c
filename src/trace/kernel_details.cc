#include "trace/kernel_details.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/arguments.h"

namespace assay::trace {
namespace {

constexpr std::size_t kShownNameBytes = 64;

struct Position {
  std::string_view name;
  std::int32_t stream = -1;
  std::vector<double> durations_us = {};
  double total_us = 0;
};

// Sums in the order of NumPy (pairwise, eight at a time), whose rounding decides ties when means
// are cut to two decimals.
double pairwise_sum(std::span<const double> values) {
  constexpr std::size_t kLanes = 8;
  constexpr std::size_t kBlock = 128;
  const std::size_t count = values.size();
  if (count < kLanes) return core::sum(values);
  if (count > kBlock) {
    const std::size_t half = count / 2 - count / 2 % kLanes;
    return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
  }
  std::array<double, kLanes> lanes{};
  const std::size_t whole = count - count % kLanes;
  for (std::size_t i = 0; i < whole; ++i)
    lanes[i % kLanes] += values[i];
  const double total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                       ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(whole), values.end(), total);
}

std::vector<Position> positions_of(const model::Trace& trace,
                                   std::span<const GpuWorkList> instances) {
  std::vector<Position> positions;
  for (const std::uint32_t index : instances.front()) {
    const model::GpuEvent& event = trace.gpu_events[index];
    positions.push_back({trace.text(event.name), event.stream});
  }
  for (const GpuWorkList& instance : instances) {
    if (instance.size() != positions.size()) continue;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto duration_ns = static_cast<double>(trace.gpu_events[instance[i]].duration_ns);
      positions[i].durations_us.push_back(duration_ns / 1e3);
    }
  }
  for (Position& position : positions)
    position.total_us = pairwise_sum(position.durations_us);
  std::stable_sort(positions.begin(), positions.end(), [](const Position& a, const Position& b) {
    return std::tie(a.total_us, a.name) < std::tie(b.total_us, b.name);
  });
  return positions;
}

double mean_us(const Position& position) {
  return position.total_us / static_cast<double>(position.durations_us.size());
}

// Never cuts a UTF-8 character in two.
std::string shown_name(std::string_view name) {
  if (name.size() <= kShownNameBytes) return std::string(name);
  std::size_t end = kShownNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U)
    --end;
  return std::string(name.substr(0, end)) + "...";
}

std::string full_text(const Position& position) {
  const std::vector<double>& us = position.durations_us;
  return fmt::format(
      "{{'name': {}, 'stream': {}, 'count': {}, 'total_duration_us': {}, 'mean_duration_us': {}, "
      "'median_duration_us': {}, 'std_dev_duration_us': {}, 'min_duration_us': {}, "
      "'max_duration_us': {}}}",
      python_repr(position.name), position.stream, us.size(), core::shortest(position.total_us),
      core::shortest(mean_us(position)), core::shortest(core::median(us)),
      core::shortest(core::population_deviation(us)), core::shortest(core::minimum(us)),
      core::shortest(core::maximum(us)));
}

std::string truncated_text(const Position& position) {
  // As NumPy rounds: to even, after scaling.
  const double rounded_us = std::nearbyint(mean_us(position) * 100) / 100;
  return fmt::format("{{'name': {}, 'stream': {}, 'mean_duration_us': {}}}",
                     python_repr(shown_name(position.name)), position.stream,
                     core::shortest(rounded_us));
}

}  // namespace

KernelDetails kernel_details(const model::Trace& trace, std::span<const GpuWorkList> instances) {
  if (instances.empty()) return {};
  std::vector<std::string> full;
  std::vector<std::string> truncated;
  for (const Position& position : positions_of(trace, instances)) {
    full.push_back(full_text(position));
    truncated.push_back(truncated_text(position));
  }
  const auto same_size = [&](const GpuWorkList& instance) {
    return instance.size() == instances.front().size();
  };
  const auto counted = std::count_if(instances.begin(), instances.end(), same_size);
  return {"[" + core::join(full, ", ") + "]", "[" + core::join(truncated, ", ") + "]",
          static_cast<std::int64_t>(instances.size()) - counted};
}

}  // namespace assay::trace
