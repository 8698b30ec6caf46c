#include "plan/compat/disaggregated.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace assay::plan::compat {
namespace {

constexpr double kPromptCorrection = 1.1;
constexpr double kDecodeCorrection = 1.08;
constexpr double kPromptShare = 0.9;  // of its rate that a worker reaches beside the other phase
constexpr double kDecodeShare = 0.92;
constexpr double kQueue = 1.8;  // of TTFT
constexpr std::int64_t kMostWorkers = 32;
constexpr std::size_t kMostPrompts = 32;
constexpr std::size_t kMostDecodes = 16;
constexpr std::size_t kMostUnits = 5;
constexpr double kGiB = 1024.0 * 1024 * 1024;

std::vector<std::int64_t> decode_batches() {
  struct Run {
    std::int64_t first;
    std::int64_t end;
    std::int64_t step;
  };

  std::vector<std::int64_t> all;
  for (const Run& run :
       {Run{1, 16, 1}, Run{16, 32, 2}, Run{32, 128, 4}, Run{128, 512, 8}, Run{512, 513, 1}}) {
    for (std::int64_t batch = run.first; batch < run.end; batch += run.step)
      all.push_back(batch);
  }
  return all;
}

std::set<std::int64_t> unit_sizes(std::int64_t most_gpus) {
  std::set<std::int64_t> sizes;
  for (const std::int64_t gpus : {1, 2, 4})
    sizes.insert(gpus);
  for (std::int64_t gpus = 8; gpus <= 128; gpus += 8)
    sizes.insert(gpus);
  std::erase_if(sizes, [&](std::int64_t gpus) { return gpus > most_gpus; });
  return sizes;
}

PhaseWorker worker_of(const Worker& worker,
                      std::int64_t batch,
                      double request_ms,
                      const MemoryParts& memory) {
  const double rate = static_cast<double>(batch * worker.dp) / request_ms * 1000;
  return {.worker = worker,
          .batch = batch,
          .requests_per_s = rounded(rate),
          .requests_per_s_per_gpu = rounded(rate / static_cast<double>(worker.gpus())),
          .memory_gib = rounded(memory.total() / kGiB)};
}

std::vector<PhaseWorker> fastest_prompts(std::vector<PhaseWorker> prompts, double ttft_limit_ms) {
  std::erase_if(prompts,
                [&](const PhaseWorker& one) { return one.ttft_ms * kQueue >= ttft_limit_ms; });
  std::stable_sort(prompts.begin(), prompts.end(), [](const PhaseWorker& a, const PhaseWorker& b) {
    return std::make_tuple(-a.requests_per_s_per_gpu, a.batch * a.worker.dp) <
           std::make_tuple(-b.requests_per_s_per_gpu, b.batch * b.worker.dp);
  });
  if (prompts.size() > kMostPrompts) prompts.resize(kMostPrompts);
  return prompts;
}

double unit_rate(const DisaggregatedPoint& unit) {
  return std::min(
      unit.prompts.requests_per_s * static_cast<double>(unit.prompt_workers) * kPromptShare,
      unit.decodes.requests_per_s * static_cast<double>(unit.decode_workers) * kDecodeShare);
}

// How many workers of each phase give the most for each GPU; none where no number suits.
class Matcher {
 public:
  explicit Matcher(std::set<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

  // The numbers are 0 where no number of workers makes an allowed unit.
  DisaggregatedPoint match(const PhaseWorker& prompts, const PhaseWorker& decodes) {
    DisaggregatedPoint unit{.prompts = prompts, .decodes = decodes};
    const auto key = std::make_tuple(prompts.requests_per_s, prompts.worker.gpus(),
                                     decodes.requests_per_s, decodes.worker.gpus());
    const auto known = known_.find(key);
    const auto& [prompt_workers, decode_workers] =
        known != known_.end() ? known->second : known_.emplace(key, numbers(unit)).first->second;
    unit.prompt_workers = prompt_workers;
    unit.decode_workers = decode_workers;
    unit.ttft_ms = prompts.ttft_ms * kQueue;
    unit.requests_per_s = unit_rate(unit);
    return unit;
  }

 private:
  using Numbers = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] Numbers numbers(DisaggregatedPoint unit) const {
    Numbers best = {0, 0};
    double most = 0;
    for (unit.decode_workers = 1; unit.decode_workers <= kMostWorkers; ++unit.decode_workers) {
      for (unit.prompt_workers = 1; unit.prompt_workers <= kMostWorkers; ++unit.prompt_workers) {
        const std::int64_t gpus = unit.gpus();
        if (!sizes_.contains(gpus)) continue;
        const double each = unit_rate(unit) / static_cast<double>(gpus);
        if (each <= most) continue;
        most = each;
        best = {unit.prompt_workers, unit.decode_workers};
      }
    }
    return best;
  }

  std::set<std::int64_t> sizes_;
  std::map<std::tuple<double, std::int64_t, double, std::int64_t>, Numbers> known_;
};

double per_gpu(const DisaggregatedPoint& unit) {
  return unit.requests_per_s / static_cast<double>(unit.gpus());
}

bool is_better(const DisaggregatedPoint& a, const DisaggregatedPoint& b) {
  return std::make_tuple(per_gpu(a), -a.gpus()) > std::make_tuple(per_gpu(b), -b.gpus());
}

// By worker, in the order of their names.
std::map<std::string, std::vector<PhaseWorker>> by_worker(const std::vector<PhaseWorker>& all) {
  std::map<std::string, std::vector<PhaseWorker>> groups;
  for (const PhaseWorker& one : all)
    groups[parallel_name(one.worker)].push_back(one);
  return groups;
}

std::vector<PhaseWorker> fastest_decodes(std::vector<PhaseWorker> decodes, double tpot_limit_ms) {
  std::erase_if(decodes, [&](const PhaseWorker& one) { return one.tpot_ms >= tpot_limit_ms; });
  std::stable_sort(decodes.begin(), decodes.end(), [](const PhaseWorker& a, const PhaseWorker& b) {
    return a.requests_per_s_per_gpu > b.requests_per_s_per_gpu;
  });
  if (decodes.size() > kMostDecodes) decodes.resize(kMostDecodes);
  return decodes;
}

// std::nullopt: no two workers make an allowed unit.
std::optional<DisaggregatedPoint> best_unit(const std::vector<PhaseWorker>& prompts,
                                            const std::vector<PhaseWorker>& decodes,
                                            Engine engine,
                                            Matcher& matcher) {
  std::optional<DisaggregatedPoint> best;
  for (const PhaseWorker& decode : decodes) {
    for (const PhaseWorker& prompt : prompts) {
      // SGLang sends its cache between workers that share heads alike.
      if (engine == Engine::kSglang && prompt.worker.tp != decode.worker.tp) continue;
      const DisaggregatedPoint unit = matcher.match(prompt, decode);
      if (unit.prompt_workers > 0 && (!best || is_better(unit, *best))) best = unit;
    }
  }
  return best;
}

}  // namespace

double rounded(double value) {
  return std::nearbyint(value * 1000) / 1000;
}

std::string parallel_name(const Worker& worker) {
  return fmt::format("tp{}pp1dp{}etp{}ep{}", worker.tp, worker.dp, worker.moe_tp, worker.moe_ep);
}

std::vector<double> tried_tpots() {
  std::vector<double> all;
  for (int ms = 1; ms < 20; ++ms)
    all.push_back(ms);
  for (int ms = 20; ms < 300; ms += 5)
    all.push_back(ms);
  return all;
}

std::vector<PhaseWorker> prompt_workers(const serving::Model& model,
                                        const Worker& worker,
                                        const Operators& operators,
                                        const SystemFacts& facts,
                                        const Setting& setting) {
  const Lengths& lengths = setting.lengths;
  const MemoryParts memory =
      memory_of(model, worker, setting.engine, operators, facts,
                {.tokens = lengths.prompt - lengths.prefix, .request_tokens = lengths.prompt + 1});
  const double ms = sum_ms(prompt_times(operators, 1, lengths)) * kPromptCorrection;
  const bool has_room =
      fits(setting.engine, setting.version, Serving::kStatic, worker, facts, memory);
  if (!has_room || !std::isfinite(ms)) return {};
  PhaseWorker found = worker_of(worker, 1, ms, memory);
  found.ttft_ms = rounded(ms);
  return {found};
}

std::vector<PhaseWorker> decode_workers(const serving::Model& model,
                                        const Worker& worker,
                                        const Operators& operators,
                                        const SystemFacts& facts,
                                        const Setting& setting) {
  const Lengths& lengths = setting.lengths;
  std::vector<PhaseWorker> all;
  for (const std::int64_t batch : decode_batches()) {
    const MemoryParts memory = memory_of(
        model, worker, setting.engine, operators, facts,
        {.tokens = batch, .requests = batch, .request_tokens = lengths.prompt + lengths.output});
    if (!fits(setting.engine, setting.version, Serving::kStatic, worker, facts, memory)) break;
    const double ms = sum_ms(decode_times(operators, batch, lengths)) * kDecodeCorrection;
    if (!std::isfinite(ms)) continue;
    PhaseWorker found = worker_of(worker, batch, ms, memory);
    const double tpot = ms / static_cast<double>(lengths.output - 1);
    found.tpot_ms = rounded(tpot);
    found.tokens_per_s_per_user = rounded(1000 / tpot);
    all.push_back(found);
  }
  return all;
}

std::vector<DisaggregatedPoint> disaggregated_points(const std::vector<PhaseWorker>& prompts,
                                                     const std::vector<PhaseWorker>& decodes,
                                                     const Setting& setting,
                                                     double ttft_limit_ms,
                                                     std::int64_t most_gpus) {
  const std::vector<PhaseWorker> fast = fastest_prompts(prompts, ttft_limit_ms);
  const auto groups = by_worker(decodes);
  Matcher matcher(unit_sizes(most_gpus));
  std::vector<DisaggregatedPoint> all;
  for (const double tpot : tried_tpots()) {
    std::vector<DisaggregatedPoint> best;
    for (const auto& [name, group] : groups) {
      const auto unit = best_unit(fast, fastest_decodes(group, tpot), setting.engine, matcher);
      if (unit) best.push_back(*unit);
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const DisaggregatedPoint& a, const DisaggregatedPoint& b) {
                       return per_gpu(a) > per_gpu(b);
                     });
    if (best.size() > kMostUnits) best.resize(kMostUnits);
    all.insert(all.end(), best.begin(), best.end());
  }
  return all;
}

}  // namespace assay::plan::compat
