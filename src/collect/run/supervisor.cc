#include "collect/run/supervisor.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/interrupt.h"

namespace assay::collect {
namespace {

using std::chrono::milliseconds;
using State = WorkerSlot::State;

constexpr int kStartsToGiveUp = 3;
constexpr milliseconds kPauseBeforeStart{500};  // after a failed start
constexpr milliseconds kTimeToEnd{10'000};
constexpr int kTickMs = 100;
// A worker's threads can prepare so many cases while it measures the first of them. Near the end of
// a run, other workers take those that are left.
constexpr std::size_t kSoonCases = 32;
constexpr int kSoonMs = 10;  // poll() does not notice the end of a process

}  // namespace

Supervisor::Supervisor(const std::vector<WorkerPlace>& places,
                       const Deadlines& deadlines,
                       SupervisorHooks hooks)
    : hooks_(std::move(hooks)) {
  seats_.reserve(places.size());
  for (const WorkerPlace& place : places)
    seats_.push_back(Seat{.slot = WorkerSlot(place, deadlines)});
}

core::Result<SupervisorEnd> Supervisor::run(const std::vector<const PlannedCase*>& cases) {
  queue_.assign(cases.begin(), cases.end());
  while (!is_over()) {
    if (!core::interrupted()) start_workers();
    wait_for_news();
    for (Seat& seat : seats_)
      ASSAY_TRY(look_at(seat));
    ASSAY_TRY(write());
    if (hooks_.on_tick) hooks_.on_tick();
  }
  const SupervisorEnd end = why_over();
  finish();
  return end;
}

// A worker whose last result is not written yet does not get its next case.
core::Status Supervisor::look_at(Seat& seat) {
  while (!seat.unwritten) {
    auto event = seat.slot.next_event();
    if (!event) break;
    ASSAY_TRY(take(seat, std::move(*event)));
    feed(seat);
  }
  return {};
}

core::Status Supervisor::take(Seat& seat, SlotEvent event) {
  if (auto* finished = std::get_if<FinishedCase>(&event)) {
    seat.unwritten = std::move(*finished);
  } else if (const auto* ready = std::get_if<WorkerReady>(&event)) {
    return take_ready(seat, ready->device);
  } else if (const auto* not_started = std::get_if<WorkerNotStarted>(&event)) {
    take_not_started(seat, not_started->reason);
  } else {
    take_untouched(seat, std::get<CaseUntouched>(std::move(event)));
  }
  return {};
}

core::Status Supervisor::take_ready(Seat& seat, const DeviceFacts& device) {
  seat.failed_starts = 0;
  seat.told = 0;
  const std::optional<std::string> why_not = ASSAY_TRY(hooks_.on_ready(device));
  if (why_not) give_up(seat, *why_not);
  return {};
}

void Supervisor::take_not_started(Seat& seat, const std::string& reason) {
  seat.not_before = Clock::now() + kPauseBeforeStart;
  if (++seat.failed_starts < kStartsToGiveUp) return;
  give_up(seat, fmt::format("no worker started {} times in a row: {}", kStartsToGiveUp, reason));
}

void Supervisor::take_untouched(Seat& seat, CaseUntouched event) {
  const PlannedCase* planned = event.as_failure.planned;
  if (second_tries_.insert(planned).second) {
    seat.promised.push_front(planned);
  } else {
    seat.unwritten = std::move(event.as_failure);
  }
}

void Supervisor::give_up(Seat& seat, const std::string& why) {
  seat.given_up = true;
  seat.slot.kill();
  hooks_.on_notice(fmt::format("{} is given up: {}", seat.slot.place().name, why));
}

void Supervisor::feed(Seat& seat) {
  if (seat.slot.state() != State::kIdle || waiting() == 0 || core::interrupted()) return;
  const PlannedCase* next = next_case(seat);
  promise(seat);
  CaseRequest request = hooks_.request_of(*next);
  request.id = ++last_id_;
  for (; seat.told < seat.promised.size(); ++seat.told) {
    const PlannedCase& soon = *seat.promised[seat.told];
    request.soon.push_back({soon.operator_name, soon.json});
  }
  seat.slot.give(*next, request);
}

// Reserves cases for one seat, so that no two workers prepare the same.
void Supervisor::promise(Seat& seat) {
  while (seat.promised.size() < kSoonCases && !queue_.empty()) {
    seat.promised.push_back(queue_.front());
    queue_.pop_front();
  }
}

// Takes a case that was promised to the seat with most if nothing else is left.
const PlannedCase* Supervisor::next_case(Seat& seat) {
  promise(seat);
  const PlannedCase* next = nullptr;
  if (!seat.promised.empty()) {
    next = seat.promised.front();
    seat.promised.pop_front();
    seat.told -= std::min<std::size_t>(seat.told, 1);
    return next;
  }
  Seat& other = *std::max_element(seats_.begin(), seats_.end(), [](const Seat& a, const Seat& b) {
    return a.promised.size() < b.promised.size();
  });
  next = other.promised.back();
  other.promised.pop_back();
  other.told = std::min(other.told, other.promised.size());
  return next;
}

std::size_t Supervisor::waiting() const {
  std::size_t count = queue_.size();
  for (const Seat& seat : seats_)
    count += seat.promised.size();
  return count;
}

// Starts as many workers as there are cases.
void Supervisor::start_workers() {
  for (Seat& seat : seats_)
    feed(seat);
  std::int64_t starting = count(State::kStarting);
  for (Seat& seat : seats_) {
    if (starting >= static_cast<std::int64_t>(waiting())) return;
    if (seat.given_up || seat.slot.state() != State::kOff) continue;
    if (Clock::now() < seat.not_before) continue;
    try_start(seat);
    starting += seat.slot.state() == State::kStarting ? 1 : 0;
  }
}

void Supervisor::try_start(Seat& seat) {
  const core::Status started = seat.slot.start();
  if (!started.ok()) take_not_started(seat, started.error().message);
}

// Writes all results together, because each write waits for the disk.
core::Status Supervisor::write() {
  std::vector<FinishedCase> finished;
  for (Seat& seat : seats_) {
    if (seat.unwritten) finished.push_back(*std::exchange(seat.unwritten, std::nullopt));
  }
  if (finished.empty()) return {};
  return hooks_.on_finished(std::move(finished));
}

std::int64_t Supervisor::count(State state) const {
  return std::count_if(seats_.begin(), seats_.end(),
                       [&](const Seat& seat) { return seat.slot.state() == state; });
}

bool Supervisor::is_over() const {
  const bool writing = std::any_of(seats_.begin(), seats_.end(),
                                   [](const Seat& seat) { return seat.unwritten.has_value(); });
  if (writing || count(State::kBusy) > 0) return false;
  const bool hopeless =
      std::all_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.given_up; });
  return waiting() == 0 || hopeless || core::interrupted();
}

SupervisorEnd Supervisor::why_over() const {
  if (waiting() == 0) return SupervisorEnd::kAllDone;
  return core::interrupted() ? SupervisorEnd::kInterrupted : SupervisorEnd::kNoWorkers;
}

int Supervisor::patience_ms() const {
  int patience = kTickMs;
  for (const Seat& seat : seats_) {
    if (seat.unwritten || seat.slot.has_news()) return 0;
    if (seat.slot.state() != State::kOff && seat.slot.watched() < 0) patience = kSoonMs;
    if (seat.slot.state() == State::kEnding) patience = kSoonMs;
    if (const auto deadline = seat.slot.deadline()) {
      const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
      patience = static_cast<int>(std::clamp<std::int64_t>(left, 0, patience));
    }
  }
  return patience;
}

void Supervisor::wait_for_news() const {
  std::vector<pollfd> watched;
  for (const Seat& seat : seats_) {
    // Output of a worker that is ending is never read, and poll() would return for it at once.
    if (seat.slot.state() == State::kEnding) continue;
    watched.push_back({seat.slot.watched(), POLLIN, 0});
  }
  ::poll(watched.data(), watched.size(), patience_ms());
}

void Supervisor::finish() {
  for (Seat& seat : seats_)
    seat.slot.close_input();
  const milliseconds patience = core::interrupted() ? milliseconds(0) : kTimeToEnd;
  for (Seat& seat : seats_)
    seat.slot.end(patience);
}

}  // namespace assay::collect
