// Speculative decoding by layers that predict tokens beyond the next one (multi-token prediction).
// A step drafts some tokens of each request; the next verifies all of them at once, and those
// before the first wrong one come out, with one that the model itself then knows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"

namespace assay::plan {

// Tables know no step of so many queries of a request, and engines draft fewer.
inline constexpr std::int64_t kMostSpeculativeTokens = 16;

struct Speculation {
  std::int64_t tokens = 0;  // drafted of each request in a step; 0: nothing is
  // By position: the share of steps in which the draft at it was accepted, as were those before it.
  std::vector<double> accepted = {};

  // Tokens of a request that a step computes.
  [[nodiscard]] std::int64_t verified() const { return tokens + 1; }

  // Tokens of a request that come out of a step, in the mean.
  [[nodiscard]] double tokens_per_step() const;

  // "3 drafted tokens a step, 2.44 come out in the mean"; "" where nothing is drafted.
  [[nodiscard]] std::string text() const;
};

// One rate: each draft behind an accepted one is accepted with this chance. As many as there are
// tokens: those of the positions, as engines report them. Error: another number of rates, or one
// that is not within 0 and 1 or grows.
core::Result<Speculation> speculation_of(std::int64_t tokens, std::span<const double> rates);

// The same by how many drafts of a step are accepted in the mean, as the public planner's files
// have it: one rate of which as many come out. Error: fewer than none, or more than are drafted.
core::Result<Speculation> speculation_with_mean(std::int64_t tokens, double accepted);

// Error: something is to be drafted, and the model has no layers that do.
core::Status check_speculation(const serving::Model& model, const Speculation& speculation);

// What of it is measured and what is not, in a sentence for readers of prices.
std::string speculation_note(const Speculation& speculation);

// Steps in which so many tokens of a request come out, in the mean. Tokens beyond the last one that
// a step accepts are of no use, so that this is a little more than the tokens over
// tokens_per_step().
double expected_steps(const Speculation& speculation, std::int64_t tokens);

// The steps that one request needs for so many tokens, drawn: the same for each seed, on every
// machine. At least 1 where there is a token.
std::int64_t drawn_steps(const Speculation& speculation, std::int64_t tokens, std::uint64_t seed);

}  // namespace assay::plan
