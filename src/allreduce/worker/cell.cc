#include "allreduce/worker/cell.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "allreduce/bench/sampler.h"

namespace assay::allreduce {
namespace {

// A sample is long enough for its ends not to matter, and short enough for many samples.
constexpr double kSampleMicroseconds = 200;
constexpr std::int64_t kMostCalls = 100;
constexpr std::int64_t kFewestCalls = 3;
constexpr std::int64_t kTrialCalls = 3;
constexpr int kTrials = 3;

Outcome outcome_of(Answer::Kind kind) {
  switch (kind) {
    case Answer::Kind::kOk:
      return Outcome::kOk;
    case Answer::Kind::kUnsupported:
      return Outcome::kUnsupported;
    case Answer::Kind::kIncorrect:
      return Outcome::kIncorrect;
    case Answer::Kind::kError:
      return Outcome::kError;
  }
  return Outcome::kError;
}

// Events resolve half a microsecond, spread over the calls of a sample, so picoseconds are noise.
double to_nanoseconds(double microseconds) {
  return std::round(microseconds * 1e3) / 1e3;
}

bool all_alike(const std::vector<Answer>& answers) {
  return std::all_of(answers.begin(), answers.end(), [&](const Answer& answer) {
    return answer.checksum == answers.front().checksum;
  });
}

}  // namespace

std::vector<Answer> Leader::all(const Order& order) {
  team_.give(order);
  return team_.collect(rank_.carry_out(order, team_.handles()));
}

Answer Leader::worst(const std::vector<Answer>& answers) const {
  const auto found =
      std::max_element(answers.begin(), answers.end(),
                       [](const Answer& a, const Answer& b) { return a.kind < b.kind; });
  Answer answer = *found;
  if (answer.kind == Answer::Kind::kIncorrect || answer.kind == Answer::Kind::kError)
    answer.say(answer.kind, "rank " + std::to_string(found - answers.begin()) + ": " +
                                std::string(found->message));
  return answer;
}

core::Status Leader::connect() {
  Order order;
  order.kind = Order::Kind::kExport;
  const std::vector<Answer> exported = all(order);
  const Answer first = worst(exported);
  if (first.kind != Answer::Kind::kOk) return core::Error{first.message};
  for (std::size_t rank = 0; rank < exported.size(); ++rank)
    std::memcpy(team_.handles()[rank], exported[rank].handle, sizeof exported[rank].handle);
  order.kind = Order::Kind::kConnect;
  const Answer second = worst(all(order));
  if (second.kind != Answer::Kind::kOk) return core::Error{second.message};
  return {};
}

void Leader::quit() {
  team_.give(Order{});
}

Order Leader::order_for(const CellRequest& request, Order::Kind kind, Strategy strategy) {
  Order order;
  order.kind = kind;
  order.cell = request.cell;
  order.launch = request.launch;
  order.strategy = strategy;
  order.seed = request.seed;
  order.memory_limit_bytes = request.memory_limit_bytes;
  return order;
}

void Leader::fail(const CellRequest& request,
                  Strategy strategy,
                  Outcome outcome,
                  const std::string& reason) {
  WorkerResult result{.id = request.id, .measurement = {}};
  result.measurement.strategy = strategy;
  result.measurement.outcome = outcome;
  result.measurement.reason = reason;
  say_(result);
}

void Leader::run(const CellRequest& request) {
  const auto& asked = request.strategies;
  const bool symmetric =
      std::find(asked.begin(), asked.end(), Strategy::kNcclSymmetric) != asked.end();
  const Answer prepared = worst(all(order_for(
      request, Order::Kind::kPrepare, symmetric ? Strategy::kNcclSymmetric : Strategy::kNccl)));
  std::vector<Arm> arms;
  for (const Strategy strategy : request.strategies) {
    if (prepared.kind != Answer::Kind::kOk) {
      fail(request, strategy, outcome_of(prepared.kind), prepared.message);
      continue;
    }
    say_(WorkerDoing{.id = request.id, .doing = "check", .strategy = strategy});
    const auto arm = check(request, strategy);
    if (arm.ok()) arms.push_back(arm.value());
  }
  std::vector<Arm> ready;
  for (const Arm& arm : arms) {
    const core::Status status = make_ready(request, arm);
    if (status.ok()) {
      ready.push_back(arm);
    } else {
      fail(request, arm.strategy, Outcome::kError, status.error().message);
    }
  }
  const core::Status timed = time(request, ready);
  if (!timed.ok()) {
    for (const Arm& arm : ready)
      fail(request, arm.strategy, Outcome::kError, timed.error().message);
  }
  say_(WorkerDone{request.id});
}

core::Result<Leader::Arm> Leader::check(const CellRequest& request, Strategy strategy) {
  const std::vector<Answer> answers = all(order_for(request, Order::Kind::kCheck, strategy));
  Answer answer = worst(answers);
  if (answer.kind == Answer::Kind::kOk && spec_of(strategy).same_on_all_ranks() &&
      !all_alike(answers))
    answer.say(Answer::Kind::kIncorrect, "the ranks' results differ");
  if (answer.kind != Answer::Kind::kOk) {
    fail(request, strategy, outcome_of(answer.kind), answer.message);
    return core::Error{answer.message};
  }
  Arm arm{.strategy = strategy, .checksum = answers.front().checksum};
  for (const Answer& each : answers)
    arm.memory_bytes = std::max(arm.memory_bytes, each.memory_bytes);
  const auto calls = calls_for(request, strategy);
  if (!calls.ok()) {
    fail(request, strategy, Outcome::kError, calls.error().message);
    return calls.error();
  }
  arm.calls = calls.value();
  return arm;
}

core::Result<double> Leader::slowest(const Order& order) {
  const std::vector<Answer> answers = all(order);
  const Answer answer = worst(answers);
  if (answer.kind != Answer::Kind::kOk) return core::Error{answer.message};
  double most = 0;
  for (const Answer& each : answers)
    most = std::max(most, each.value);
  return most;
}

// Chooses the number of calls of a sample from a few calls launched one by one. It must be the same
// for every rank, or the ranks would wait for each other in vain. A trial that something delayed
// would make a sample so short that its ends matter, so the fastest of several counts.
core::Result<std::int64_t> Leader::calls_for(const CellRequest& request, Strategy strategy) {
  if (request.launch == Launch::kIsolated) return 1;
  Order order = order_for(request, Order::Kind::kSample, strategy);
  order.calls = kTrialCalls;
  double microseconds = ASSAY_TRY(slowest(order));
  for (int trial = 1; trial < kTrials; ++trial)
    microseconds = std::min(microseconds, ASSAY_TRY(slowest(order)));
  const auto calls =
      static_cast<std::int64_t>(2 * kSampleMicroseconds / std::max(microseconds, 1.0));
  return std::clamp(calls, kFewestCalls, kMostCalls);
}

core::Status Leader::make_ready(const CellRequest& request, const Arm& arm) {
  say_(WorkerDoing{.id = request.id, .doing = "time", .strategy = arm.strategy});
  Order order = order_for(request, Order::Kind::kBuild, arm.strategy);
  order.calls = arm.calls;
  const Answer built = worst(all(order));
  if (built.kind != Answer::Kind::kOk) return core::Error{built.message};
  order.kind = Order::Kind::kSample;  // the first launch of a graph is slower
  const auto warm = slowest(order);
  if (!warm.ok()) return warm.error();
  return {};
}

core::Status Leader::time(const CellRequest& request, const std::vector<Arm>& arms) {
  const SamplerOptions options{.tie = request.tie,
                               .min_samples = request.min_samples,
                               .max_samples = request.max_samples,
                               .seed = request.seed};
  const auto sampled = sample_arms(arms.size(), options, [&](std::size_t i) {
    Order order = order_for(request, Order::Kind::kSample, arms[i].strategy);
    order.calls = arms[i].calls;
    return slowest(order);
  });
  if (!sampled.ok()) return sampled.error();
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const ArmSamples& samples = sampled.value()[i];
    Measurement measurement;
    measurement.strategy = arms[i].strategy;
    measurement.time_us = to_nanoseconds(samples.median_us);
    measurement.low_us = to_nanoseconds(samples.low_us);
    measurement.high_us = to_nanoseconds(samples.high_us);
    measurement.min_us =
        to_nanoseconds(*std::min_element(samples.times_us.begin(), samples.times_us.end()));
    measurement.samples = static_cast<std::int64_t>(samples.times_us.size());
    measurement.memory_bytes = arms[i].memory_bytes;
    finish(request, arms[i], measurement);
  }
  return {};
}

// The time of a strategy that gave other results while it was timed is worth nothing.
void Leader::finish(const CellRequest& request, const Arm& arm, Measurement measurement) {
  const std::vector<Answer> answers = all(order_for(request, Order::Kind::kVerify, arm.strategy));
  const Answer answer = worst(answers);
  const bool same = !spec_of(arm.strategy).same_on_all_ranks() ||
                    (all_alike(answers) && answers.front().checksum == arm.checksum);
  if (answer.kind != Answer::Kind::kOk)
    return fail(request, arm.strategy, outcome_of(answer.kind), answer.message);
  if (!same)
    return fail(request, arm.strategy, Outcome::kIncorrect, "other results than when checked");
  say_(WorkerResult{.id = request.id, .measurement = std::move(measurement)});
}

}  // namespace assay::allreduce
