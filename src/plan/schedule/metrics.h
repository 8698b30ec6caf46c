// What clients and operators see of a simulated deployment.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "plan/schedule/workload.h"

namespace assay::plan {

// Percentiles interpolate linearly between the two nearest values, as serving benchmarks' do. NaN
// where nothing was measured.
struct Spread {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double p50 = std::numeric_limits<double>::quiet_NaN();
  double p90 = std::numeric_limits<double>::quiet_NaN();
  double p99 = std::numeric_limits<double>::quiet_NaN();
};

// What a request must keep to be counted as good; a limit that is not set always holds.
struct ServiceLevel {
  std::optional<double> ttft_ms = std::nullopt;
  std::optional<double> tpot_ms = std::nullopt;
  std::optional<double> latency_ms = std::nullopt;
};

// What the turns of conversations with one number have.
struct TurnMetrics {
  std::int64_t number = 1;
  bool and_later = false;  // those with larger numbers, too
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t found_tokens = 0;  // of these, in prefix caches when the request first ran
  Spread ttft_ms = {};
};

struct ServingMetrics {
  // Of the requests that are measured. TPOT is (end - first token) / (output - 1), of requests with
  // two tokens and more; the time between tokens has one value for each token but the first.
  Spread ttft_ms;
  Spread tpot_ms;
  Spread between_tokens_ms;
  Spread latency_ms;
  std::int64_t measured_requests = 0;

  // Rates from the arrival of the first measured request to the end of the last request. Tokens
  // are those that came out in that time, and prompts those whose first token did.
  double duration_ms = 0;
  double output_tokens_per_s = 0;
  double total_tokens_per_s = 0;
  double requests_per_s = 0;
  double good_share = 0;  // of the measured requests
  double goodput_per_s = 0;

  // Of the whole run. With several groups a step counts once, and its requests are those of all.
  std::int64_t steps = 0;
  double mean_batch = 0;
  std::int64_t preemptions = 0;
  double peak_kv_tokens = 0;  // of the fullest group, in whole blocks
  double mean_kv_tokens = 0;  // of a group, over time
  // Shares of the time in which steps ran: steps with prompts and decoding, and with prompts only.
  double mixed_time_share = 0;
  double prompt_time_share = 0;
  double eager_time_share = 0;              // steps that no CUDA graph held
  std::int64_t prompt_tokens_computed = 0;  // those found in the cache are not

  std::vector<TurnMetrics> turns;  // of conversations, by number; none where there are none
};

// Collects the tokens of a run.
class MetricsRecorder {
 public:
  // The first `warm_up` requests are not measured.
  MetricsRecorder(const Workload& workload, std::int64_t warm_up);

  void arrived(std::size_t request, double at_ms);
  void first_token(std::size_t request, double at_ms);
  void ended(std::size_t request, double at_ms);
  // So many tokens of its prompt were in the prefix cache.
  void found(std::size_t request, std::int64_t tokens);
  // So many tokens came out, each so long behind the one before it in its request.
  void between_tokens(double gap_ms, std::int64_t tokens);
  // So many tokens came out of requests that are not measured.
  void unmeasured_tokens(std::int64_t tokens, double at_ms);

  [[nodiscard]] bool measures(std::size_t request) const {
    return static_cast<std::int64_t>(request) >= warm_up_;
  }

  // What another one, without a warm-up, heard of a part of the requests, which are these.
  void add(const MetricsRecorder& part, const std::vector<std::size_t>& requests);

  // Returns the mean over the requests that are measured, which all have their first token.
  [[nodiscard]] double mean_ttft_ms() const;

  // Fills the fields that are about requests.
  void write(const ServiceLevel& level, ServingMetrics& metrics);

 private:
  struct Times {
    double arrival = 0;
    double first_token = 0;
    double end = 0;
    std::int64_t found_tokens = 0;
  };

  struct Gap {
    double ms = 0;
    std::int64_t tokens = 0;
  };

  void write_turns(ServingMetrics& metrics) const;
  void count_good(const ServiceLevel& level, ServingMetrics& metrics) const;

  const Workload* workload_;
  std::int64_t warm_up_;
  std::vector<Times> times_;
  std::vector<Gap> gaps_;
  double window_begin_ = std::numeric_limits<double>::infinity();
  double last_end_ = 0;
  std::int64_t output_tokens_ = 0;  // in the window
  std::int64_t prompt_tokens_ = 0;
};

}  // namespace assay::plan
