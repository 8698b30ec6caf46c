#include "plan/schedule/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay::plan {
namespace {

// Turns that are told apart.
constexpr std::int64_t kTurnsApart = 16;

double sorted_quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {.mean = std::accumulate(values.begin(), values.end(), 0.0) /
                  static_cast<double>(values.size()),
          .p50 = sorted_quantile(values, 0.5),
          .p90 = sorted_quantile(values, 0.9),
          .p99 = sorted_quantile(values, 0.99)};
}

// The value at a place among values that count several times, and `counts_to` the places up to
// which each one reaches.
template <class Values>
double weighted_quantile(const Values& sorted,
                         const std::vector<std::int64_t>& reach,
                         double part) {
  const double place = part * static_cast<double>(reach.back() - 1);
  const auto value_at = [&](double index) {
    const auto whole = static_cast<std::int64_t>(index);
    const auto found = std::upper_bound(reach.begin(), reach.end(), whole);
    return sorted[static_cast<std::size_t>(found - reach.begin())].ms;
  };
  return std::lerp(value_at(std::floor(place)), value_at(std::ceil(place)),
                   place - std::floor(place));
}

}  // namespace

MetricsRecorder::MetricsRecorder(const Workload& workload, std::int64_t warm_up)
    : workload_(&workload), warm_up_(warm_up), times_(workload.requests.size()) {}

void MetricsRecorder::arrived(std::size_t request, double at_ms) {
  times_[request].arrival = at_ms;
  if (measures(request)) window_begin_ = std::min(window_begin_, at_ms);
}

void MetricsRecorder::first_token(std::size_t request, double at_ms) {
  times_[request].first_token = at_ms;
  if (at_ms < window_begin_) return;
  ++output_tokens_;
  prompt_tokens_ += workload_->requests[request].prompt_tokens;
}

void MetricsRecorder::ended(std::size_t request, double at_ms) {
  times_[request].end = at_ms;
  last_end_ = std::max(last_end_, at_ms);
}

void MetricsRecorder::found(std::size_t request, std::int64_t tokens) {
  times_[request].found_tokens = tokens;
}

void MetricsRecorder::add(const MetricsRecorder& part, const std::vector<std::size_t>& requests) {
  for (std::size_t i = 0; i < requests.size(); ++i)
    times_[requests[i]] = part.times_[i];
  gaps_.insert(gaps_.end(), part.gaps_.begin(), part.gaps_.end());
  window_begin_ = std::min(window_begin_, part.window_begin_);
  last_end_ = std::max(last_end_, part.last_end_);
  output_tokens_ += part.output_tokens_;
  prompt_tokens_ += part.prompt_tokens_;
}

void MetricsRecorder::between_tokens(double gap_ms, std::int64_t tokens) {
  if (tokens == 0) return;
  output_tokens_ += tokens;
  if (!gaps_.empty() && gaps_.back().ms == gap_ms)
    gaps_.back().tokens += tokens;
  else
    gaps_.push_back({gap_ms, tokens});
}

void MetricsRecorder::unmeasured_tokens(std::int64_t tokens, double at_ms) {
  if (at_ms > window_begin_) output_tokens_ += tokens;
}

void MetricsRecorder::count_good(const ServiceLevel& level, ServingMetrics& metrics) const {
  std::int64_t good = 0;
  for (std::size_t i = static_cast<std::size_t>(warm_up_); i < times_.size(); ++i) {
    const Times& times = times_[i];
    const auto further = static_cast<double>(workload_->requests[i].output_tokens - 1);
    const auto within = [](double ms, const std::optional<double>& most, double times_most = 1) {
      return !most || ms <= times_most * *most;
    };
    if (within(times.first_token - times.arrival, level.ttft_ms) &&
        within(times.end - times.first_token, level.tpot_ms, further) &&
        within(times.end - times.arrival, level.latency_ms))
      ++good;
  }
  metrics.good_share = static_cast<double>(good) / static_cast<double>(metrics.measured_requests);
  metrics.goodput_per_s = metrics.good_share * metrics.requests_per_s;
}

void MetricsRecorder::write_turns(ServingMetrics& metrics) const {
  if (workload_->turns.empty()) return;
  std::vector<std::vector<double>> ttft;
  for (std::size_t i = static_cast<std::size_t>(warm_up_); i < times_.size(); ++i) {
    const std::int64_t number = std::min(workload_->turns[i].number, kTurnsApart);
    const auto place = static_cast<std::size_t>(number - 1);
    while (metrics.turns.size() <= place)
      metrics.turns.push_back({.number = static_cast<std::int64_t>(metrics.turns.size()) + 1});
    ttft.resize(metrics.turns.size());
    TurnMetrics& turn = metrics.turns[place];
    turn.and_later = turn.and_later || workload_->turns[i].number > kTurnsApart;
    ++turn.requests;
    turn.prompt_tokens += workload_->requests[i].prompt_tokens;
    turn.found_tokens += times_[i].found_tokens;
    ttft[place].push_back(times_[i].first_token - times_[i].arrival);
  }
  for (std::size_t place = 0; place < metrics.turns.size(); ++place)
    metrics.turns[place].ttft_ms = spread_of(std::move(ttft[place]));
}

double MetricsRecorder::mean_ttft_ms() const {
  std::vector<double> ttft;
  for (std::size_t i = static_cast<std::size_t>(warm_up_); i < times_.size(); ++i)
    ttft.push_back(times_[i].first_token - times_[i].arrival);
  return spread_of(std::move(ttft)).mean;
}

void MetricsRecorder::write(const ServiceLevel& level, ServingMetrics& metrics) {
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> latency;
  for (std::size_t i = static_cast<std::size_t>(warm_up_); i < times_.size(); ++i) {
    const Times& times = times_[i];
    const std::int64_t output = workload_->requests[i].output_tokens;
    ttft.push_back(times.first_token - times.arrival);
    latency.push_back(times.end - times.arrival);
    if (output > 1)
      tpot.push_back((times.end - times.first_token) / static_cast<double>(output - 1));
  }
  metrics.measured_requests = static_cast<std::int64_t>(ttft.size());
  metrics.ttft_ms = spread_of(std::move(ttft));
  metrics.tpot_ms = spread_of(std::move(tpot));
  metrics.latency_ms = spread_of(std::move(latency));
  if (!gaps_.empty()) {
    std::sort(gaps_.begin(), gaps_.end(), [](const Gap& a, const Gap& b) { return a.ms < b.ms; });
    std::vector<std::int64_t> reach;
    reach.reserve(gaps_.size());
    double sum = 0;
    for (const Gap& gap : gaps_) {
      reach.push_back((reach.empty() ? 0 : reach.back()) + gap.tokens);
      sum += gap.ms * static_cast<double>(gap.tokens);
    }
    metrics.between_tokens_ms = {.mean = sum / static_cast<double>(reach.back()),
                                 .p50 = weighted_quantile(gaps_, reach, 0.5),
                                 .p90 = weighted_quantile(gaps_, reach, 0.9),
                                 .p99 = weighted_quantile(gaps_, reach, 0.99)};
  }
  metrics.duration_ms = last_end_ - window_begin_;
  const double seconds = metrics.duration_ms / 1000;
  metrics.output_tokens_per_s = static_cast<double>(output_tokens_) / seconds;
  metrics.total_tokens_per_s = static_cast<double>(output_tokens_ + prompt_tokens_) / seconds;
  metrics.requests_per_s = static_cast<double>(metrics.measured_requests) / seconds;
  count_good(level, metrics);
  write_turns(metrics);
}

}  // namespace assay::plan
