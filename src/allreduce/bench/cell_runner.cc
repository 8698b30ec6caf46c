#include "allreduce/bench/cell_runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/interrupt.h"

namespace assay::allreduce {

struct StrategyFailure {
  Outcome outcome = Outcome::kError;
  std::string reason;
};

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Creating CUDA contexts on 8 GPUs and starting NCCL take up to half a minute on a cold machine.
constexpr milliseconds kTimeToStart{120'000};
constexpr milliseconds kTimeToEnd{10'000};
constexpr milliseconds kWorkerPollInterval{100};

constexpr int kHangsToBeDropped = 3;
constexpr int kDeathsToGiveUp = 2;  // workers that died before they did anything

double seconds(milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

bool has(const std::vector<Measurement>& results, Strategy strategy) {
  return std::any_of(results.begin(), results.end(),
                     [&](const Measurement& one) { return one.strategy == strategy; });
}

bool has(const std::vector<Strategy>& strategies, Strategy strategy) {
  return std::find(strategies.begin(), strategies.end(), strategy) != strategies.end();
}

std::vector<Strategy> without_results(const std::vector<Strategy>& strategies,
                                      const std::vector<Measurement>& results) {
  std::vector<Strategy> left;
  for (const Strategy strategy : strategies) {
    if (!has(results, strategy)) left.push_back(strategy);
  }
  return left;
}

Measurement failed(const CellRequest& request, Strategy strategy, const StrategyFailure& failure) {
  Measurement measurement;
  measurement.cell = request.cell;
  measurement.strategy = strategy;
  measurement.launch = request.launch;
  measurement.outcome = failure.outcome;
  measurement.reason = failure.reason;
  return measurement;
}

// Follows what a worker says about one request. A message that has another id, is repeated or was
// not asked for means that the worker has lost its way.
class Conversation {
 public:
  Conversation(const CellRequest& request, std::vector<Measurement>& results)
      : request_(request), results_(results) {}

  // Returns the failure that the message shows, or std::nullopt.
  std::optional<StrategyFailure> take(const WorkerMessage& message) {
    const bool in_place = std::visit([&](const auto& kind) { return accept(kind); }, message);
    if (const auto* fatal = std::get_if<WorkerFatal>(&message)) {
      return StrategyFailure{Outcome::kError, fatal->message};
    }
    if (!in_place) {
      return StrategyFailure{Outcome::kError, "the worker lost its way: " + message_line(message)};
    }
    if (is_over_ && !without_results(request_.strategies, results_).empty()) {
      return StrategyFailure{Outcome::kError, "the worker was done without a result for this"};
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_over() const { return is_over_; }

  // The step that has begun and has no result yet.
  [[nodiscard]] const std::optional<WorkerDoing>& doing() const { return doing_; }

 private:
  [[nodiscard]] bool is_open(std::int64_t id, Strategy strategy) const {
    return id == request_.id && has(request_.strategies, strategy) && !has(results_, strategy);
  }

  bool accept(const WorkerHello& /*hello*/) { return false; }

  bool accept(const WorkerFatal& /*fatal*/) { return false; }

  bool accept(const WorkerDoing& doing) {
    if (!is_open(doing.id, doing.strategy)) return false;
    doing_ = doing;
    return true;
  }

  bool accept(const WorkerResult& result) {
    if (!is_open(result.id, result.measurement.strategy)) return false;
    if (doing_ && doing_->strategy == result.measurement.strategy) doing_.reset();
    results_.push_back(result.measurement);
    results_.back().cell = request_.cell;
    results_.back().launch = request_.launch;
    return true;
  }

  bool accept(const WorkerDone& done) {
    is_over_ = true;
    return done.id == request_.id;
  }

  const CellRequest& request_;
  std::vector<Measurement>& results_;
  std::optional<WorkerDoing> doing_;
  bool is_over_ = false;
};

}  // namespace

// The outcome of one request.
struct CellRunner::Attempt {
  std::optional<WorkerDoing> doing = {};  // the step that was under way when it failed
  std::optional<StrategyFailure> failure = {};
};

CellRunner::CellRunner(CellRunnerHooks hooks, milliseconds deadline)
    : hooks_(std::move(hooks)), deadline_(deadline) {}

core::Result<WorkerHello> CellRunner::hello() {
  const auto status = ensure_worker();
  if (!status.ok()) return status.error();
  return hello_;
}

core::Status CellRunner::ensure_worker() {
  if (worker_) return {};
  Worker worker = ASSAY_TRY(hooks_.start_worker());
  const Clock::time_point until = Clock::now() + kTimeToStart;
  while (Clock::now() < until) {
    ASSAY_TRY(core::check_interrupt());
    if (const auto problem = hooks_.elsewhere()) return core::Error{*problem};
    const auto got = worker.receive(Clock::now() + kWorkerPollInterval);
    if (const auto* none = std::get_if<NoMessage>(&got)) {
      if (none->why == NoMessage::Why::kNotYet) continue;
      return core::Error{"the worker does not start: " + none->what};
    }
    const auto& message = std::get<WorkerMessage>(got);
    if (const auto* fatal = std::get_if<WorkerFatal>(&message)) return core::Error{fatal->message};
    const auto* hello = std::get_if<WorkerHello>(&message);
    if (hello == nullptr) return core::Error{"the worker does not start with its hello"};
    hello_ = *hello;
    worker_.emplace(std::move(worker));
    return {};
  }
  return core::Error{fmt::format("the worker does not start: no word from it for {:.0f} s{}",
                                 seconds(kTimeToStart), worker.last_words())};
}

core::Result<std::vector<Measurement>> CellRunner::measure(CellRequest request) {
  std::vector<Strategy> wanted;
  for (const Strategy strategy : request.strategies) {
    if (!is_dropped(strategy)) wanted.push_back(strategy);
  }
  left_out_ += static_cast<std::int64_t>(request.strategies.size() - wanted.size());
  std::vector<Measurement> results;
  int idle_deaths = 0;
  for (;;) {
    request.strategies = without_results(wanted, results);
    if (request.strategies.empty()) break;
    const Attempt done = ASSAY_TRY(attempt(request, results));
    if (!done.failure) continue;
    worker_.reset();
    if (done.doing) {
      results.push_back(failed(request, done.doing->strategy, *done.failure));
      continue;
    }
    if (++idle_deaths < kDeathsToGiveUp) continue;
    for (const Strategy strategy : without_results(wanted, results))
      results.push_back(failed(request, strategy, *done.failure));
  }
  const auto place = [&](const Measurement& one) {
    return std::find(wanted.begin(), wanted.end(), one.strategy) - wanted.begin();
  };
  std::sort(results.begin(), results.end(),
            [&](const Measurement& a, const Measurement& b) { return place(a) < place(b); });
  remember_hangs(results);
  return results;
}

core::Result<CellRunner::Attempt> CellRunner::attempt(const CellRequest& request,
                                                      std::vector<Measurement>& results) {
  const auto ready = ensure_worker();
  if (!ready.ok()) return ready.error();
  // Sending fails when the worker has ended; listen() then finds out why.
  static_cast<void>(worker_->send(request).ok());
  return listen(request, results);
}

// Listens until the request is done or has failed.
core::Result<CellRunner::Attempt> CellRunner::listen(const CellRequest& request,
                                                     std::vector<Measurement>& results) {
  Conversation conversation(request, results);
  const Clock::time_point deadline = Clock::now() + deadline_;
  std::optional<StrategyFailure> failure;
  while (!conversation.is_over() && !failure) {
    const auto interrupted = core::check_interrupt();
    if (!interrupted.ok()) return interrupted.error();
    const auto got = worker_->receive(std::min(deadline, Clock::now() + kWorkerPollInterval));
    if (const auto* message = std::get_if<WorkerMessage>(&got)) {
      failure = conversation.take(*message);
    } else if (const auto& none = std::get<NoMessage>(got); none.why != NoMessage::Why::kNotYet) {
      failure = StrategyFailure{Outcome::kError, none.what};
    } else if (const auto problem = hooks_.elsewhere()) {
      failure = StrategyFailure{Outcome::kError, *problem};
    }
    if (!conversation.is_over() && !failure && Clock::now() >= deadline) {
      failure =
          StrategyFailure{Outcome::kHang, fmt::format("no end within {:g} s", seconds(deadline_))};
    }
  }
  if (!failure) return Attempt{};
  if (const auto& doing = conversation.doing()) failure->reason += " during " + doing->doing;
  return Attempt{conversation.doing(), std::move(failure)};
}

void CellRunner::remember_hangs(const std::vector<Measurement>& results) {
  for (const Measurement& one : results) {
    int& hangs = hangs_in_a_row_[one.strategy];
    hangs = one.outcome == Outcome::kHang ? hangs + 1 : 0;
    if (hangs == kHangsToBeDropped && hooks_.on_notice) {
      hooks_.on_notice(fmt::format("{} hung in {} cells in a row and is left out from now on",
                                   name_of(one.strategy), kHangsToBeDropped));
    }
  }
}

bool CellRunner::is_dropped(Strategy strategy) const {
  const auto found = hangs_in_a_row_.find(strategy);
  return found != hangs_in_a_row_.end() && found->second >= kHangsToBeDropped;
}

void CellRunner::finish() {
  if (worker_) worker_->end(kTimeToEnd);
  worker_.reset();
}

}  // namespace assay::allreduce
