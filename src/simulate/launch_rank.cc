#include "simulate/launch_rank.h"

#include <bit>

namespace assay::simulate {
namespace {

std::int64_t length_of(std::uint64_t ns) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(ns, kForeverNs + 1));
}

std::uint64_t number_of_launch(std::size_t launch, std::uint32_t op) {
  return std::uint64_t{launch} << 32U | op;
}

}  // namespace

LaunchRank::LaunchRank(const model::LaunchSchedule& schedule,
                       const Network& network,
                       std::uint32_t rank)
    : schedule_(schedule),
      network_(network),
      plan_(schedule.rank(rank)),
      rank_(rank),
      resources_(plan_.num_cpus, model::kNics),
      launches_(plan_.launches.size()),
      running_of_(plan_.launches.size(), kNone),
      spans_(plan_.launches.size()) {
  for (std::uint32_t i = 0; i < launches_.size(); ++i) {
    for (const std::uint32_t before : plan_.launches[i].after)
      launches_[before].next.push_back(i);
    launches_[i].waits_for = static_cast<std::uint32_t>(plan_.launches[i].after.size());
    if (launches_[i].waits_for == 0) offer(pack_task(Kind::kStart, i), number_of_launch(i, 0), 0);
  }
  tail_left_ = plan_.tail_ns > 0 && !launches_.empty();
  tail_waits_for_ = static_cast<std::uint32_t>(plan_.tail_after.size());
}

std::uint32_t LaunchRank::running_launch() const {
  const auto is_running = [](std::uint32_t running) { return running != kNone; };
  const auto found = std::find_if(running_of_.begin(), running_of_.end(), is_running);
  return found == running_of_.end() ? kNone
                                    : static_cast<std::uint32_t>(found - running_of_.begin());
}

void LaunchRank::run(std::int64_t end_ns, std::vector<SentMessage>& sent) {
  sent_ = &sent;
  const std::uint32_t before = changes_;
  while (!events_.empty() && events_.top().time_ns < end_ns && changes_ == before) {
    const RankEvent event = events_.top();
    events_.pop();
    switch (event.kind()) {
      case RankEventKind::kWake:
        wake(event);
        break;
      case RankEventKind::kReady:
        contend(event.data, event.time_ns);
        break;
      case RankEventKind::kArrival:
        arrive(event);
        break;
    }
  }
}

Needs LaunchRank::needs(std::uint32_t task) const {
  const std::uint32_t index = index_of(task);
  switch (kind_of(task)) {
    case Kind::kStart:
    case Kind::kEnd:
      return resources_.calculation(plan_.launches[index].cpu);
    case Kind::kTail:
      return resources_.calculation(0);
    case Kind::kWork:
      return resources_.calculation(lanes_[index].cpu);
    case Kind::kSend:
    case Kind::kReceive:
      break;
  }
  const Message& message = messages_made_[index];
  const std::uint8_t cpu = lanes_[message.lane].message_cpu;
  return kind_of(task) == Kind::kSend ? resources_.send(cpu, message.peer->nic)
                                      : resources_.receive(cpu, message.peer->nic);
}

void LaunchRank::contend(std::uint32_t task, std::int64_t now_ns) {
  const Needs wanted = needs(task);
  if (kind_of(task) == Kind::kSend) note_send(index_of(task), wanted, now_ns);
  if (resources_.ready(wanted, now_ns)) return start(task, wanted, now_ns);
  resources_.wait(wanted, task, later());
}

// A message that waits for its CPU alone counts, too: it will soon want the NIC.
void LaunchRank::note_send(std::uint32_t message, const Needs& needs, std::int64_t now_ns) {
  const std::size_t nic = messages_made_[message].peer->nic;
  const std::uint32_t ready = ++sends_ready_[nic];
  const std::uint32_t at_once = ready + (resources_.free_ns(needs.nic) > now_ns ? 1 : 0);
  nic_work_[nic].most_at_once = std::max(nic_work_[nic].most_at_once, at_once);
}

void LaunchRank::wake(const RankEvent& event) {
  const Wake wake{.time_ns = event.time_ns,
                  .order = static_cast<std::uint32_t>(event.number >> 32U),
                  .resource = static_cast<std::uint32_t>(event.number)};
  const std::uint32_t task = resources_.wake(wake, later());
  if (task == kNone) return;
  start(task, needs(task), event.time_ns);
  resources_.settle(wake, later());
}

void LaunchRank::note_end(std::int64_t end_ns) {
  ++operations_;
  finish_ns_ = std::max(finish_ns_, end_ns);
}

void LaunchRank::start(std::uint32_t task, const Needs& needs, std::int64_t now_ns) {
  const std::uint32_t index = index_of(task);
  switch (kind_of(task)) {
    case Kind::kStart: {
      const std::int64_t end = now_ns + length_of(plan_.launches[index].start_ns);
      resources_.take(needs.cpu, end);
      note_end(end);
      return start_launch(index, end);
    }
    case Kind::kEnd:
      resources_.take(needs.cpu, now_ns);
      note_end(now_ns);
      return end_launch(index, now_ns);
    case Kind::kTail:
      return start_tail(needs, now_ns);
    case Kind::kWork:
      return start_work(index, needs, now_ns);
    case Kind::kSend:
      return start_send(index, needs, now_ns);
    case Kind::kReceive:
      return start_receive(index, needs, now_ns);
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

std::uint32_t LaunchRank::new_lane() {
  if (free_lanes_.empty()) {
    lanes_.emplace_back();
    return static_cast<std::uint32_t>(lanes_.size() - 1);
  }
  const std::uint32_t index = free_lanes_.back();
  free_lanes_.pop_back();
  lanes_[index] = LaneState();
  return index;
}

std::uint32_t LaunchRank::new_message(const Message& message) {
  if (free_messages_.empty()) {
    messages_made_.push_back(message);
    return static_cast<std::uint32_t>(messages_made_.size() - 1);
  }
  const std::uint32_t index = free_messages_.back();
  free_messages_.pop_back();
  messages_made_[index] = message;
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
  spans_[launch].start_ns = start_ns;
  const std::vector<model::Lane>& lanes = running.work.lanes;
  running.lanes_left = static_cast<std::uint32_t>(lanes.size());
  if (lanes.empty()) {
    free_running_.push_back(index);
    return end_launch(launch, start_ns);
  }
  running_of_[launch] = index;
  running.peers.clear();
  for (const model::LanePeer& peer : running.work.peers) {
    const bool near = schedule_.same_node(rank_, peer.rank);
    running.peers.push_back({.rank = peer.rank,
                             .way = peer.way,
                             .nic = near ? model::kNodeNic : model::kNetworkNic,
                             .link = &network_.between(rank_, peer.rank)});
  }
  running.start_ns = start_ns;
  find_sources(running);
  ++changes_;
  for (const model::Lane& lane : lanes)
    running.open += 1U + running.work.runs[lane.first_run + lane.num_runs - 1].num_to;
  for (const model::Lane& lane : lanes)
    add_lane(index, lane, start_ns);
}

void LaunchRank::find_sources(Running& running) const {
  running.sources.clear();
  for (const model::StepRun& run : running.work.runs) {
    for (std::uint32_t i = 0; i < run.num_from; ++i) {
      const std::uint32_t source = running.peers[run.first_peer + i].rank;
      if (network_.apart(rank_, source)) running.sources.push_back(source);
    }
  }
  std::sort(running.sources.begin(), running.sources.end());
  running.sources.erase(std::unique(running.sources.begin(), running.sources.end()),
                        running.sources.end());
}

void LaunchRank::add_lane(std::uint32_t running, const model::Lane& plan, std::int64_t start_ns) {
  const std::uint32_t index = new_lane();
  LaneState& state = lanes_[index];
  const model::StepRun* first = running_[running]->work.runs.data() + plan.first_run;
  state.work = state.post = {.run = first};
  state.first = first;
  state.end = first + plan.num_runs;
  state.running = running;
  state.key = plan.key;
  state.cpu = plan.cpu;
  state.message_cpu = plan_.launches[running_[running]->launch].message_cpu;
  state.slots = plan.slots;
  state.free_ns = start_ns;
  join_routes(index);
  for (std::uint32_t i = 0; i < state.slots; ++i)
    give_buffer(index, start_ns);
  offer_work(index);
}

void LaunchRank::join_routes(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  for (const model::StepRun* run = state.work.run; run != state.end; ++run) {
    const Peer* from = peers_of(state, *run);
    for (std::uint32_t i = 0; i < run->num_from; ++i) {
      Routes::Route& route = routes_.at(from[i].rank, state.key + from[i].way);
      if (route.lane == lane) continue;
      route.lane = lane;
      state.early += route.early;
    }
  }
}

void LaunchRank::leave_routes(const LaneState& state) {
  for (const model::StepRun* run = state.first; run != state.end; ++run) {
    const Peer* from = peers_of(state, *run);
    for (std::uint32_t i = 0; i < run->num_from; ++i)
      routes_.leave(from[i].rank, state.key + from[i].way);
  }
}

// Returns the receive, ready to be started, of a peer's message for a slice.
std::uint32_t LaunchRank::reception(std::uint32_t lane, std::uint32_t buffer, std::uint32_t peer) {
  LaneState& state = lanes_[lane];
  Buffer& self = state.buffers[buffer];
  self.missing &= ~(1U << peer);
  const std::uint32_t message =
      new_message({.peer = peers_of(state, *self.slice.run) + peer,
                   .bytes = self.slice.bytes(),
                   .number = number_of(state, self.slice.first_op() + peer),
                   .lane = lane,
                   .buffer = static_cast<std::uint8_t>(buffer)});
  return pack_task(Kind::kReceive, message);
}

// Gives the next receiving slice a buffer, which is free from `free_ns` on.
void LaunchRank::give_buffer(std::uint32_t lane, std::int64_t free_ns) {
  LaneState& state = lanes_[lane];
  while (state.post.run != state.end && state.post.run->num_from == 0)
    state.post = {.run = state.post.run + 1};
  if (state.post.run == state.end) return;
  const std::uint32_t number = state.posted++ % state.slots;
  const std::uint32_t peers = state.post.run->num_from;
  Buffer& buffer = state.buffers[number];
  buffer = {.slice = state.post,
            .free_ns = free_ns,
            .waits_for = peers,
            .missing = static_cast<std::uint32_t>((std::uint64_t{1} << peers) - 1)};
  state.post.advance();
  const Peer* from = peers_of(state, *buffer.slice.run);
  for (std::uint32_t i = 0; i < peers && state.early > 0; ++i) {
    Routes::Route& route = routes_.at(from[i].rank, state.key + from[i].way);
    if (route.early == 0) continue;
    --route.early;
    --state.early;
    const std::uint32_t task = reception(lane, number, i);
    offer(task, messages_made_[index_of(task)].number, free_ns);
  }
}

void LaunchRank::arrive(const RankEvent& event) {
  if (event.time_ns == last_arrival_ns_ && event.source() != last_source_) had_rivals_ = true;
  last_arrival_ns_ = event.time_ns;
  last_source_ = event.source();
  Routes::Route& route = routes_.at(event.source(), event.data);
  const std::uint32_t lane = route.lane;
  if (lane != kNone && take_message(lane, event)) return;
  ++route.early;
  if (lane != kNone) ++lanes_[lane].early;
}

// Lets the first slice with a buffer that lacks a message of this source receive it. Returns false
// if there is none.
bool LaunchRank::take_message(std::uint32_t lane, const RankEvent& arrival) {
  LaneState& state = lanes_[lane];
  const std::uint32_t way = arrival.data - state.key;
  state.arrived = std::max(state.arrived, state.received);
  while (state.arrived != state.posted && state.buffers[state.arrived % state.slots].missing == 0)
    ++state.arrived;
  for (std::uint32_t slice = state.arrived; slice != state.posted; ++slice) {
    const std::uint32_t number = slice % state.slots;
    const Buffer& buffer = state.buffers[number];
    const Peer* from = peers_of(state, *buffer.slice.run);
    for (std::uint32_t left = buffer.missing; left != 0; left &= left - 1) {
      const auto peer = static_cast<std::uint32_t>(std::countr_zero(left));
      if (from[peer].rank != arrival.source() || from[peer].way != way) continue;
      const std::int64_t free_ns = buffer.free_ns;
      const std::uint32_t task = reception(lane, number, peer);
      if (free_ns > arrival.time_ns) {
        offer(task, messages_made_[index_of(task)].number, free_ns);
      } else {
        contend(task, arrival.time_ns);
      }
      return true;
    }
  }
  return false;
}

// Makes the next work ready when its data are here.
void LaunchRank::offer_work(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  if (state.offered || state.work.run == state.end) return;
  std::int64_t ready_ns = state.free_ns;
  const model::StepRun& run = *state.work.run;
  if (run.num_from > 0) {
    const Buffer& buffer = state.buffers[state.received % state.slots];
    if (buffer.waits_for > 0) return;
    ready_ns = std::max(ready_ns, buffer.ready_ns);
  }
  state.offered = true;
  offer(pack_task(Kind::kWork, lane), number_of(state, state.work.first_op() + run.num_from),
        ready_ns);
}

void LaunchRank::start_work(std::uint32_t lane, const Needs& needs, std::int64_t now_ns) {
  LaneState& state = lanes_[lane];
  const model::StepRun& run = *state.work.run;
  const std::int64_t end = now_ns + length_of(state.work.work_ns());
  resources_.take(needs.cpu, end);
  note_end(end);
  state.end_ns = std::max(state.end_ns, end);
  const bool is_last = state.work.slice + 1 == run.num_slices() && state.work.run + 1 == state.end;
  offer_sends(lane, is_last, end);
  state.work.advance();
  state.offered = false;
  state.free_ns = end;
  if (run.num_from > 0) {
    ++state.received;
    give_buffer(lane, end);
  }
  if (!is_last) return offer_work(lane);
  close_part(*running_[state.running], end);
  leave_lane(lane);
}

void LaunchRank::offer_sends(std::uint32_t lane, bool is_last, std::int64_t end_ns) {
  LaneState& state = lanes_[lane];
  const model::StepRun& run = *state.work.run;
  const Peer* to = peers_of(state, run) + run.num_from;
  const std::uint64_t first = number_of(state, state.work.first_op() + run.num_from + 1);
  for (std::uint32_t i = 0; i < run.num_to; ++i) {
    const std::uint32_t message = new_message({.peer = to + i,
                                               .bytes = state.work.bytes(),
                                               .number = first + i,
                                               .lane = lane,
                                               .last = is_last});
    offer(pack_task(Kind::kSend, message), first + i, end_ns);
  }
  state.open_sends += run.num_to;
}

void LaunchRank::start_send(std::uint32_t message, const Needs& needs, std::int64_t now_ns) {
  const Message self = messages_made_[message];
  free_messages_.push_back(message);
  LaneState& state = lanes_[self.lane];
  const Link& link = *self.peer->link;
  const std::int64_t cpu_end = now_ns + link.cpu_ns(self.bytes);
  const std::int64_t bandwidth = link.bandwidth_ns(self.bytes);
  resources_.take(needs.cpu, cpu_end);
  resources_.take(needs.nic, now_ns + link.gap_ns + bandwidth);
  --sends_ready_[self.peer->nic];
  ++nic_work_[self.peer->nic].messages;
  nic_work_[self.peer->nic].sending_ns += link.gap_ns + bandwidth;
  sent_->push_back({.to = self.peer->rank,
                    .arrival = {.time_ns = cpu_end + link.latency_ns + bandwidth,
                                .number = self.number,
                                .kind_and_source = pack(RankEventKind::kArrival, rank_),
                                .data = state.key + self.peer->way}});
  ++messages_;
  note_end(cpu_end);
  state.end_ns = std::max(state.end_ns, cpu_end);
  --state.open_sends;
  if (self.last) close_part(*running_[state.running], cpu_end);
  if (state.work.run == state.end) leave_lane(self.lane);
}

void LaunchRank::start_receive(std::uint32_t message, const Needs& needs, std::int64_t now_ns) {
  const Message self = messages_made_[message];
  free_messages_.push_back(message);
  LaneState& state = lanes_[self.lane];
  const Link& link = *self.peer->link;
  const std::int64_t nic_end = now_ns + link.gap_ns;
  const std::int64_t cpu_end = nic_end + link.cpu_ns(self.bytes);
  resources_.take(needs.cpu, cpu_end);
  resources_.take(needs.nic, nic_end);
  model::NicWork& nic = nic_work_[self.peer->nic];
  nic.received_bytes += self.bytes;
  nic.receiving_ns += link.bandwidth_ns(self.bytes);
  note_end(cpu_end);
  state.end_ns = std::max(state.end_ns, cpu_end);
  Buffer& buffer = state.buffers[self.buffer];
  buffer.ready_ns = std::max(buffer.ready_ns, cpu_end);
  if (--buffer.waits_for == 0) offer_work(self.lane);
}

void LaunchRank::start_tail(const Needs& needs, std::int64_t now_ns) {
  const std::int64_t end = now_ns + length_of(plan_.tail_ns);
  resources_.take(needs.cpu, end);
  tail_left_ = false;
  note_end(end);
}

// Frees the lane when nothing is left to start in it.
void LaunchRank::leave_lane(std::uint32_t lane) {
  const LaneState& state = lanes_[lane];
  if (state.open_sends > 0) return;
  Running& running = *running_[state.running];
  Span& span = spans_[running.launch];
  span.end_ns = std::max(span.end_ns, state.end_ns);
  leave_routes(state);
  free_lanes_.push_back(lane);
  if (--running.lanes_left > 0) return;
  free_running_.push_back(state.running);
  ++changes_;
}

// Notes the end of an operation for which the launch's end waits.
void LaunchRank::close_part(Running& running, std::int64_t end_ns) {
  running.end_ns = std::max(running.end_ns, end_ns);
  if (--running.open > 0) return;
  offer(pack_task(Kind::kEnd, running.launch),
        number_of_launch(running.launch, running.work.end_op), running.end_ns);
}

void LaunchRank::end_launch(std::uint32_t launch, std::int64_t now_ns) {
  running_of_[launch] = kNone;
  ++done_launches_;
  for (const std::uint32_t next : launches_[launch].next) {
    LaunchState& state = launches_[next];
    state.ready_ns = std::max(state.ready_ns, now_ns);
    if (--state.waits_for == 0) {
      offer(pack_task(Kind::kStart, next), number_of_launch(next, 0), state.ready_ns);
    }
  }
  const auto& last = plan_.tail_after;
  if (!tail_left_ || std::find(last.begin(), last.end(), launch) == last.end()) return;
  tail_ready_ns_ = std::max(tail_ready_ns_, now_ns);
  if (--tail_waits_for_ > 0) return;
  offer(pack_task(Kind::kTail, 0), number_of_launch(launches_.size(), 0), tail_ready_ns_);
}

}  // namespace assay::simulate
