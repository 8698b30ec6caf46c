#include "cli/channel_limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "model/collective.h"

namespace assay::cli {
namespace {

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 1) return {};
  return number;
}

// Others are made of sends and receives.
bool keeps_limits(const std::string& collective) {
  const auto known = model::torch_collective(collective);
  return known && known->function <= model::NcclFunction::kAllReduce;
}

struct Range {
  int least = 0;  // 0: unknown
  int most = 0;
};

void add(std::string_view channels, Range& range) {
  while (!channels.empty()) {
    const std::string_view one = channels.substr(0, channels.find(", "));
    channels.remove_prefix(std::min(one.size() + 2, channels.size()));
    const std::optional<int> number = number_of(one);
    if (!number) continue;
    range.least = range.least == 0 ? *number : std::min(range.least, *number);
    range.most = std::max(range.most, *number);
  }
}

}  // namespace

std::optional<int> channel_limit(const sweep::Variables& variables) {
  for (const auto& [name, value] : variables)
    if (name == "NCCL_MAX_CTAS") return number_of(value);
  return {};
}

std::string unkept_in_words(int limit,
                            std::span<const trace::BandwidthPoint> points,
                            std::size_t setting) {
  Range range;
  for (const trace::BandwidthPoint& point : points)
    if (point.setting == setting && keeps_limits(point.collective)) add(point.channels, range);
  if (range.least <= limit) return "";
  const std::string channels = range.least == range.most
                                   ? std::to_string(range.most)
                                   : fmt::format("{} to {}", range.least, range.most);
  return fmt::format("NCCL_MAX_CTAS={} limited no collective, which had {} channels", limit,
                     channels);
}

}  // namespace assay::cli
