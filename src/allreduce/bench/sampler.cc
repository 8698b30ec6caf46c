#include "allreduce/bench/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "core/statistics.h"

namespace assay::allreduce {
namespace {

constexpr double kReportedTail = 0.025;  // on each side, for a 95 % interval

// Verdicts on pairs are reached after every round, so they need more certainty: 99 %, which takes
// at least 8 pairs.
constexpr double kVerdictTail = 0.005;
constexpr std::size_t kFewestPairs = 8;

struct Arm {
  ArmSamples samples;
  std::vector<std::int64_t> rounds;  // the round of each sample, ascending
};

void summarize(ArmSamples& samples) {
  samples.median_us = core::median(samples.times_us);
  const core::Interval interval = core::median_interval(samples.times_us, kReportedTail);
  samples.low_us = interval.low;
  samples.high_us = interval.high;
}

// Returns arm / leader for the rounds that had both, so that whatever disturbs a whole round
// cancels out.
std::vector<double> paired_ratios(const Arm& arm, const Arm& leader) {
  std::vector<double> ratios;
  std::size_t j = 0;
  for (std::size_t i = 0; i < arm.rounds.size(); ++i) {
    while (j < leader.rounds.size() && leader.rounds[j] < arm.rounds[i])
      ++j;
    if (j == leader.rounds.size()) break;
    if (leader.rounds[j] != arm.rounds[i]) continue;
    ratios.push_back(arm.samples.times_us[i] / leader.samples.times_us[j]);
  }
  return ratios;
}

enum class Verdict { kSlower, kTied, kOpen };

Verdict compare(const Arm& arm, const Arm& leader, double tie) {
  if (arm.samples.low_us > leader.samples.high_us) return Verdict::kSlower;
  if (arm.samples.high_us <= leader.samples.low_us * (1 + tie)) return Verdict::kTied;
  std::vector<double> ratios = paired_ratios(arm, leader);
  if (ratios.size() < kFewestPairs) return Verdict::kOpen;
  const core::Interval ratio = core::median_interval(std::move(ratios), kVerdictTail);
  // Ties are checked first: a lead that is certain but small still counts as a tie.
  if (ratio.high <= 1 + tie && ratio.low >= 1 / (1 + tie)) return Verdict::kTied;
  return ratio.low > 1 ? Verdict::kSlower : Verdict::kOpen;
}

class Sampler {
 public:
  Sampler(std::size_t arms, const SamplerOptions& options)
      : options_(options), random_(options.seed), arms_(arms) {}

  // Returns the arms of the next round; none when the cell is decided.
  [[nodiscard]] std::vector<std::size_t> next_round() const {
    std::vector<std::size_t> all(arms_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (round_ < options_.min_samples) return all;
    if (round_ >= options_.max_samples) return {};
    return arms_.empty() ? all : undecided();
  }

  core::Status run_round(std::vector<std::size_t> arms,
                         const std::function<core::Result<double>(std::size_t)>& sample) {
    shuffle(arms);
    for (const std::size_t i : arms) {
      arms_[i].samples.times_us.push_back(ASSAY_TRY(sample(i)));
      arms_[i].rounds.push_back(round_);
      summarize(arms_[i].samples);
    }
    ++round_;
    return {};
  }

  [[nodiscard]] std::vector<ArmSamples> take() && {
    std::vector<ArmSamples> all;
    for (Arm& arm : arms_)
      all.push_back(std::move(arm.samples));
    return all;
  }

 private:
  // Returns the arms that may still be the fastest. They are determined anew for each round: an arm
  // that was out comes back when the times of the leader have drifted up to its own.
  [[nodiscard]] std::vector<std::size_t> undecided() const {
    const std::size_t leader = fastest();
    std::vector<std::size_t> contenders;
    bool open = false;
    for (std::size_t i = 0; i < arms_.size(); ++i) {
      const Verdict verdict =
          i == leader ? Verdict::kTied : compare(arms_[i], arms_[leader], options_.tie);
      if (verdict != Verdict::kSlower) contenders.push_back(i);
      open |= verdict == Verdict::kOpen;
    }
    if (!open) contenders.clear();
    return contenders;
  }

  [[nodiscard]] std::size_t fastest() const {
    const auto faster = [](const Arm& a, const Arm& b) {
      return a.samples.median_us < b.samples.median_us;
    };
    return static_cast<std::size_t>(std::min_element(arms_.begin(), arms_.end(), faster) -
                                    arms_.begin());
  }

  // std::shuffle is not used because its order depends on the standard library.
  void shuffle(std::vector<std::size_t>& arms) {
    for (std::size_t left = arms.size(); left > 1; --left)
      std::swap(arms[left - 1], arms[random_() % left]);
  }

  SamplerOptions options_;
  std::mt19937_64 random_;
  std::vector<Arm> arms_;
  std::int64_t round_ = 0;
};

}  // namespace

core::Result<std::vector<ArmSamples>> sample_arms(
    std::size_t arms,
    const SamplerOptions& options,
    const std::function<core::Result<double>(std::size_t arm)>& sample) {
  Sampler sampler(arms, options);
  for (auto round = sampler.next_round(); !round.empty(); round = sampler.next_round()) {
    const auto status = sampler.run_round(std::move(round), sample);
    if (!status.ok()) return status.error();
  }
  return std::move(sampler).take();
}

}  // namespace assay::allreduce
