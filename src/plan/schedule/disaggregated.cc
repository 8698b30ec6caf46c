#include "plan/schedule/disaggregated.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "core/check.h"
#include "plan/schedule/check_inputs.h"
#include "plan/schedule/clients.h"
#include "plan/schedule/engine_instance.h"
#include "plan/schedule/next_times.h"

namespace assay::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// What the instances of prompts see: each request ends with its first token.
Workload only_first_tokens(Workload workload) {
  for (Request& request : workload.requests)
    request.output_tokens = 1;
  return workload;
}

// The requests of one copy, and their numbers among all.
struct WorkloadPart {
  Workload workload = {};
  std::vector<std::size_t> requests = {};
};

WorkloadPart part_of(const Workload& workload, std::size_t copy, std::size_t copies) {
  WorkloadPart part{.workload = {.pieces = workload.pieces, .piece_tokens = workload.piece_tokens}};
  std::vector<std::size_t> places(workload.requests.size(), Turn::kNone);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    if (workload.client_of(i) % copies != copy) continue;
    places[i] = part.requests.size();
    part.requests.push_back(i);
    part.workload.requests.push_back(workload.requests[i]);
  }
  if (workload.turns.empty()) return part;
  for (const std::size_t request : part.requests) {
    Turn turn = workload.turns[request];
    turn.client /= copies;
    if (turn.next != Turn::kNone) turn.next = places[turn.next];
    part.workload.turns.push_back(turn);
  }
  return part;
}

// Requests in flight at the beginning, some of which decode: what they have behind them is in the
// cache as if it were their prompt.
struct UnderWayRequests {
  Workload workload;
  std::vector<bool> decodes = {};  // by request; the others are all to be sent
};

// Multiples of the golden ratio spread evenly, and so do those of every instance that gets each
// n-th request.
UnderWayRequests under_way_requests(const Workload& workload, double waiting) {
  UnderWayRequests made{.workload = workload,
                        .decodes = std::vector<bool>(workload.requests.size(), false)};
  for (std::size_t i = 0; i < static_cast<std::size_t>(workload.concurrency); ++i) {
    Request& request = made.workload.requests[i];
    const double multiple = (static_cast<double>(i) + 0.5) * std::numbers::phi;
    const double place = multiple - std::floor(multiple);
    if (place < waiting || request.output_tokens < 2) continue;
    const double share = (place - waiting) / (1 - waiting);
    const auto done =
        static_cast<std::int64_t>(share * static_cast<double>(request.output_tokens - 1));
    request.prompt_tokens += done;
    request.output_tokens -= done;
    made.decodes[i] = true;
  }
  return made;
}

// A latency, and when it was known.
struct Observed {
  double at_ms = 0;
  double ms = 0;  // NaN: an answer of one token has no time between tokens

  bool operator<(const Observed& other) const { return at_ms < other.at_ms; }
};

double mean_between(const std::vector<Observed>& observed, double begin_ms, double end_ms) {
  double sum = 0;
  std::int64_t count = 0;
  for (const Observed& one : observed) {
    if (one.at_ms <= begin_ms || one.at_ms > end_ms || std::isnan(one.ms)) continue;
    sum += one.ms;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

// Something that clients or other instances hear of.
struct Event {
  double at_ms = 0;
  std::size_t request = 0;

  bool operator>(const Event& other) const {
    return std::tie(at_ms, request) > std::tie(other.at_ms, other.request);
  }
};

// By time.
class Events {
 public:
  void add(std::size_t request, double at_ms) {
    const Event event{at_ms, request};
    events_.insert(std::upper_bound(events_.begin(), events_.end(), event, std::greater<>()),
                   event);
  }

  // When the one comes that has so many before it.
  [[nodiscard]] double next_ms(std::size_t before = 0) const {
    if (before >= events_.size()) return kNever;
    return events_[events_.size() - 1 - before].at_ms;
  }

  Event take() {
    const Event event = events_.back();
    events_.pop_back();
    return event;
  }

 private:
  std::vector<Event> events_;  // the next one last
};

// How long it takes at least from the moment when an instance of prompts goes on, and when a
// request leaves, until a cache arrives. A batch is supposed to take no less than its smallest
// prompt alone, and a prompt in pieces no less than as a whole.
struct LeastDelays {
  double any_step_ms = 0;
  double whole_prompt_ms = 0;
};

LeastDelays least_delays(const Pool& prefill,
                         const CacheTransfer& transfer,
                         const Workload& workload) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t computed = shortest;
  std::int64_t longest = 0;
  for (const Request& request : workload.requests) {
    shortest = std::min(shortest, request.prompt_tokens);
    longest = std::max(longest, request.prompt_tokens);
    computed = std::min(computed, request.pieces > 0 ? 1 : request.prompt_tokens);
  }
  const auto alone_ms = [&](std::int64_t tokens) {
    const std::array<Chunks, 1> chunk = {Chunks{.requests = 1, .new_tokens = tokens}};
    return prefill.cost->ms({.chunks = chunk, .finished_prompts = 1});
  };
  const Limits& limits = prefill.limits;
  const bool are_whole =
      limits.prompts == Limits::Prompts::kWhole || longest <= limits.max_tokens / limits.max_batch;
  const double sent_ms = transfer.latency_ms + transfer.bytes_per_token *
                                                   static_cast<double>(shortest) /
                                                   (transfer.gbps * 1e6);
  return {alone_ms(are_whole ? computed : 1) + sent_ms, alone_ms(computed) + sent_ms};
}

struct RunPools {
  const Policy& policy;
  const Pool& prefill;
  const Pool& decode;
  const CacheTransfer& transfer;
};

// What the instances of both pools did, of all copies.
struct PoolsWork {
  WorkDone prompts = {};
  WorkDone tokens = {};
  double prefill_ms = 0;  // time that instances of the pool had
  double decode_ms = 0;
  double transfer_sum_ms = 0;
  std::size_t sent = 0;  // caches

  void add(const PoolsWork& other) {
    prompts.add(other.prompts);
    tokens.add(other.tokens);
    prefill_ms += other.prefill_ms;
    decode_ms += other.decode_ms;
    transfer_sum_ms += other.transfer_sum_ms;
    sent += other.sent;
  }

  // `groups` is the number of caches that mean_kv_tokens is a mean of.
  [[nodiscard]] DisaggregatedMetrics metrics(MetricsRecorder& recorder,
                                             const ServiceLevel& level,
                                             std::int64_t groups) const {
    DisaggregatedMetrics made;
    recorder.write(level, made.serving);
    if (tokens.steps > 0) tokens.write(groups, made.serving);
    made.serving.prompt_tokens_computed += prompts.prompt_tokens_computed;
    made.serving.preemptions += prompts.preemptions;
    made.prefill_busy_share = prompts.computing_ms / prefill_ms;
    made.decode_busy_share = tokens.computing_ms / decode_ms;
    made.mean_prefill_batch = prompts.batch_sum / static_cast<double>(prompts.steps);
    if (sent > 0) made.mean_transfer_ms = transfer_sum_ms / static_cast<double>(sent);
    return made;
  }
};

// Says which tokens a simulation tells its recorder. Those between the first and the last take
// memory and a third of the time.
enum class Heard : std::uint8_t { kAllTokens, kFirstTokens };

class DisaggregatedSimulation {
 public:
  DisaggregatedSimulation(const RunPools& pools,
                          const Workload& workload,
                          const SimulationOptions& options,
                          std::vector<bool> decodes,
                          Heard heard = Heard::kAllTokens)
      : workload_(workload),
        decodes_(std::move(decodes)),
        prompts_(only_first_tokens(workload)),
        transfer_(pools.transfer),
        recorder_(workload, options.warm_up_requests),
        clients_(workload, pools.prefill.limits),
        prefill_times_(static_cast<std::size_t>(pools.prefill.instances)),
        decode_times_(static_cast<std::size_t>(pools.decode.instances)),
        delays_(least_delays(pools.prefill, pools.transfer, prompts_)),
        link_free_ms_(static_cast<std::size_t>(pools.prefill.instances), 0),
        times_(workload.requests.size()) {
    for (std::int64_t i = 0; i < pools.prefill.instances; ++i)
      prefill_.emplace_back(*pools.prefill.cost, pools.policy, pools.prefill.limits, prompts_,
                            options.stepping, nullptr);
    const bool hears_all = decodes_.empty() && heard == Heard::kAllTokens;
    for (std::int64_t i = 0; i < pools.decode.instances; ++i)
      decode_.emplace_back(*pools.decode.cost, pools.policy, pools.decode.limits, workload,
                           options.stepping, hears_all ? &recorder_ : nullptr);
  }

  void log_to(StepLog* of_prompts, StepLog* of_decode) {
    for (EngineInstance& worker : prefill_)
      worker.log_to(of_prompts);
    for (EngineInstance& worker : decode_)
      worker.log_to(of_decode);
  }

  core::Status run() { return run_until(workload_.requests.size()); }

  // Until every request has its first token.
  core::Status run_to_first_tokens() {
    send_requests();
    while (begun_ < workload_.requests.size())
      ASSAY_TRY(go_on());
    return {};
  }

  [[nodiscard]] MetricsRecorder& recorder() { return recorder_; }

  [[nodiscard]] PoolsWork work() const {
    PoolsWork work{.transfer_sum_ms = transfer_sum_ms_, .sent = sent_};
    double end_ms = 0;
    for (const auto* pool : {&prefill_, &decode_})
      for (const EngineInstance& worker : *pool)
        end_ms = std::max(end_ms, worker.now_ms());
    for (const EngineInstance& worker : prefill_)
      work.prompts.add(worker.work_done());
    for (const EngineInstance& worker : decode_)
      work.tokens.add(worker.work_done());
    work.prefill_ms = end_ms * static_cast<double>(prefill_.size());
    work.decode_ms = end_ms * static_cast<double>(decode_.size());
    return work;
  }

  core::Result<LongRunMetrics> run_long(const LongRun& span) {
    const auto settling = static_cast<std::size_t>(span.settling);
    const auto all = static_cast<std::size_t>(span.settling + span.measured);
    const double end_ms = ASSAY_TRY(run_until_known(all));
    std::sort(answers_.begin(), answers_.end());
    const double begin_ms = settling == 0 ? 0 : answers_[settling - 1].at_ms;
    LongRunMetrics metrics{
        .ttft_ms = mean_between(first_tokens_, begin_ms, end_ms),
        .tpot_ms = mean_between(answers_, begin_ms, end_ms),
        .requests_per_s = 1000 * static_cast<double>(span.measured) / (end_ms - begin_ms)};
    if (sent_ > 0) metrics.mean_transfer_ms = transfer_sum_ms_ / static_cast<double>(sent_);
    return metrics;
  }

 private:
  // When the next thing happens.
  [[nodiscard]] double next_ms() const {
    return std::min({ends_.next_ms(), caches_.next_ms(), prefill_times_.earliest_ms(),
                     decode_times_.earliest_ms()});
  }

  core::Status go_on() {
    const double prefill_ms = prefill_times_.earliest_ms();
    const double decode_ms = decode_times_.earliest_ms();
    const double instance_ms = std::min(prefill_ms, decode_ms);
    // What happens before any instance goes on is told first.
    if (ends_.next_ms() <= std::min(instance_ms, caches_.next_ms())) {
      tell_client();
    } else if (caches_.next_ms() <= instance_ms) {
      deliver_cache();
    } else if (prefill_ms <= decode_ms) {
      ASSAY_TRY(compute_prompts(prefill_times_.earliest()));
    } else {
      ASSAY_TRY(decode_tokens(decode_times_.earliest()));
    }
    return {};
  }

  core::Status run_until(std::size_t ended) {
    send_requests();
    while (ended_ < ended)
      ASSAY_TRY(go_on());
    return {};
  }

  // When so many requests have ended. Instances may be ahead of others, whose requests end earlier
  // but are known later.
  core::Result<double> run_until_known(std::size_t ended) {
    ASSAY_TRY(run_until(ended));
    const auto end_of_last = [&] {
      const auto last = answers_.begin() + static_cast<std::ptrdiff_t>(ended) - 1;
      std::nth_element(answers_.begin(), last, answers_.end());
      return last->at_ms;
    };
    double end_ms = end_of_last();
    for (std::size_t known = ended_; next_ms() < end_ms;) {
      ASSAY_TRY(go_on());
      if (ended_ == known) continue;
      known = ended_;
      end_ms = end_of_last();
    }
    return end_ms;
  }

  void send_requests() {
    while (const std::optional<Sent> sent = clients_.next()) {
      arrived(sent->request, sent->sent_ms);
      if (is_under_way(sent->request)) {
        begin_decoding(sent->request, sent->at_ms);
        continue;
      }
      const std::size_t client = workload_.client_of(sent->request);
      const std::size_t instance = client % prefill_.size();
      prefill_[instance].send(sent->request, sent->at_ms);
      prefill_times_.set(instance, prefill_[instance].next_ms());
    }
  }

  core::Status compute_prompts(std::size_t instance) {
    EngineInstance& worker = prefill_[instance];
    ASSAY_TRY(worker.advance());
    prefill_times_.set(instance, worker.next_ms());
    for (const auto& [request, found_tokens] : worker.ended()) {
      recorder_.found(request, found_tokens);
      if (workload_.requests[request].output_tokens == 1) {
        first_token(request, worker.now_ms());
        end(request, worker.now_ms());
      } else {
        send_cache(instance, request, worker.now_ms());
      }
    }
    return {};
  }

  void send_cache(std::size_t instance, std::size_t request, double at_ms) {
    const double bytes =
        transfer_.bytes_per_token * static_cast<double>(workload_.requests[request].prompt_tokens);
    double& free_ms = link_free_ms_[instance];
    free_ms = std::max(free_ms, at_ms) + bytes / (transfer_.gbps * 1e6);
    const double arrival_ms = free_ms + transfer_.latency_ms;
    transfer_sum_ms_ += arrival_ms - at_ms;
    ++sent_;
    caches_.add(request, arrival_ms);
  }

  void tell_client() {
    const Event end = ends_.take();
    clients_.ended(end.request, end.at_ms);
    send_requests();
  }

  void deliver_cache() {
    const Event cache = caches_.take();
    begin_decoding(cache.request, cache.at_ms);
  }

  // No cache comes to this instance before that: of those on their way, which go to the instances
  // in turn, of prompts that run, and of requests that leave when others end.
  [[nodiscard]] double undisturbed_until(std::size_t instance) const {
    const std::size_t turn = delivered_ % decode_.size();
    const std::size_t before = (instance + decode_.size() - turn) % decode_.size();
    const double until =
        std::min({caches_.next_ms(before), ends_.next_ms() + delays_.whole_prompt_ms,
                  prefill_times_.earliest_ms() + delays_.any_step_ms});
    if (workload_.concurrency == 0 && workload_.turns.empty()) return until;
    return std::min(until, decode_times_.earliest_ms_but(instance) + delays_.whole_prompt_ms);
  }

  core::Status decode_tokens(std::size_t instance) {
    EngineInstance& worker = decode_[instance];
    ASSAY_TRY(worker.advance(undisturbed_until(instance)));
    decode_times_.set(instance, worker.next_ms());
    for (const EndedRequest& one : worker.ended())
      end(one.request, worker.now_ms());
    return {};
  }

  [[nodiscard]] bool is_under_way(std::size_t request) const {
    return request < decodes_.size() && decodes_[request];
  }

  void arrived(std::size_t request, double at_ms) {
    recorder_.arrived(request, at_ms);
    times_[request].arrival_ms = at_ms;
  }

  void first_token(std::size_t request, double at_ms) {
    recorder_.first_token(request, at_ms);
    ++begun_;
    times_[request].first_token_ms = at_ms;
    if (!is_under_way(request))
      first_tokens_.push_back({at_ms, at_ms - times_[request].arrival_ms});
  }

  void begin_decoding(std::size_t request, double at_ms) {
    first_token(request, at_ms);
    const std::size_t instance = delivered_++ % decode_.size();
    decode_[instance].send(request, at_ms, EngineInstance::Prompt::kCached);
    decode_times_.set(instance, decode_[instance].next_ms());
  }

  void end(std::size_t request, double at_ms) {
    recorder_.ended(request, at_ms);
    const std::int64_t further = workload_.requests[request].output_tokens - 1;
    const double decoded_ms = at_ms - times_[request].first_token_ms;
    answers_.push_back({at_ms, further > 0 ? decoded_ms / static_cast<double>(further)
                                           : std::numeric_limits<double>::quiet_NaN()});
    ++ended_;
    ends_.add(request, at_ms);
  }

  struct Times {
    double arrival_ms = 0;
    double first_token_ms = 0;
  };

  const Workload& workload_;
  std::vector<bool> decodes_;  // from the beginning, by request
  Workload prompts_;
  const CacheTransfer& transfer_;
  MetricsRecorder recorder_;
  Clients clients_;
  std::vector<EngineInstance> prefill_;
  std::vector<EngineInstance> decode_;
  NextTimes prefill_times_;
  NextTimes decode_times_;
  LeastDelays delays_;
  std::vector<double> link_free_ms_;  // of each instance of prompts
  Events ends_;                       // of requests
  Events caches_;                     // that arrive
  std::vector<Times> times_;
  std::vector<Observed> first_tokens_;
  std::vector<Observed> answers_;  // at their ends
  std::size_t sent_ = 0;           // caches
  std::size_t delivered_ = 0;
  std::size_t begun_ = 0;  // requests that have their first token
  std::size_t ended_ = 0;
  double transfer_sum_ms_ = 0;
};

core::Status check_pool(const Pool& pool, const Workload& workload, const char* name) {
  if (pool.instances < 1)
    return core::Error{fmt::format("{} instances of {}: there must be one", pool.instances, name)};
  if (core::Status fits = check_inputs(pool.limits, workload); !fits.ok())
    return fits.error().context(name);
  return {};
}

core::Status check_transfer(const CacheTransfer& transfer) {
  if (!(transfer.gbps > 0) || !(transfer.bytes_per_token >= 0) || !(transfer.latency_ms >= 0))
    return core::Error{
        fmt::format("a transfer of {} bytes a token at {} GB/s with {} ms: say a rate above 0",
                    transfer.bytes_per_token, transfer.gbps, transfer.latency_ms)};
  return {};
}

core::Status check_deployment_inputs(const Pool& prefill,
                                     const Pool& decode,
                                     const CacheTransfer& transfer,
                                     const Workload& workload) {
  ASSAY_TRY(check_workload(workload));
  ASSAY_TRY(check_pool(prefill, only_first_tokens(workload), "prefill"));
  ASSAY_TRY(check_pool(decode, workload, "decode"));
  return check_transfer(transfer);
}

}  // namespace

core::Result<DisaggregatedMetrics> simulate_disaggregated(const Policy& policy,
                                                          const Pool& prefill,
                                                          const Pool& decode,
                                                          const CacheTransfer& transfer,
                                                          const Workload& workload,
                                                          const SimulationOptions& options) {
  ASSAY_TRY(check_deployment_inputs(prefill, decode, transfer, workload));
  ASSAY_TRY(check_warm_up(options.warm_up_requests, workload));
  DisaggregatedSimulation simulation({policy, prefill, decode, transfer}, workload, options, {});
  ASSAY_TRY(simulation.run());
  return simulation.work().metrics(simulation.recorder(), options.level, decode.limits.groups);
}

core::Result<double> simulate_disaggregated_ttft_ms(const Policy& policy,
                                                    const Pool& prefill,
                                                    const Pool& decode,
                                                    const CacheTransfer& transfer,
                                                    const Workload& workload) {
  ASSAY_TRY(check_deployment_inputs(prefill, decode, transfer, workload));
  DisaggregatedSimulation simulation({policy, prefill, decode, transfer}, workload, {}, {},
                                     Heard::kFirstTokens);
  ASSAY_TRY(simulation.run_to_first_tokens());
  return simulation.recorder().mean_ttft_ms();
}

core::Result<DisaggregatedMetrics> simulate_disaggregated_copies(const Policy& policy,
                                                                 const Pool& prefill,
                                                                 const Pool& decode,
                                                                 const CacheTransfer& transfer,
                                                                 const Workload& workload,
                                                                 const SharedCopies& shared) {
  ASSAY_TRY(check_deployment_inputs(prefill, decode, transfer, workload));
  if (workload.concurrency > 0)
    return core::Error{"requests of a closed loop have no times by which copies could share them"};
  MetricsRecorder recorder(workload, 0);
  PoolsWork work;
  for (std::int64_t copy = 0; copy < shared.copies; ++copy) {
    const WorkloadPart part =
        part_of(workload, static_cast<std::size_t>(copy), static_cast<std::size_t>(shared.copies));
    if (part.requests.empty()) continue;
    const SimulationOptions options;
    DisaggregatedSimulation simulation({policy, prefill, decode, transfer}, part.workload, options,
                                       {});
    simulation.log_to(shared.prompt_steps, shared.decode_steps);
    ASSAY_TRY(simulation.run());
    recorder.add(simulation.recorder(), part.requests);
    work.add(simulation.work());
  }
  return work.metrics(recorder, shared.level, decode.limits.groups * shared.copies);
}

core::Result<LongRunMetrics> simulate_long_run(const Policy& policy,
                                               const Pool& prefill,
                                               const Pool& decode,
                                               const CacheTransfer& transfer,
                                               const Workload& workload,
                                               const LongRun& run) {
  ASSAY_CHECK(workload.concurrency > 0 && run.waiting >= 0 && run.waiting < 1 && run.measured > 0,
              "a closed loop, of which some requests decode");
  ASSAY_CHECK(static_cast<std::int64_t>(workload.requests.size()) >=
                  workload.concurrency + run.settling + run.measured,
              "the load must not end inside of what is measured");
  ASSAY_TRY(check_deployment_inputs(prefill, decode, transfer, workload));
  const UnderWayRequests under_way = under_way_requests(workload, run.waiting);
  LongRunMetrics metrics =
      ASSAY_TRY(DisaggregatedSimulation({policy, prefill, decode, transfer}, under_way.workload, {},
                                        under_way.decodes)
                    .run_long(run));
  double tokens = 0;
  for (const Request& request : workload.requests)
    tokens += static_cast<double>(request.output_tokens);
  metrics.output_tokens_per_s =
      metrics.requests_per_s * tokens / static_cast<double>(workload.requests.size());
  return metrics;
}

}  // namespace assay::plan
