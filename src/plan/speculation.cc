#include "plan/speculation.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace assay::plan {
namespace {

// Numbers that look random, by a mix of a counter's bits (G. L. Steele, D. Lea, C. H. Flood, "Fast
// splittable pseudorandom number generators", 2014).
class MixedNumbers {
 public:
  explicit MixedNumbers(std::uint64_t seed) : state_(seed) {}

  // In [0, 1).
  double next() {
    constexpr double kPer = 1.0 / 9007199254740992.0;  // 2^-53
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
    mixed ^= mixed >> 31U;
    return static_cast<double>(mixed >> 11U) * kPer;
  }

 private:
  std::uint64_t state_;
};

core::Status check_rates(std::int64_t tokens, std::span<const double> rates) {
  if (rates.size() != 1 && static_cast<std::int64_t>(rates.size()) != tokens) {
    return core::Error{
        fmt::format("{} acceptance rates for {} drafted tokens: one rate is that of every draft "
                    "behind an accepted one, else there is one for each position",
                    rates.size(), tokens)};
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (!(rates[i] >= 0 && rates[i] <= 1))
      return core::Error{fmt::format("an acceptance rate of {}: it is within 0 and 1", rates[i])};
    if (i > 0 && rates[i] > rates[i - 1]) {
      return core::Error{
          fmt::format("acceptance rates grow from {} to {}: each is the share of all steps in "
                      "which the draft at its position was accepted, as were those before it",
                      rates[i - 1], rates[i])};
    }
  }
  return {};
}

}  // namespace

double Speculation::tokens_per_step() const {
  return std::accumulate(accepted.begin(), accepted.end(), 1.0);
}

std::string Speculation::text() const {
  if (tokens == 0) return "";
  return fmt::format("{} drafted token{} a step, {:.3g} come out in the mean", tokens,
                     tokens == 1 ? "" : "s", tokens_per_step());
}

core::Result<Speculation> speculation_of(std::int64_t tokens, std::span<const double> rates) {
  if (tokens == 0) return Speculation{};
  ASSAY_TRY(check_rates(tokens, rates));
  Speculation speculation{.tokens = tokens, .accepted = {rates.begin(), rates.end()}};
  while (static_cast<std::int64_t>(speculation.accepted.size()) < tokens)
    speculation.accepted.push_back(speculation.accepted.back() * rates.front());
  return speculation;
}

core::Result<Speculation> speculation_with_mean(std::int64_t tokens, double accepted) {
  if (!(accepted >= 0 && accepted <= static_cast<double>(tokens)))
    return core::Error{
        fmt::format("{:g} of {} drafted tokens cannot be accepted", accepted, tokens)};
  constexpr int kHalvings = 60;
  double low = 0;
  double high = 1;
  Speculation made{.tokens = tokens};
  for (int i = 0; i < kHalvings; ++i) {
    const double rate = 0.5 * (low + high);
    made = ASSAY_TRY(speculation_of(tokens, std::span(&rate, 1)));
    (made.tokens_per_step() - 1 < accepted ? low : high) = rate;
  }
  return made;
}

core::Status check_speculation(const serving::Model& model, const Speculation& speculation) {
  if (speculation.tokens == 0 || model.mtp) return {};
  return core::Error{fmt::format(
      "{} cannot draft tokens: its config.json names no layers for multi-token prediction "
      "(num_nextn_predict_layers)",
      model.name)};
}

std::string speculation_note(const Speculation& speculation) {
  return fmt::format(
      "{}, as the acceptance rates say; tables have no rows of verifying: its attention is priced "
      "as that of {} times the heads, an extrapolation, and no interval was found on such "
      "deployments",
      speculation.text(), speculation.verified());
}

double expected_steps(const Speculation& speculation, std::int64_t tokens) {
  if (speculation.tokens == 0 || tokens <= 0)
    return static_cast<double>(std::max<std::int64_t>(0, tokens));
  // Of n tokens a step leaves n - 1 - a, where the first a drafts and no more were accepted.
  const auto drafts = static_cast<std::size_t>(speculation.tokens);
  std::vector<double> chance(drafts + 1);
  for (std::size_t a = 0; a <= drafts; ++a) {
    const double reached = a == 0 ? 1 : speculation.accepted[a - 1];
    chance[a] = reached - (a < drafts ? speculation.accepted[a] : 0);
  }
  std::vector<double> steps(static_cast<std::size_t>(tokens) + 1, 0);
  for (std::size_t left = 1; left < steps.size(); ++left) {
    steps[left] = 1;
    for (std::size_t a = 0; a <= drafts && a + 1 < left; ++a)
      steps[left] += chance[a] * steps[left - 1 - a];
  }
  return steps.back();
}

std::int64_t drawn_steps(const Speculation& speculation, std::int64_t tokens, std::uint64_t seed) {
  if (speculation.tokens == 0) return tokens;
  MixedNumbers numbers(seed);
  std::int64_t steps = 0;
  for (std::int64_t left = tokens; left > 0; ++steps) {
    const double number = numbers.next();
    --left;
    for (const double rate : speculation.accepted) {
      if (number >= rate) break;
      --left;
    }
  }
  return steps;
}

}  // namespace assay::plan
