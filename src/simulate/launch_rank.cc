#include "simulate/launch_rank.h"

#include <algorithm>

namespace assay::simulate {
LaunchRank::LaunchRank(const model::LaunchSchedule& schedule,
                       const Network& network,
                       std::uint32_t rank)
    : schedule_(schedule),
      network_(network),
      plan_(schedule.rank(rank)),
      rank_(rank),
      resources_(plan_.num_cpus, 2),
      launches_(plan_.launches.size()),
      running_of_(plan_.launches.size(), kNone) {
  for (std::uint32_t i = 0; i < launches_.size(); ++i) {
    for (const std::uint32_t before : plan_.launches[i].after)
      launches_[before].next.push_back(i);
    launches_[i].waits_for = static_cast<std::uint32_t>(plan_.launches[i].after.size());
    if (launches_[i].waits_for == 0) offer({.kind = TaskKind::kStart, .lane = i}, 0);
  }
  tail_left_ = plan_.tail_ns > 0 && !launches_.empty();
  tail_waits_for_ = static_cast<std::uint32_t>(plan_.tail_after.size());
}

std::uint32_t LaunchRank::running_launch() const {
  for (std::uint32_t i = 0; i < running_of_.size(); ++i) {
    if (running_of_[i] != kNone) return i;
  }
  return kNone;
}

void LaunchRank::run(std::int64_t end_ns,
                     std::vector<Departure>& departures,
                     std::vector<Span>& spans) {
  departures_ = &departures;
  spans_ = &spans;
  while (!events_.empty() && events_.top().time_ns < end_ns) {
    const RankEvent event = events_.top();
    events_.pop();
    handle(event);
  }
}

void LaunchRank::handle(const RankEvent& event) {
  switch (event.kind()) {
    case RankEventKind::kWake:
      return wake(event);
    case RankEventKind::kReady:
      return become_ready(event.data, event.time_ns);
    case RankEventKind::kArrival:
      return arrive(event);
  }
}

std::uint64_t LaunchRank::number_of(const Task& task) const {
  const bool whole = task.kind == TaskKind::kStart || task.kind == TaskKind::kEnd;
  const std::uint64_t launch =
      task.kind == TaskKind::kTail
          ? plan_.launches.size()
          : (whole ? task.lane : running_[lanes_[task.lane].running]->launch);
  return launch << 32U | task.op;
}

void LaunchRank::offer(const Task& task, std::int64_t time_ns) {
  std::uint32_t index = 0;
  if (free_tasks_.empty()) {
    index = static_cast<std::uint32_t>(tasks_.size());
    tasks_.push_back(task);
  } else {
    index = free_tasks_.back();
    free_tasks_.pop_back();
    tasks_[index] = task;
  }
  events_.push({.time_ns = time_ns,
                .number = number_of(task),
                .kind_and_source = pack(RankEventKind::kReady),
                .data = index});
}

RankNeeds LaunchRank::needs(const Task& task) const {
  switch (task.kind) {
    case TaskKind::kStart:
    case TaskKind::kEnd:
      return resources_.calculation(plan_.launches[task.lane].cpu);
    case TaskKind::kTail:
      return resources_.calculation(0);
    default:
      break;
  }
  const LaneState& state = lanes_[task.lane];
  const Running& running = *running_[state.running];
  if (task.kind == TaskKind::kWork) {
    return resources_.calculation(running.work.lanes[state.lane].cpu);
  }
  const std::uint8_t cpu = plan_of(running).message_cpu;
  const std::uint8_t nic =
      schedule_.same_node(rank_, task.peer) ? model::kNodeNic : model::kNetworkNic;
  return task.kind == TaskKind::kSend ? resources_.send(cpu, nic) : resources_.receive(cpu, nic);
}

void LaunchRank::become_ready(std::uint32_t task, std::int64_t now_ns) {
  const Task& self = tasks_[task];
  if (self.kind == TaskKind::kReceive) {
    const LaneState& state = lanes_[self.lane];
    const std::uint32_t key = running_[state.running]->work.lanes[state.lane].key;
    if (matching_.post(self.peer, key, task) == kNone) return;
  }
  contend(task, now_ns);
}

void LaunchRank::arrive(const RankEvent& event) {
  const std::uint32_t receive = matching_.arrive(event.source(), event.data, 0);
  if (receive != kNone) contend(receive, event.time_ns);
}

void LaunchRank::contend(std::uint32_t task, std::int64_t now_ns) {
  const RankNeeds wanted = needs(tasks_[task]);
  if (resources_.ready(wanted, now_ns)) return start(task, wanted, now_ns);
  resources_.wait(wanted, task, events_);
}

void LaunchRank::wake(const RankEvent& event) {
  const std::uint32_t task = resources_.wake(event, events_);
  if (task == kNone) return;
  start(task, needs(tasks_[task]), event.time_ns);
  resources_.settle(event, events_);
}

void LaunchRank::note_end(std::int64_t end_ns) {
  ++operations_;
  finish_ns_ = std::max(finish_ns_, end_ns);
}

void LaunchRank::start(std::uint32_t task, const RankNeeds& needs, std::int64_t now_ns) {
  const Task self = tasks_[task];
  free_tasks_.push_back(task);
  switch (self.kind) {
    case TaskKind::kStart: {
      const auto length = static_cast<std::int64_t>(
          std::min<std::uint64_t>(plan_.launches[self.lane].start_ns, kForeverNs + 1));
      resources_.take(needs.cpu, now_ns + length);
      note_end(now_ns + length);
      return start_launch(self.lane, now_ns + length);
    }
    case TaskKind::kWork:
      return start_work(self, needs, now_ns);
    case TaskKind::kSend:
      return start_send(self, needs, now_ns);
    case TaskKind::kReceive:
      return start_receive(self, needs, now_ns);
    case TaskKind::kEnd:
      resources_.take(needs.cpu, now_ns);
      note_end(now_ns);
      return end_launch(self.lane, now_ns);
    case TaskKind::kTail: {
      const auto end = now_ns + static_cast<std::int64_t>(plan_.tail_ns);
      resources_.take(needs.cpu, end);
      tail_left_ = false;
      return note_end(end);
    }
  }
}

std::uint32_t LaunchRank::new_running() {
  if (free_running_.empty()) {
    running_.push_back(std::make_unique<Running>());
    return static_cast<std::uint32_t>(running_.size() - 1);
  }
  const std::uint32_t index = free_running_.back();
  free_running_.pop_back();
  return index;
}

void LaunchRank::start_launch(std::uint32_t launch, std::int64_t start_ns) {
  const std::uint32_t index = new_running();
  Running& running = *running_[index];
  running.launch = launch;
  running.open = 0;
  running.end_ns = 0;
  running.work.clear();
  schedule_.list(rank_, launch, running.work);
  running.lanes_left = static_cast<std::uint32_t>(running.work.lanes.size());
  running_of_[launch] = index;
  if (running.lanes_left == 0) {
    free_running_.push_back(index);
    return end_launch(launch, start_ns);
  }
  for (const model::Lane& lane : running.work.lanes) {
    const model::StepRun& last = running.work.runs[lane.first_run + lane.num_runs - 1];
    running.open += 1U + last.num_to;
  }
  for (std::uint32_t lane = 0; lane < running.work.lanes.size(); ++lane)
    add_lane(index, lane, start_ns);
}

void LaunchRank::add_lane(std::uint32_t running, std::uint32_t lane, std::int64_t start_ns) {
  std::uint32_t index = static_cast<std::uint32_t>(lanes_.size());
  if (free_lanes_.empty()) {
    lanes_.emplace_back();
  } else {
    index = free_lanes_.back();
    free_lanes_.pop_back();
    lanes_[index] = LaneState();
  }
  LaneState& state = lanes_[index];
  state.running = running;
  state.lane = lane;
  state.free = true;
  state.free_ns = start_ns;
  const std::uint32_t slots = running_[running]->work.lanes[lane].slots;
  for (std::uint32_t i = 0; i < slots; ++i)
    post_receives(state, start_ns);
  offer_work(index);
}

const model::StepRun& LaunchRank::run_at(const LaneState& state, const Cursor& at) const {
  const model::LaunchWork& work = running_[state.running]->work;
  return work.runs[work.lanes[state.lane].first_run + at.run];
}

void LaunchRank::advance(const LaneState& state, Cursor& at) const {
  if (++at.slice < run_at(state, at).num_slices()) return;
  ++at.run;
  at.slice = 0;
}

// Gives the next receiving slice a buffer, which is free from `time_ns` on.
void LaunchRank::post_receives(LaneState& state, std::int64_t time_ns) {
  const model::LaunchWork& work = running_[state.running]->work;
  const model::Lane& lane = work.lanes[state.lane];
  while (state.post.run < lane.num_runs && run_at(state, state.post).num_from == 0)
    state.post = {state.post.run + 1, 0};
  if (state.post.run >= lane.num_runs) return;
  const model::StepRun& run = run_at(state, state.post);
  const std::uint32_t slot = state.posted++ % lane.slots;
  state.buffers[slot] = {run.num_from, 0};
  const bool is_last = state.post.slice % run.slices + 1 == run.slices;
  const auto index = static_cast<std::uint32_t>(&state - lanes_.data());
  for (std::uint32_t i = 0; i < run.num_from; ++i) {
    offer({.kind = TaskKind::kReceive,
           .buffer = static_cast<std::uint8_t>(slot),
           .lane = index,
           .peer = work.peers[run.first_peer + i],
           .op = run.first_op + state.post.slice * run.ops_per_slice() + i,
           .bytes = is_last ? run.last_bytes : run.bytes},
          time_ns);
  }
  advance(state, state.post);
}

// Makes the next work ready when the one before it has an end and its data are here.
void LaunchRank::offer_work(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  const model::Lane& plan = running_[state.running]->work.lanes[state.lane];
  if (!state.free || state.offered || state.work.run >= plan.num_runs) return;
  const model::StepRun& run = run_at(state, state.work);
  std::int64_t ready_ns = state.free_ns;
  if (run.num_from > 0) {
    const Buffer& buffer = state.buffers[state.received % plan.slots];
    if (buffer.waits_for > 0) return;
    ready_ns = std::max(ready_ns, buffer.ready_ns);
  }
  state.offered = true;
  offer({.kind = TaskKind::kWork,
         .lane = lane,
         .op = run.first_op + state.work.slice * run.ops_per_slice() + run.num_from},
        ready_ns);
}

void LaunchRank::start_work(const Task& task, const RankNeeds& needs, std::int64_t now_ns) {
  LaneState& state = lanes_[task.lane];
  Running& running = *running_[state.running];
  const model::StepRun& run = run_at(state, state.work);
  const bool is_last_slice = state.work.slice % run.slices + 1 == run.slices;
  const std::uint64_t length = is_last_slice ? run.last_work_ns : run.work_ns;
  const std::int64_t end =
      now_ns + static_cast<std::int64_t>(std::min<std::uint64_t>(length, kForeverNs + 1));
  resources_.take(needs.cpu, end);
  note_end(end);
  state.span.add(now_ns, end);
  const model::Lane& lane = running.work.lanes[state.lane];
  const bool is_last = state.work.run + 1 == lane.num_runs &&
                       state.work.slice + 1 == run.num_slices();
  for (std::uint32_t i = 0; i < run.num_to; ++i) {
    offer({.kind = TaskKind::kSend,
           .last = is_last,
           .lane = task.lane,
           .peer = running.work.peers[run.first_peer + run.num_from + i],
           .op = task.op + 1 + i,
           .bytes = is_last_slice ? run.last_bytes : run.bytes},
          end);
  }
  state.open_sends += run.num_to;
  const bool receives = run.num_from > 0;
  advance(state, state.work);
  state.offered = false;
  state.free_ns = end;
  if (receives) {
    ++state.received;
    post_receives(state, end);
  }
  if (!is_last) return offer_work(task.lane);
  close_part(running, end);
  leave_lane(task.lane);
}

// Frees the lane when nothing is left to start in it.
void LaunchRank::leave_lane(std::uint32_t lane) {
  const LaneState& state = lanes_[lane];
  Running& running = *running_[state.running];
  const model::Lane& plan = running.work.lanes[state.lane];
  if (state.work.run < plan.num_runs || state.open_sends > 0) return;
  (*spans_)[plan.exchange].add(state.span.start_ns, state.span.end_ns);
  free_lanes_.push_back(lane);
  if (--running.lanes_left == 0) free_running_.push_back(state.running);
}

void LaunchRank::start_send(const Task& task, const RankNeeds& needs, std::int64_t now_ns) {
  LaneState& state = lanes_[task.lane];
  Running& running = *running_[state.running];
  const Link& link = network_.between(rank_, task.peer);
  const std::int64_t cpu_end = now_ns + link.cpu_ns(task.bytes);
  const std::int64_t bandwidth = link.bandwidth_ns(task.bytes);
  resources_.take(needs.cpu, cpu_end);
  resources_.take(needs.nic, now_ns + link.gap_ns + bandwidth);
  departures_->push_back(
      {.to = task.peer,
       .arrival = {.time_ns = cpu_end + link.latency_ns + bandwidth,
                   .number = number_of(task),
                   .kind_and_source = pack(RankEventKind::kArrival, rank_),
                   .data = running.work.lanes[state.lane].key}});
  ++messages_;
  note_end(cpu_end);
  state.span.add(now_ns, cpu_end);
  if (task.last) close_part(running, cpu_end);
  --state.open_sends;
  leave_lane(task.lane);
}

void LaunchRank::start_receive(const Task& task, const RankNeeds& needs, std::int64_t now_ns) {
  LaneState& state = lanes_[task.lane];
  const Link& link = network_.between(task.peer, rank_);
  const std::int64_t nic_end = now_ns + link.gap_ns;
  const std::int64_t cpu_end = nic_end + link.cpu_ns(task.bytes);
  resources_.take(needs.cpu, cpu_end);
  resources_.take(needs.nic, nic_end);
  note_end(cpu_end);
  state.span.add(now_ns, cpu_end);
  Buffer& buffer = state.buffers[task.buffer];
  buffer.ready_ns = std::max(buffer.ready_ns, cpu_end);
  if (--buffer.waits_for == 0) offer_work(task.lane);
}

// Notes the end of an operation for which the launch's end waits.
void LaunchRank::close_part(Running& running, std::int64_t end_ns) {
  running.end_ns = std::max(running.end_ns, end_ns);
  if (--running.open > 0) return;
  offer({.kind = TaskKind::kEnd, .lane = running.launch, .op = running.work.end_op},
        running.end_ns);
}

void LaunchRank::end_launch(std::uint32_t launch, std::int64_t now_ns) {
  running_of_[launch] = kNone;
  ++done_launches_;
  for (const std::uint32_t next : launches_[launch].next) {
    LaunchState& state = launches_[next];
    state.ready_ns = std::max(state.ready_ns, now_ns);
    if (--state.waits_for == 0) offer({.kind = TaskKind::kStart, .lane = next}, state.ready_ns);
  }
  const auto& last = plan_.tail_after;
  if (!tail_left_ || std::find(last.begin(), last.end(), launch) == last.end()) return;
  tail_ready_ns_ = std::max(tail_ready_ns_, now_ns);
  if (--tail_waits_for_ == 0) offer({.kind = TaskKind::kTail}, tail_ready_ns_);
}

}  // namespace assay::simulate
