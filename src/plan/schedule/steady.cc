#include "plan/schedule/steady.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "core/check.h"
#include "plan/schedule/check_inputs.h"
#include "plan/schedule/clients.h"
#include "plan/schedule/engine_instance.h"

namespace assay::plan {
namespace {

// Where a request is on its way through its answer, in [0, 1). Multiples of the golden ratio spread
// evenly, and so do those of every group that gets each n-th request.
double place_in_answer(std::size_t request) {
  const double multiple = (static_cast<double>(request) + 0.5) * std::numbers::phi;
  return multiple - std::floor(multiple);
}

// The first requests decode; those behind them, up to the concurrency, wait.
struct UnderWay {
  Workload workload;
  std::size_t decoding = 0;
};

// What requests that decode have behind them is in the cache, as if it were their prompt.
UnderWay in_the_middle(const Workload& workload, double waiting) {
  UnderWay made{.workload = workload};
  const auto decoding = static_cast<std::size_t>(
      std::llround((1 - waiting) * static_cast<double>(workload.concurrency)));
  for (std::size_t i = 0; i < decoding; ++i) {
    Request& request = made.workload.requests[i];
    if (request.output_tokens < 2) break;
    const auto further = static_cast<double>(request.output_tokens - 1);
    const auto done = static_cast<std::int64_t>(std::floor(place_in_answer(i) * further));
    request.prompt_tokens += done;
    request.output_tokens -= done;
    made.decoding = i + 1;
  }
  return made;
}

struct Counts {
  double at_ms = 0;
  std::int64_t first_tokens = 0;
  std::int64_t further_tokens = 0;
  double waiting_ms = 0;   // of all requests before their first token
  double decoding_ms = 0;  // of all requests behind it
};

class SteadyRun {
 public:
  SteadyRun(const StepCost& cost,
            const Policy& policy,
            const Limits& limits,
            const UnderWay& under_way)
      : under_way_(under_way),
        worker_(cost, policy, limits, under_way.workload, Stepping::kManyAtOnce, nullptr),
        clients_(under_way.workload, limits),
        decoding_(static_cast<std::int64_t>(under_way.decoding)) {
    send();
  }

  core::Status run_until(std::int64_t ended) {
    while (ended_ < ended)
      ASSAY_TRY(advance());
    return {};
  }

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  core::Status advance() {
    ASSAY_TRY(worker_.advance());
    const double ms = worker_.now_ms() - counts_.at_ms;
    counts_.at_ms = worker_.now_ms();
    const auto decoding = static_cast<double>(decoding_);
    counts_.decoding_ms += decoding * ms;
    counts_.waiting_ms += (static_cast<double>(under_way_.workload.concurrency) - decoding) * ms;
    decoding_ += worker_.first_tokens() - counts_.first_tokens;
    counts_.first_tokens = worker_.first_tokens();
    counts_.further_tokens = worker_.further_tokens();
    for (const EndedRequest& one : worker_.ended()) {
      clients_.ended(one.request, worker_.now_ms());
      --decoding_;
      ++ended_;
    }
    send();
    return {};
  }

  void send() {
    while (const std::optional<Sent> sent = clients_.next()) {
      worker_.send(sent->request, sent->at_ms,
                   sent->request < under_way_.decoding ? EngineInstance::Prompt::kCached
                                                       : EngineInstance::Prompt::kToCompute);
    }
  }

  const UnderWay& under_way_;
  EngineInstance worker_;
  Clients clients_;
  Counts counts_;
  std::int64_t decoding_ = 0;  // requests that have their first token
  std::int64_t ended_ = 0;
};

// Between two moments, and the tokens that came out in the time.
SteadyMetrics latencies(const Counts& begin, const Counts& end) {
  const auto first = static_cast<double>(end.first_tokens - begin.first_tokens);
  const auto further = static_cast<double>(end.further_tokens - begin.further_tokens);
  SteadyMetrics metrics;
  if (first > 0) metrics.ttft_ms = (end.waiting_ms - begin.waiting_ms) / first;
  if (further > 0) metrics.tpot_ms = (end.decoding_ms - begin.decoding_ms) / further;
  metrics.output_tokens_per_s = 1000 * (first + further) / (end.at_ms - begin.at_ms);
  return metrics;
}

bool agree(const SteadyMetrics& one, const SteadyMetrics& next) {
  constexpr double kTtft = 0.1;
  constexpr double kTpot = 0.02;
  return std::abs(next.ttft_ms - one.ttft_ms) <= kTtft * one.ttft_ms &&
         std::abs(next.tpot_ms - one.tpot_ms) <= kTpot * one.tpot_ms;
}

double mean_output(const Workload& workload) {
  double sum = 0;
  for (const Request& request : workload.requests)
    sum += static_cast<double>(request.output_tokens);
  return sum / static_cast<double>(workload.requests.size());
}

}  // namespace

SteadySpan usual_span(std::int64_t concurrency) {
  constexpr std::int64_t kLeastSettling = 8;
  constexpr std::int64_t kLeastMeasured = 32;
  return {.settling = std::max(kLeastSettling, concurrency / 4),
          .measured = std::max(kLeastMeasured, concurrency / 3)};
}

core::Result<SteadyMetrics> simulate_steady(const StepCost& cost,
                                            const Policy& policy,
                                            const Limits& limits,
                                            const Workload& workload,
                                            const SteadySpan& span,
                                            double waiting) {
  ASSAY_CHECK(workload.concurrency > 0 && waiting >= 0 && waiting <= 1 && span.measured > 0,
              "a closed loop, of which a part waits");
  ASSAY_CHECK(static_cast<std::int64_t>(workload.requests.size()) >=
                  workload.concurrency + span.most_requests(),
              "the load must not end inside the window");
  ASSAY_TRY(check_workload(workload));
  ASSAY_TRY(check_inputs(limits, workload));
  const UnderWay under_way = in_the_middle(workload, waiting);
  SteadyRun run(cost, policy, limits, under_way);
  ASSAY_TRY(run.run_until(span.settling));
  Counts begin = run.counts();
  Counts middle = begin;
  Counts end = begin;
  std::int64_t ended = span.settling;
  for (std::int64_t window = 0; window < span.most_windows; ++window) {
    ended += span.measured;
    ASSAY_TRY(run.run_until(ended));
    begin = middle;
    middle = end;
    end = run.counts();
    if (window > 0 && agree(latencies(begin, middle), latencies(middle, end))) break;
  }
  SteadyMetrics metrics = latencies(begin, end);
  metrics.requests_per_s = metrics.output_tokens_per_s / mean_output(workload);
  return metrics;
}

}  // namespace assay::plan
