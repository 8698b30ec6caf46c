#include "collect/run/worker_slot.h"

#include <fmt/core.h>

#include <utility>

namespace assay::collect {
namespace {

using std::chrono::milliseconds;

// The most lines that are read at a time, so that endless output does not hide a passed deadline.
constexpr int kMostLines = 1000;

double seconds(milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::int64_t id_of(const WorkerMessage& message) {
  return std::visit(
      [](const auto& kind) -> std::int64_t {
        if constexpr (requires { kind.id; }) return kind.id;
        return -1;
      },
      message);
}

// The names are those of the public collector.
std::string class_of(const core::NoLine& none) {
  if (none.why == core::NoLine::Why::kUnreadable) return "WorkerProtocolError";
  return none.end && none.end->signal != 0 ? "WorkerSignalCrash" : "WorkerAbnormalExit";
}

}  // namespace

core::Status WorkerSlot::start() {
  auto started = core::LineProcess::start(place_.arguments, place_.log, place_.environment);
  if (!started.ok()) return started.error();
  process_.emplace(std::move(started).value());
  state_ = State::kStarting;
  until_ = Clock::now() + deadlines_.of_start;
  return {};
}

void WorkerSlot::give(const PlannedCase& planned, const CaseRequest& request) {
  ASSAY_CHECK(state_ == State::kIdle, "a worker does one case at a time");
  current_ = {.planned = &planned, .device_id = place_.device_id};
  id_ = request.id;
  state_ = State::kBusy;
  until_ = Clock::now() + deadlines_.of_case;
  // Sending fails if the worker has ended. The next event says why it ended.
  static_cast<void>(process_->send(request_line(request)).ok());
}

void WorkerSlot::kill() {
  if (!process_) return;
  process_->kill();
  state_ = State::kEnding;
}

void WorkerSlot::close_input() {
  if (process_) process_->close_input();
}

void WorkerSlot::end(milliseconds patience) {
  if (process_ && state_ != State::kEnding) process_->end(patience);
  process_.reset();
  state_ = State::kOff;
}

std::optional<WorkerSlot::Clock::time_point> WorkerSlot::deadline() const {
  if (state_ == State::kStarting || state_ == State::kBusy) return until_;
  return std::nullopt;
}

std::optional<SlotEvent> WorkerSlot::next_event() {
  for (int lines = 0; state_ != State::kEnding && process_; ++lines) {
    if (lines == kMostLines) return check_deadline();
    auto got = process_->receive(Clock::now());
    if (const auto* none = std::get_if<core::NoLine>(&got)) {
      return none->why == core::NoLine::Why::kNotYet ? check_deadline() : take_end(*none);
    }
    if (auto event = take_line(std::get<std::string>(got))) return event;
  }
  if (process_ && process_->is_gone()) {
    process_.reset();
    state_ = State::kOff;
  }
  return std::nullopt;
}

std::optional<SlotEvent> WorkerSlot::take_line(const std::string& line) {
  auto message = parse_message(line);
  if (message.ok()) return take(message.value());
  return take_end({.why = core::NoLine::Why::kUnreadable,
                   .what = "cannot understand the worker: " + message.error().message});
}

std::optional<SlotEvent> WorkerSlot::take(const WorkerMessage& message) {
  if (state_ == State::kStarting) return take_first(message);
  if (state_ == State::kBusy) return take_of_case(message);
  kill();
  return std::nullopt;
}

std::optional<SlotEvent> WorkerSlot::take_first(const WorkerMessage& message) {
  if (const auto* hello = std::get_if<WorkerHello>(&message)) {
    state_ = State::kIdle;
    free_since_ = Clock::now();
    return SlotEvent(WorkerReady{hello->device});
  }
  const auto* fatal = std::get_if<WorkerFatal>(&message);
  return not_started(fatal != nullptr ? fatal->message
                                      : "the worker does not start with its hello");
}

std::optional<SlotEvent> WorkerSlot::take_of_case(const WorkerMessage& message) {
  if (const auto* fatal = std::get_if<WorkerFatal>(&message)) {
    kill();
    return failed("DeviceError", fatal->message);
  }
  if (id_of(message) != id_) return lost_its_way(message);
  if (const auto* doing = std::get_if<CaseDoing>(&message)) {
    current_.doing = doing->doing;
    return std::nullopt;
  }
  if (const auto* row = std::get_if<CaseRow>(&message)) {
    current_.rows.push_back(row->measurement);
    return std::nullopt;
  }
  state_ = State::kIdle;
  if (const auto* skipped = std::get_if<CaseSkipped>(&message)) {
    current_.reason = skipped->reason;
    return finished(store::CaseOutcome::kSkipped);
  }
  if (const auto* error = std::get_if<CaseError>(&message)) {
    if (error->lost) kill();
    current_.traceback = error->traceback;
    return failed(error->error_class, error->message);
  }
  if (current_.rows.empty()) return failed("NoRow", "the worker was done without a row");
  current_.times = std::get<CaseDone>(message).times;
  return finished(store::CaseOutcome::kMeasured);
}

std::optional<SlotEvent> WorkerSlot::lost_its_way(const WorkerMessage& message) {
  return take_end({.why = core::NoLine::Why::kUnreadable,
                   .what = "the worker lost its way: " + message_line(message)});
}

// Ends a worker that is of no use any more.
std::optional<SlotEvent> WorkerSlot::take_end(const core::NoLine& none) {
  const State was = std::exchange(state_, State::kEnding);
  process_->kill();
  if (was == State::kStarting) return not_started("the worker does not start: " + none.what);
  if (was != State::kBusy) return std::nullopt;
  const bool untouched =
      none.why == core::NoLine::Why::kEnded && current_.doing.empty() && current_.rows.empty();
  const std::string during = current_.doing.empty() ? "" : " during " + current_.doing;
  SlotEvent event = failed(class_of(none), none.what + during);
  if (untouched) return SlotEvent(CaseUntouched{std::get<FinishedCase>(std::move(event))});
  return event;
}

std::optional<SlotEvent> WorkerSlot::check_deadline() {
  if (!deadline() || Clock::now() < until_) return std::nullopt;
  const State was = state_;
  const std::string words = process_->last_words();
  kill();
  if (was == State::kStarting) {
    return not_started(fmt::format("the worker does not start: no word from it for {:g} s{}",
                                   seconds(deadlines_.of_start), words));
  }
  const std::string during = current_.doing.empty() ? "" : " during " + current_.doing;
  return failed("CaseTimeout", fmt::format("no end within {:g} s{}{}", seconds(deadlines_.of_case),
                                           during, words));
}

SlotEvent WorkerSlot::not_started(std::string reason) {
  kill();
  return WorkerNotStarted{std::move(reason)};
}

SlotEvent WorkerSlot::finished(store::CaseOutcome outcome) {
  current_.outcome = outcome;
  const Clock::time_point now = Clock::now();
  current_.wall_ms = std::chrono::duration<double, std::milli>(now - free_since_).count();
  free_since_ = now;
  return std::exchange(current_, {});
}

SlotEvent WorkerSlot::failed(std::string error_class, std::string message) {
  current_.error_class = std::move(error_class);
  current_.reason = std::move(message);
  current_.rows.clear();  // a case counts only as a whole, and all of it will be measured again
  return finished(store::CaseOutcome::kFailed);
}

}  // namespace assay::collect
