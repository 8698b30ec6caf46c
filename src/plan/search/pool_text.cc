#include "plan/search/pool_text.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <regex>
#include <string_view>

namespace assay::plan {
namespace {

core::Error no_pool(const std::string& text) {
  return core::Error{
      fmt::format("'{}' is no worker: say the instances and the widths of each as in '3P(tp 2)' or "
                  "'1D(tp 1, dp 8, ep 8)', or the widths alone",
                  text)};
}

std::optional<std::int64_t> count_of(const std::string& digits) {
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  constexpr std::int64_t kMost = 1 << 16;
  if (error != std::errc() || stop != end || value < 1 || value > kMost) return std::nullopt;
  return value;
}

// The widths that a text gives.
struct Widths {
  std::optional<std::int64_t> tp;
  std::optional<std::int64_t> dp;
  std::optional<std::int64_t> moe_tp;
  std::optional<std::int64_t> ep;
  std::optional<std::int64_t> pp;

  std::optional<std::int64_t>* named(std::string_view name) {
    if (name == "tp") return &tp;
    if (name == "dp") return &dp;
    if (name == "pp") return &pp;
    if (name == "ep" || name == "moe ep") return &ep;
    if (name == "moe tp") return &moe_tp;
    return nullptr;
  }
};

core::Result<Widths> parse_widths(const std::string& widths, const std::string& text) {
  static const std::regex width(R"(\s*(tp|dp|pp|ep|moe tp|moe ep)\s*(\d+)\s*(,|$))");
  Widths found;
  auto from = widths.cbegin();
  std::smatch match;
  while (from != widths.cend()) {
    if (!std::regex_search(from, widths.cend(), match, width,
                           std::regex_constants::match_continuous))
      return no_pool(text);
    std::optional<std::int64_t>* target = found.named(match[1].str());
    const std::optional<std::int64_t> count = count_of(match[2].str());
    if (!count || *target) return no_pool(text);
    *target = count;
    from = match[0].second;
  }
  if (!found.tp && !found.dp && !found.ep && !found.moe_tp && !found.pp) return no_pool(text);
  return found;
}

}  // namespace

core::Result<PoolText> parse_pool(const std::string& text) {
  static const std::regex counted(R"(\s*(\d+)\s*[PDpd]?\s*\(([^()]*)\)\s*)");
  PoolText pool;
  std::string widths = text;
  std::smatch match;
  if (std::regex_match(text, match, counted)) {
    const std::optional<std::int64_t> instances = count_of(match[1].str());
    if (!instances) return no_pool(text);
    pool.instances = *instances;
    widths = match[2].str();
  }
  const Widths found = ASSAY_TRY(parse_widths(widths, text));
  Worker& worker = pool.worker;
  worker.tp = found.tp.value_or(1);
  worker.dp = found.dp.value_or(1);
  const std::int64_t gpus = worker.gpus();
  worker.pp = found.pp.value_or(1);
  worker.moe_ep = found.ep.value_or(found.moe_tp ? gpus / *found.moe_tp : 1);
  worker.moe_tp = found.moe_tp.value_or(worker.moe_ep > 0 ? gpus / worker.moe_ep : 0);
  if (worker.gpus() > kMostGpus / pool.instances)
    return core::Error{fmt::format("'{}' has more than {} GPUs", text, kMostGpus)};
  if (worker.moe_tp * worker.moe_ep != gpus) {
    return core::Error{fmt::format("'{}': its experts are on {} x {} GPUs, but it has {}", text,
                                   worker.moe_tp, worker.moe_ep, gpus)};
  }
  return pool;
}

}  // namespace assay::plan
