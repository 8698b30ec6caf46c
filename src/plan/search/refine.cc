#include "plan/search/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace assay::plan {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// Batches that are simulated first grow by this factor.
constexpr double kCoarseGrowth = 4;

// A frontier that misses nothing by more than this in speed and throughput is fine enough.
constexpr double kFrontierStep = 0.1;

// What the simulation makes of the closed form, in logarithms, and the margins that limits need,
// which also change slowly.
struct Factors {
  double ttft = 0;
  double tpot = 0;
  double rate = 0;
  LatencyMargins margins = {};

  static Factors of(const Candidate& priced, const Candidate& simulated) {
    return {.ttft = std::log(simulated.ttft_ms / priced.ttft_ms),
            .tpot = std::log(simulated.tpot_ms / priced.tpot_ms),
            .rate = std::log(simulated.requests_per_s / priced.requests_per_s),
            .margins = simulated.margins};
  }

  static Factors between(const Factors& low, const Factors& high, double share) {
    return {.ttft = std::lerp(low.ttft, high.ttft, share),
            .tpot = std::lerp(low.tpot, high.tpot, share),
            .rate = std::lerp(low.rate, high.rate, share),
            .margins = {.ttft = std::lerp(low.margins.ttft, high.margins.ttft, share),
                        .tpot = std::lerp(low.margins.tpot, high.margins.tpot, share)}};
  }

  [[nodiscard]] Candidate applied_to(Candidate priced) const {
    priced.ttft_ms *= std::exp(ttft);
    priced.tpot_ms *= std::exp(tpot);
    priced.tokens_per_s_per_user *= std::exp(-tpot);
    const double more = std::exp(rate);
    priced.requests_per_s *= more;
    priced.tokens_per_s_per_gpu *= more;
    priced.cluster_tokens_per_s_per_gpu *= more;
    priced.margins = margins;
    return priced;
  }
};

// One worker's batches.
class Curve {
 public:
  struct Point {
    Candidate priced;
    Candidate expected;  // simulated, or what is expected of that
    double error = kClosedFormError;
    bool is_simulated = false;
    bool is_refused = false;

    [[nodiscard]] bool is_open() const { return !is_simulated && !is_refused; }
  };

  explicit Curve(std::span<const Candidate> priced) {
    for (const Candidate& candidate : priced)
      points_.push_back({.priced = candidate, .expected = candidate});
  }

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

  void simulate_at(std::size_t at, const Simulate& simulate) {
    Point& point = points_[at];
    if (!point.is_open()) return;
    std::optional<Candidate> found = simulate(point.priced);
    point.is_refused = !found;
    if (!found) return;
    point.is_simulated = true;
    point.expected = *found;
    point.error = 0;
    expect();
  }

  // The throughput of the best that was simulated and keeps the limits.
  [[nodiscard]] double best(const SearchRequest& request) const {
    double most = kNothing;
    for (const Point& point : points_) {
      if (point.is_simulated && point.expected.meets(request))
        most = std::max(most, point.expected.cluster_tokens_per_s_per_gpu);
    }
    return most;
  }

 private:
  void expect() {
    std::optional<std::size_t> low;
    for (std::size_t at = 0; at < points_.size(); ++at) {
      if (points_[at].is_simulated) low = at;
      if (points_[at].is_open()) expect_at(at, low, next_simulated(at));
    }
  }

  [[nodiscard]] std::optional<std::size_t> next_simulated(std::size_t at) const {
    while (at < points_.size() && !points_[at].is_simulated)
      ++at;
    return at < points_.size() ? std::optional(at) : std::nullopt;
  }

  void expect_at(std::size_t at, std::optional<std::size_t> low, std::optional<std::size_t> high) {
    Point& point = points_[at];
    if (!low && !high) return;
    if (low && high) {
      const double share = place(at, *low) / place(*high, *low);
      point.expected =
          Factors::between(factors(*low), factors(*high), share).applied_to(point.priced);
      point.error = std::clamp(kBetweenError * place(*high, *low) / std::log(kCoarseGrowth),
                               kBetweenError, kBesideError);
    } else {
      point.expected = factors(low ? *low : *high).applied_to(point.priced);
      point.error = kBesideError;
    }
  }

  [[nodiscard]] double place(std::size_t at, std::size_t from) const {
    return std::log(static_cast<double>(points_[at].priced.concurrency) /
                    static_cast<double>(points_[from].priced.concurrency));
  }

  [[nodiscard]] Factors factors(std::size_t at) const {
    return Factors::of(points_[at].priced, points_[at].expected);
  }

  std::vector<Point> points_;
};

class Refinement {
 public:
  Refinement(const std::vector<Candidate>& priced,
             const SearchRequest& request,
             const Simulate& simulate)
      : request_(request), simulate_(simulate) {
    for (std::size_t begin = 0, end = 0; begin < priced.size(); begin = end) {
      while (end < priced.size() && priced[end].place == priced[begin].place)
        ++end;
      curves_.emplace_back(std::span(priced).subspan(begin, end - begin));
    }
    near_ = frontier(priced);
  }

  std::vector<Candidate> run() {
    if (request_.simulates_all) {
      simulate_everything();
    } else {
      simulate_coarsely();
      while (simulate_what_may_be_picked()) {
      }
      while (simulate_what_comes_closest()) {
      }
      while (simulate_for_the_frontier()) {
      }
    }
    std::vector<Candidate> simulated;
    for (const Curve& curve : curves_) {
      for (const Curve::Point& point : curve.points()) {
        if (point.is_simulated) simulated.push_back(point.expected);
      }
    }
    return simulated;
  }

 private:
  void simulate_everything() {
    for (Curve& curve : curves_) {
      for (std::size_t at = 0; at < curve.points().size(); ++at)
        curve.simulate_at(at, simulate_);
    }
  }

  // Whether another one is better in both by more than the closed form usually errs.
  [[nodiscard]] bool is_near(const Candidate& candidate) const {
    return std::none_of(near_.begin(), near_.end(), [&](const Candidate& other) {
      return other.tokens_per_s_per_user * (1 - kBesideError) >= candidate.tokens_per_s_per_user &&
             other.cluster_tokens_per_s_per_gpu * (1 - kBesideError) >=
                 candidate.cluster_tokens_per_s_per_gpu;
    });
  }

  void simulate_coarsely() {
    for (Curve& curve : curves_) {
      double next = 0;
      for (std::size_t at = 0; at < curve.points().size(); ++at) {
        const Candidate& priced = curve.points()[at].priced;
        const auto concurrency = static_cast<double>(priced.concurrency);
        const bool is_last = at + 1 == curve.points().size();
        const bool is_first = at == 0;  // what is far from all simulated batches is hard to expect
        if (!is_first && ((concurrency < next && !is_last) || !is_near(priced))) continue;
        curve.simulate_at(at, simulate_);
        next = concurrency * kCoarseGrowth;
      }
    }
  }

  // The throughput that a worker must exceed to be listed, were the search to end now.
  [[nodiscard]] double bar() const {
    std::vector<double> best;
    for (const Curve& curve : curves_) {
      if (const double most = curve.best(request_); most > kNothing) best.push_back(most);
    }
    if (best.size() < request_.top) return kNothing;
    std::sort(best.begin(), best.end(), std::greater<>());
    return best[request_.top - 1];
  }

  // Queues make the first token less certain than the others.
  [[nodiscard]] bool may_keep_limits(const Curve::Point& point) const {
    constexpr double kTtftError = 3;
    const double ttft_ms = point.expected.judged_ttft_ms() / (1 + kTtftError * point.error);
    const double tpot_ms = point.expected.judged_tpot_ms() / (1 + point.error);
    return tpot_ms <= request_.tpot_limit_ms && ttft_ms <= request_.ttft_limit_ms &&
           request_ms_of(ttft_ms, tpot_ms, request_.output_tokens) <= request_.request_limit_ms;
  }

  // Of the points that may keep the limits and be better than what their worker has, the one from
  // which most is expected, those first that are expected to keep them.
  [[nodiscard]] std::optional<std::size_t> promising(const Curve& curve, double bar) const {
    const double least = std::max(curve.best(request_), bar);
    std::optional<std::size_t> chosen;
    std::pair<bool, double> best_rank;
    for (std::size_t at = 0; at < curve.points().size(); ++at) {
      const Curve::Point& point = curve.points()[at];
      if (!point.is_open()) continue;
      const double over = point.expected.excess(request_);
      const double rate = point.expected.cluster_tokens_per_s_per_gpu;
      if (!may_keep_limits(point) || rate * (1 + point.error) <= least) continue;
      const std::pair<bool, double> rank{over <= 1, over <= 1 ? rate : -over};
      if (chosen && rank <= best_rank) continue;
      chosen = at;
      best_rank = rank;
    }
    return chosen;
  }

  bool simulate_what_may_be_picked() {
    bool any = false;
    for (Curve& curve : curves_) {
      const std::optional<std::size_t> at = promising(curve, bar());
      if (!at) continue;
      curve.simulate_at(*at, simulate_);
      any = true;
    }
    return any;
  }

  // Where nothing keeps the limits, the one that comes closest is told.
  bool simulate_what_comes_closest() {
    double least = std::numeric_limits<double>::infinity();
    for (const Curve& curve : curves_) {
      for (const Curve::Point& point : curve.points()) {
        if (point.is_simulated) least = std::min(least, point.expected.excess(request_));
      }
    }
    if (least <= 1) return false;
    Curve* chosen = nullptr;
    std::size_t chosen_at = 0;
    for (Curve& curve : curves_) {
      for (std::size_t at = 0; at < curve.points().size(); ++at) {
        const Curve::Point& point = curve.points()[at];
        const double over = point.expected.excess(request_) / (1 + point.error);
        if (!point.is_open() || over >= least) continue;
        least = over;
        chosen = &curve;
        chosen_at = at;
      }
    }
    if (chosen != nullptr) chosen->simulate_at(chosen_at, simulate_);
    return chosen != nullptr;
  }

  // One point that is expected to lie on the frontier, and to which no simulated one is near.
  bool simulate_for_the_frontier() {
    std::vector<Candidate> simulated;
    for (const Curve& curve : curves_) {
      for (const Curve::Point& point : curve.points()) {
        if (point.is_simulated) simulated.push_back(point.expected);
      }
    }
    const std::vector<Candidate> known = frontier(simulated);
    const auto is_covered = [&](const Candidate& candidate) {
      return std::any_of(known.begin(), known.end(), [&](const Candidate& other) {
        return other.tokens_per_s_per_user * (1 + kFrontierStep) >=
                   candidate.tokens_per_s_per_user &&
               other.cluster_tokens_per_s_per_gpu * (1 + kFrontierStep) >=
                   candidate.cluster_tokens_per_s_per_gpu;
      });
    };
    bool any = false;
    for (Curve& curve : curves_) {
      std::optional<std::size_t> chosen;
      double most = kNothing;
      for (std::size_t at = 0; at < curve.points().size(); ++at) {
        const Curve::Point& point = curve.points()[at];
        if (!point.is_open() || is_covered(point.expected)) continue;
        const double rate = point.expected.cluster_tokens_per_s_per_gpu;
        if (rate <= most) continue;
        most = rate;
        chosen = at;
      }
      if (!chosen) continue;
      curve.simulate_at(*chosen, simulate_);
      any = true;
    }
    return any;
  }

  const SearchRequest& request_;
  const Simulate& simulate_;
  std::vector<Curve> curves_;
  std::vector<Candidate> near_;
};

}  // namespace

std::vector<Candidate> refine(const std::vector<Candidate>& priced,
                              const SearchRequest& request,
                              const Simulate& simulate) {
  return Refinement(priced, request, simulate).run();
}

}  // namespace assay::plan
