#include "plan/schedule/conversations.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/schedule/random.h"

namespace assay::plan {
namespace {

// Caches share whole pieces, so that at most so many tokens but one of a history are not found.
constexpr std::int64_t kTokensOfPiece = 32;
constexpr std::int64_t kLongestHistory = 1'000'000;
constexpr double kMostTurns = 10'000;

double draw_normal(const NormalSpread& spread, Random& random) {
  return spread.deviation > 0 ? spread.mean + spread.deviation * random.normal() : spread.mean;
}

core::Status check_conversations(const ConversationSpec& spec) {
  ASSAY_TRY(check_lengths(spec.prompt, "prompts"));
  ASSAY_TRY(check_lengths(spec.output, "outputs"));
  if (!(spec.turns.mean >= 1) || spec.turns.mean > kMostTurns || !(spec.turns.deviation >= 0) ||
      spec.turns.deviation > kMostTurns)
    return core::Error{
        fmt::format("{} turns in the mean, with a deviation of {}: 1 to {} are possible",
                    spec.turns.mean, spec.turns.deviation, kMostTurns)};
  if (!(spec.delay_ms.mean >= 0) || !(spec.delay_ms.deviation >= 0) ||
      !std::isfinite(spec.delay_ms.mean + spec.delay_ms.deviation))
    return core::Error{
        fmt::format("{} ms between turns, with a deviation of {}: neither can be negative",
                    spec.delay_ms.mean, spec.delay_ms.deviation)};
  if (spec.clients < 1 && !(spec.per_second > 0 && std::isfinite(spec.per_second)))
    return core::Error{"conversations need clients that hold them, or a rate at which they begin"};
  return {};
}

std::vector<SaidTurn> draw_turns(const ConversationSpec& spec, Random& random) {
  const auto count = std::max<std::int64_t>(1, std::llround(draw_normal(spec.turns, random)));
  std::vector<SaidTurn> said;
  for (std::int64_t i = 0; i < count; ++i) {
    SaidTurn turn;
    turn.new_tokens = draw_tokens(spec.prompt, random);
    turn.output_tokens = draw_tokens(spec.output, random);
    turn.delay_ms = std::max(0.0, draw_normal(spec.delay_ms, random));
    said.push_back(turn);
  }
  return said;
}

}  // namespace

Workload no_conversations() {
  return {.piece_tokens = kTokensOfPiece};
}

core::Status add_conversation(std::span<const SaidTurn> said,
                              std::size_t client,
                              std::size_t after,
                              double arrival_ms,
                              Workload& workload) {
  if (said.empty()) return core::Error{"a conversation has no turns"};
  const std::size_t first_piece = workload.pieces.size();
  const std::size_t first = workload.requests.size();
  std::int64_t history = 0;
  std::size_t pieces_of_all = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const SaidTurn& one = said[i];
    if (one.new_tokens < 1 || one.output_tokens < 1)
      return core::Error{
          fmt::format("a turn has {} new and {} output tokens: at least one of each is needed",
                      one.new_tokens, one.output_tokens)};
    const bool fits = one.new_tokens <= kLongestHistory && one.output_tokens <= kLongestHistory &&
                      history + one.new_tokens + one.output_tokens <= kLongestHistory;
    if (!fits)
      return core::Error{fmt::format("turn {} of a conversation makes it longer than {} tokens",
                                     i + 1, kLongestHistory)};
    const std::int64_t prompt = history + one.new_tokens;
    history = prompt + one.output_tokens;
    const auto pieces = static_cast<std::size_t>(prompt / kTokensOfPiece);
    pieces_of_all = static_cast<std::size_t>(history / kTokensOfPiece);
    workload.requests.push_back({.arrival_ms = i == 0 ? arrival_ms : 0,
                                 .prompt_tokens = prompt,
                                 .output_tokens = one.output_tokens,
                                 .first_piece = first_piece,
                                 .pieces = pieces});
    workload.turns.push_back({.number = static_cast<std::int64_t>(i) + 1,
                              .client = client,
                              .next = i + 1 < said.size() ? first + i + 1 : Turn::kNone,
                              .follows = i > 0 || after != Turn::kNone,
                              .delay_ms = i > 0 ? one.delay_ms : 0,
                              .answer_pieces = pieces_of_all - pieces});
  }
  if (after != Turn::kNone) workload.turns[after].next = first;
  for (std::size_t piece = 0; piece < pieces_of_all; ++piece)
    workload.pieces.push_back(first_piece + piece);
  return {};
}

core::Result<Workload> make_conversations(const ConversationSpec& spec) {
  ASSAY_TRY(check_conversations(spec));
  Workload made = no_conversations();
  Random random(spec.seed);
  std::vector<std::size_t> last_of_client(static_cast<std::size_t>(spec.clients), Turn::kNone);
  double now = 0;
  for (std::int64_t i = 0; i < spec.conversations; ++i) {
    std::size_t client = static_cast<std::size_t>(i);
    std::size_t after = Turn::kNone;
    if (spec.clients > 0) {
      client = static_cast<std::size_t>(i % spec.clients);
      after = last_of_client[client];
    } else if (i > 0) {
      now += 1000 / spec.per_second * random.gamma(1);
    }
    ASSAY_TRY(add_conversation(draw_turns(spec, random), client, after, now, made));
    if (spec.clients > 0) last_of_client[client] = made.requests.size() - 1;
  }
  return made;
}

}  // namespace assay::plan
