#include "simulate/record.h"

#include <algorithm>

#include "simulate/fabric/fabric.h"

namespace assay::simulate {
Record::Record(const model::Schedule& schedule, const Network& network, const Fabric* fabric)
    : schedule_(schedule),
      network_(&network),
      fabric_(fabric),
      states_(schedule.ranks().size()),
      passages_(schedule.ranks().size()),
      sources_(schedule.ranks().size()) {
  for (const model::RankView& rank : schedule.ranks())
    num_ops_ += rank.ops.size();
}

void Record::prepare(std::uint32_t rank) {
  const auto& ops = schedule_.ranks()[rank].ops;
  std::vector<OpState>& states = states_[rank];
  states.resize(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i)
    states[i].link = ops[i].dependencies;
  if (fabric_ != nullptr) passages_[rank].resize(ops.size());
}

void Record::set_source(OpId receive, std::uint32_t rank) {
  if (op(receive).peer != model::kAnyPeer) return;
  auto& sources = sources_[receive.rank];
  if (!sources) sources = std::make_unique<std::unordered_map<std::uint32_t, std::uint32_t>>();
  (*sources)[receive.op] = rank;
}

std::uint32_t Record::partner_rank(OpId id) const {
  const std::uint32_t peer = op(id).peer;
  return peer == model::kAnyPeer ? sources_[id.rank]->at(id.op) : peer;
}

OpId Record::partner(OpId id) const {
  const OpState& own = state(id);
  const bool met = own.phase() != Phase::kBlocked && own.link != kNone;
  return met ? OpId{partner_rank(id), own.link} : OpId{0, kNone};
}

std::uint64_t Record::message_bytes(OpId id) const {
  return op(id).kind == model::OpKind::kSend ? op(id).size : op(partner(id)).size;
}

std::int64_t Record::calc_ns(OpId id) const {
  const std::uint64_t length = op(id).size;
  if (fabric_ != nullptr) {
    return fabric_->calc_ns({id.rank, id.op, length, state(id).time_ns()});
  }
  return static_cast<std::int64_t>(std::min<std::uint64_t>(length, kForeverNs + 1));
}

void Record::set_passage(OpId send, const Passage& passage) {
  passages_[send.rank][send.op] = passage;
}

Passage Record::passage(OpId send) const {
  return fabric_ == nullptr ? Passage{} : passages_[send.rank][send.op];
}

std::int64_t Record::left_ns(OpId send) const {
  return state(send).time_ns() + link(send).cpu_ns(op(send).size) + passage(send).transfer_ns;
}

std::int64_t Record::moving_since_ns(OpId send) const {
  const std::uint32_t behind = passage(send).behind;
  if (behind != kNone) return left_ns({send.rank, behind});
  return state(send).time_ns() + link(send).cpu_ns(op(send).size);
}

OpTimes Record::times(OpId id) const {
  const std::int64_t start = state(id).time_ns();
  const model::ScheduleOp& self = op(id);
  if (self.kind == model::OpKind::kCalc) {
    const std::int64_t end = start + calc_ns(id);
    return {start, end, end};
  }
  const Link& between = link(id);
  const std::uint64_t bytes = message_bytes(id);
  if (self.kind == model::OpKind::kReceive) {
    const std::int64_t end = start + between.gap_ns + between.cpu_ns(bytes);
    return {start, end, end};
  }
  const std::int64_t cpu_end = start + between.cpu_ns(bytes);
  const bool waits = between.rendezvous(bytes);
  return {start, cpu_end, waits ? times(partner(id)).end_ns : cpu_end};
}

}  // namespace assay::simulate
