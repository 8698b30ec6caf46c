#include "trace/kernel_details.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
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
    position.total_us = core::sum(position.durations_us);
  std::stable_sort(positions.begin(), positions.end(), [](const Position& a, const Position& b) {
    return std::tie(a.total_us, a.name) < std::tie(b.total_us, b.name);
  });
  return positions;
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
      core::shortest(core::mean(us)), core::shortest(core::median(us)),
      core::shortest(core::population_deviation(us)), core::shortest(core::minimum(us)),
      core::shortest(core::maximum(us)));
}

std::string truncated_text(const Position& position) {
  // As NumPy rounds: to even, after scaling.
  const double mean_us = std::nearbyint(core::mean(position.durations_us) * 100) / 100;
  return fmt::format("{{'name': {}, 'stream': {}, 'mean_duration_us': {}}}",
                     python_repr(shown_name(position.name)), position.stream,
                     core::shortest(mean_us));
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
