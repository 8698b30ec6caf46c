#include "plan/schedule/workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "plan/schedule/random.h"

namespace assay::plan {

double least_tokens(double tokens, double share) {
  return std::max(1.0, std::floor(tokens * share));
}

double mean_tokens(double tokens, double share) {
  const double least = std::floor(tokens * share);
  // A request of no tokens is drawn as one of one.
  const double raised = least < 1 ? 1 / (tokens + 1) : 0;
  return 0.5 * (least + tokens) + raised;
}

std::int64_t draw_tokens(const Lengths& lengths, Random& random) {
  double tokens = lengths.tokens;
  if (lengths.kind == Lengths::Kind::kUniform) {
    const double least = std::floor(lengths.tokens * lengths.ratio);
    tokens = least + std::floor((lengths.tokens - least + 1) * random.uniform());
  } else if (lengths.kind == Lengths::Kind::kLognormal) {
    const double variance = std::log1p(lengths.ratio * lengths.ratio);
    tokens *= std::exp(std::sqrt(variance) * random.normal() - variance / 2);
  }
  auto whole = std::max<std::int64_t>(1, std::llround(tokens));
  if (lengths.most > 0) whole = std::min(whole, lengths.most);
  return whole;
}

core::Status check_lengths(const Lengths& lengths, const char* of) {
  if (!(lengths.tokens >= 1) || lengths.tokens > 1e9)
    return core::Error{fmt::format("{} of {} tokens: 1 to 1e9 are possible", of, lengths.tokens)};
  if (!(lengths.ratio >= 0))
    return core::Error{
        fmt::format("a ratio of {} for {}: it cannot be negative", lengths.ratio, of)};
  if (lengths.kind == Lengths::Kind::kUniform && lengths.ratio > 1)
    return core::Error{
        fmt::format("a range ratio of {} for {}: 0 to 1 are possible", lengths.ratio, of)};
  return {};
}

namespace {

core::Status check_arrivals(const Arrivals& arrivals) {
  if (arrivals.kind == Arrivals::Kind::kClosedLoop) {
    if (arrivals.concurrency < 1)
      return core::Error{fmt::format("a concurrency of {}: at least one request must be in flight",
                                     arrivals.concurrency)};
    return {};
  }
  if (!(arrivals.per_second > 0) || !std::isfinite(arrivals.per_second))
    return core::Error{
        fmt::format("{} requests a second: say a rate above 0", arrivals.per_second)};
  if (!(arrivals.burstiness > 0) || !std::isfinite(arrivals.burstiness))
    return core::Error{fmt::format(
        "a burstiness of {}: it must be above 0, and 1 is a Poisson process", arrivals.burstiness)};
  return {};
}

double draw_gap_ms(const Arrivals& arrivals, Random& random) {
  const double mean = 1000 / arrivals.per_second;
  return arrivals.kind == Arrivals::Kind::kConstant ? mean
                                                    : mean * random.gamma(arrivals.burstiness);
}

}  // namespace

core::Result<Workload> make_workload(const WorkloadSpec& spec) {
  ASSAY_TRY(check_lengths(spec.prompt, "prompts"));
  ASSAY_TRY(check_lengths(spec.output, "outputs"));
  ASSAY_TRY(check_arrivals(spec.arrivals));
  if (spec.prefix_tokens < 0 || spec.prefixes < 1)
    return core::Error{
        fmt::format("{} prefixes of {} tokens: neither can be negative, and one must be there",
                    spec.prefixes, spec.prefix_tokens)};
  Workload made;
  const bool closed = spec.arrivals.kind == Arrivals::Kind::kClosedLoop;
  if (closed) made.concurrency = spec.arrivals.concurrency;
  Random random(spec.seed);
  double now = 0;
  for (std::int64_t i = 0; i < spec.requests; ++i) {
    Request request;
    request.prompt_tokens = std::max(spec.prefix_tokens, draw_tokens(spec.prompt, random));
    request.output_tokens = draw_tokens(spec.output, random);
    if (!closed) {
      // The first request comes at once, as in serving benchmarks.
      if (i > 0) now += draw_gap_ms(spec.arrivals, random);
      request.arrival_ms = now;
    }
    if (spec.prefix_tokens > 0) {
      request.first_piece = static_cast<std::size_t>(i % spec.prefixes);
      request.pieces = 1;
    }
    made.requests.push_back(request);
  }
  if (spec.prefix_tokens > 0) {
    made.piece_tokens = spec.prefix_tokens;
    for (std::int64_t i = 0; i < spec.prefixes; ++i)
      made.pieces.push_back(static_cast<std::uint64_t>(i));
  }
  return made;
}

namespace {

core::Status check_turns(const Workload& workload) {
  if (workload.turns.empty()) return {};
  if (workload.turns.size() != workload.requests.size() || workload.concurrency > 0)
    return core::Error{
        "turns of conversations are of all requests, or of none, and say by themselves which "
        "request follows"};
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    const Turn& turn = workload.turns[i];
    const Request& request = workload.requests[i];
    const bool is_last = turn.next == Turn::kNone;
    if (!is_last && (turn.next <= i || turn.next >= workload.turns.size() ||
                     !workload.turns[turn.next].follows))
      return core::Error{
          fmt::format("request {} is followed by {}, which does not wait for it", i, turn.next)};
    if (turn.number < 1 || !(turn.delay_ms >= 0) || !std::isfinite(turn.delay_ms))
      return core::Error{
          fmt::format("request {} is turn {} and comes {} ms after the one before it", i,
                      turn.number, turn.delay_ms)};
    if (request.first_piece + request.pieces + turn.answer_pieces > workload.pieces.size())
      return core::Error{
          fmt::format("request {} names pieces of its answer that are not there", i)};
  }
  return {};
}

}  // namespace

core::Status check_workload(const Workload& workload) {
  if (workload.requests.empty()) return core::Error{"the workload has no requests"};
  if (workload.concurrency < 0)
    return core::Error{fmt::format("a concurrency of {}", workload.concurrency)};
  for (const std::uint64_t name : workload.pieces)
    if (name >= kPieceNames)
      return core::Error{
          fmt::format("a piece of a prompt is named {}: names are below {}", name, kPieceNames)};
  ASSAY_TRY(check_turns(workload));
  double last = 0;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    if (request.prompt_tokens < 1 || request.output_tokens < 1)
      return core::Error{fmt::format(
          "request {} has {} prompt and {} output tokens: at least one of each is needed", i,
          request.prompt_tokens, request.output_tokens)};
    if (request.first_piece + request.pieces > workload.pieces.size() ||
        (request.pieces > 0 && workload.piece_tokens < 1))
      return core::Error{
          fmt::format("request {} names pieces of its prompt that are not there", i)};
    if (workload.concurrency > 0 || workload.follows(i)) continue;
    if (!(request.arrival_ms >= last) || !std::isfinite(request.arrival_ms))
      return core::Error{
          fmt::format("request {} arrives at {} ms, after one that arrives at {} ms: "
                      "requests must be in the order of their arrival",
                      i, request.arrival_ms, last)};
    last = request.arrival_ms;
  }
  return {};
}

}  // namespace assay::plan
