#include "plan/compat/aggregated.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace assay::plan::compat {
namespace {

std::vector<std::int64_t> batches() {
  struct Run {
    std::int64_t first;
    std::int64_t end;
    std::int64_t step;
  };

  std::vector<std::int64_t> all;
  for (const Run& run : {Run{1, 16, 1}, Run{16, 32, 4}, Run{32, 64, 8}, Run{64, 256, 16},
                         Run{256, 512, 32}, Run{512, 513, 1}}) {
    for (std::int64_t batch = run.first; batch < run.end; batch += run.step)
      all.push_back(batch);
  }
  return all;
}

struct Steps {
  double mixed = 1;
  double mixed_of_tpot = 0;
  double decoding = 0;
  std::int64_t decodes_beside = 0;
};

Steps steps_of(const Setting& setting, std::int64_t batch, std::int64_t prompt_tokens) {
  const double iterations = setting.lengths.iterations();
  if (batch == 1) return {.decoding = std::max(iterations - 1, 0.0)};
  const double steps = std::ceil(static_cast<double>(setting.lengths.prompt * batch) /
                                 static_cast<double>(prompt_tokens));
  Steps found{
      .mixed = steps,
      .mixed_of_tpot = steps,
      .decodes_beside = decodes_beside(setting.engine, batch, prompt_tokens, setting.lengths)};
  if (steps >= iterations) return found;
  found.decoding = iterations - steps;
  found.mixed_of_tpot =
      static_cast<double>(mixed_steps_of_tpot(setting.engine, static_cast<std::int64_t>(steps)));
  return found;
}

struct StepTimes {
  double mixed = 0;  // all in ms
  double decoding = 0;
  double dispatch = 0;  // what the host adds to a prompt
};

void set_latencies(AggregatedPoint& point,
                   const Setting& setting,
                   const Steps& steps,
                   const StepTimes& times) {
  const auto prompt = static_cast<double>(setting.lengths.prompt);
  const auto tokens = static_cast<double>(point.prompt_tokens);
  const double prompts = std::ceil(prompt * static_cast<double>(point.batch) / tokens);
  point.ttft_ms = (times.mixed * std::ceil(prompt / tokens) + times.dispatch) *
                  queue_factor(setting.engine, point.batch, static_cast<std::int64_t>(prompts));
  const double counted = steps.mixed_of_tpot + steps.decoding;
  if (counted > 0) {
    const double steps_ms = times.mixed * steps.mixed_of_tpot + times.decoding * steps.decoding;
    point.tpot_ms = steps_ms / counted / setting.lengths.progress();
  }
}

void set_rates(AggregatedPoint& point,
               const Setting& setting,
               const Steps& steps,
               const StepTimes& times) {
  const double total = steps.mixed * times.mixed + steps.decoding * times.decoding;
  const auto further = static_cast<double>(setting.lengths.output - 1);
  const double tokens = static_cast<double>(point.batch) * further;
  double rate = total > 0 ? 1000 / total * tokens : 0;
  if (setting.engine == Engine::kVllm)
    rate = std::min(rate, tokens * 1000 / point.request_ms(setting.lengths));
  point.tokens_per_s = rate * static_cast<double>(point.worker.dp);
  point.requests_per_s = further > 0 ? point.tokens_per_s / further : 0;
}

// TensorRT-LLM keeps room for the largest step that it may take, the others for this one.
MemoryAsked memory_asked(const Setting& setting, std::int64_t batch, std::int64_t prompt_tokens) {
  const std::int64_t prompts =
      (prompt_tokens + setting.lengths.prompt - 1) / setting.lengths.prompt;
  const std::int64_t used = batch == 1 ? prompt_tokens : prompt_tokens + batch - prompts;
  return {.tokens = setting.engine == Engine::kTrtllm ? 8192 : used,
          .requests = batch,
          .request_tokens = setting.lengths.prompt + setting.lengths.output};
}

}  // namespace

std::vector<std::int64_t> step_tokens(std::int64_t prompt) {
  constexpr std::int64_t kNormal = 8192;
  constexpr std::int64_t kStride = 512;
  const std::int64_t most = std::max(kNormal, 2 * prompt);
  const std::int64_t large = std::max({std::int64_t{1024}, kStride, most / 8});
  const std::int64_t stride = std::max(prompt, kStride);
  const std::int64_t large_stride = (large + prompt - 1) / prompt * prompt;
  std::set<std::int64_t> all = {prompt, 2 * prompt};
  for (std::int64_t tokens = stride; tokens <= most;
       tokens += tokens < kNormal ? stride : large_stride)
    all.insert(tokens);
  return {all.begin(), all.end()};
}

AggregatedPoint aggregated_point(const serving::Model& model,
                                 const Worker& worker,
                                 const Operators& operators,
                                 const SystemFacts& facts,
                                 const Setting& setting,
                                 const MixedLoad& load) {
  const auto& [batch, prompt_tokens] = load;
  AggregatedPoint point{.worker = worker, .batch = batch, .prompt_tokens = prompt_tokens};
  const Steps steps = steps_of(setting, batch, prompt_tokens);
  const StepTimes times{
      .mixed = mixed_step_ms(operators, prompt_tokens, steps.decodes_beside, setting.lengths),
      .decoding = steps.decoding > 0 ? decode_step_ms(operators, batch, setting.lengths) : 0,
      .dispatch = dispatch_ms(setting.engine, model.num_layers())};
  set_latencies(point, setting, steps, times);
  set_rates(point, setting, steps, times);
  point.memory = memory_of(model, worker, setting.engine, operators, facts,
                           memory_asked(setting, batch, prompt_tokens));
  return point;
}

std::vector<AggregatedPoint> aggregated_points(const serving::Model& model,
                                               const Worker& worker,
                                               const Operators& operators,
                                               const SystemFacts& facts,
                                               const Setting& setting) {
  const auto prompt = static_cast<double>(setting.lengths.prompt);
  std::set<double> crowded;  // batches whose prompts never end, by those that decode beside them
  std::vector<AggregatedPoint> points;
  for (const std::int64_t batch : batches()) {
    for (const std::int64_t tokens : step_tokens(setting.lengths.prompt)) {
      const double left =
          static_cast<double>(batch) - std::ceil(static_cast<double>(tokens) / prompt);
      if (left < 0 || (batch > 1 && left < 1)) break;
      const double balance = prompt * static_cast<double>(batch) / static_cast<double>(tokens) /
                             setting.lengths.iterations();
      if (balance > 1) {
        const double decodes = std::floor(static_cast<double>(batch) / balance);
        if (!crowded.insert(decodes).second && decodes > 1) continue;
      }
      AggregatedPoint point = aggregated_point(model, worker, operators, facts, setting,
                                               {.batch = batch, .prompt_tokens = tokens});
      if (!fits(setting.engine, setting.version, Serving::kAggregated, worker, facts, point.memory))
        break;
      if (std::isfinite(point.ttft_ms) && std::isfinite(point.tpot_ms)) points.push_back(point);
    }
  }
  return points;
}

}  // namespace assay::plan::compat
