#include "allreduce/bench/nccl_runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/interrupt.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

using SweepClock = core::LineProcess::Clock;
using Patience = std::chrono::milliseconds;

// Creating CUDA contexts on 8 GPUs and starting NCCL take up to half a minute on a cold machine.
constexpr Patience kSweepTimeToStart{120'000};
constexpr Patience kSweepTimeToEnd{10'000};
constexpr Patience kSweepPollInterval{100};
constexpr int kIdleDeathsToGiveUp = 2;  // workers that died before they did anything

std::vector<std::string> sweep_arguments(const NcclWorkerLaunch& launch) {
  std::vector<std::string> gpus;
  for (const int gpu : launch.gpus)
    gpus.push_back(std::to_string(gpu));
  return {launch.program.string(),
          "allreduce",
          "--tp",
          std::to_string(gpus.size()),
          "--gpus",
          core::join(gpus, ","),
          "--nccl-sweep",
          launch.plugin.string()};
}

double in_seconds(Patience duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

// This is what is known of one request's arms so far.
struct NcclRunner::Talk {
  std::vector<NcclMeasurement> results;
  std::optional<NcclArm> doing;

  [[nodiscard]] bool has(const NcclArm& arm) const {
    return std::any_of(results.begin(), results.end(),
                       [&](const NcclMeasurement& one) { return one.arm == arm; });
  }

  [[nodiscard]] std::vector<NcclArm> left(const std::vector<NcclArm>& arms) const {
    std::vector<NcclArm> left;
    for (const NcclArm& arm : arms) {
      if (!has(arm)) left.push_back(arm);
    }
    return left;
  }

  void fail(const NcclArm& arm, const Failure& failure) {
    NcclMeasurement measured;
    measured.arm = arm;
    measured.outcome = failure.outcome;
    measured.reason = failure.reason;
    results.push_back(std::move(measured));
  }
};

core::Result<NcclMessage> NcclRunner::receive(Patience patience, std::optional<Failure>& failure) {
  const SweepClock::time_point until = SweepClock::now() + patience;
  while (SweepClock::now() < until) {
    ASSAY_TRY(core::check_interrupt());
    auto got = worker_->receive(std::min(until, SweepClock::now() + kSweepPollInterval));
    if (const auto* line = std::get_if<std::string>(&got)) {
      auto message = parse_nccl_message(*line);
      if (message.ok()) return message;
      failure =
          Failure{Outcome::kError, "cannot understand the worker: " + message.error().message};
      return core::Error{failure->reason};
    }
    const auto& none = std::get<core::NoLine>(got);
    if (none.why == core::NoLine::Why::kNotYet) continue;
    failure = Failure{Outcome::kError, none.what + worker_->last_words()};
    return core::Error{failure->reason};
  }
  failure = Failure{Outcome::kHang, fmt::format("no word for {:g} s", in_seconds(patience))};
  return core::Error{failure->reason};
}

core::Status NcclRunner::ensure_worker() {
  if (worker_) return {};
  worker_.emplace(ASSAY_TRY(core::LineProcess::start(sweep_arguments(launch_), launch_.log)));
  std::optional<Failure> failure;
  const auto message = receive(kSweepTimeToStart, failure);
  if (!message.ok()) {
    worker_.reset();
    return message.error().context("the worker does not start");
  }
  if (const auto* fatal = std::get_if<WorkerFatal>(&message.value())) {
    worker_.reset();
    return core::Error{fatal->message};
  }
  const auto* hello = std::get_if<WorkerHello>(&message.value());
  if (hello == nullptr) return core::Error{"the worker does not start with its hello"};
  hello_ = *hello;
  return {};
}

core::Result<WorkerHello> NcclRunner::hello() {
  const auto ready = ensure_worker();
  if (!ready.ok()) return ready.error();
  return hello_;
}

// Returns why the request was not done; std::nullopt when it was.
core::Result<std::optional<NcclRunner::Failure>> NcclRunner::attempt(const NcclRequest& request,
                                                                     Talk& talk) {
  const auto ready = ensure_worker();
  if (!ready.ok()) return ready.error();
  // Sending fails when the worker has ended; receive() then finds out why.
  static_cast<void>(worker_->send(request_line(request)).ok());
  while (true) {
    std::optional<Failure> failure;
    const auto message = receive(deadline_, failure);
    if (failure) return failure;
    if (!message.ok()) return message.error();
    if (const auto* fatal = std::get_if<WorkerFatal>(&message.value())) {
      return std::optional(Failure{Outcome::kError, fatal->message});
    }
    if (const auto* doing = std::get_if<NcclDoing>(&message.value())) talk.doing = doing->arm;
    if (const auto* result = std::get_if<NcclResult>(&message.value())) {
      if (!talk.has(result->measurement.arm)) talk.results.push_back(result->measurement);
    }
    if (!std::holds_alternative<NcclOver>(message.value())) continue;
    if (talk.left(request.arms).empty()) return std::optional<Failure>();
    return std::optional(Failure{Outcome::kError, "the worker was done without a result for this"});
  }
}

core::Result<std::vector<NcclMeasurement>> NcclRunner::measure(const NcclRequest& request) {
  Talk talk;
  int idle_deaths = 0;
  NcclRequest rest = request;
  for (rest.arms = talk.left(request.arms); !rest.arms.empty();
       rest.arms = talk.left(request.arms)) {
    talk.doing.reset();
    const auto failure = ASSAY_TRY(attempt(rest, talk));
    if (!failure) continue;
    worker_.reset();
    if (talk.doing && !talk.has(*talk.doing)) {
      talk.fail(*talk.doing, *failure);
      continue;
    }
    if (++idle_deaths < kIdleDeathsToGiveUp) continue;
    for (const NcclArm& arm : talk.left(request.arms))
      talk.fail(arm, *failure);
  }
  const auto place = [&](const NcclMeasurement& one) {
    return std::find(request.arms.begin(), request.arms.end(), one.arm) - request.arms.begin();
  };
  std::erase_if(talk.results, [&](const NcclMeasurement& one) {
    return place(one) == static_cast<std::ptrdiff_t>(request.arms.size());
  });
  std::sort(
      talk.results.begin(), talk.results.end(),
      [&](const NcclMeasurement& a, const NcclMeasurement& b) { return place(a) < place(b); });
  for (NcclMeasurement& one : talk.results)
    one.cell = request.cell;
  return std::move(talk.results);
}

void NcclRunner::finish() {
  if (worker_) worker_->end(kSweepTimeToEnd);
  worker_.reset();
}

}  // namespace assay::allreduce
