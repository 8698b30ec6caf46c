#include "simulate/record.h"

#include <algorithm>

#include "simulate/fabric/fabric.h"

namespace assay::simulate {
namespace {

std::uint64_t key(OpId id) {
  return std::uint64_t{id.rank} << 32U | id.op;
}

}  // namespace

Record::Record(const model::Schedule& schedule, const Network& network, const Fabric* fabric)
    : schedule_(schedule), network_(&network), fabric_(fabric) {
  std::uint64_t total = 0;
  first_of_rank_.reserve(schedule.ranks().size());
  for (const model::RankView& rank : schedule.ranks()) {
    first_of_rank_.push_back(total);
    total += rank.ops.size();
  }
  states_.resize(total);
  if (fabric != nullptr) passages_.resize(total);
  auto state = states_.begin();
  for (const model::RankView& rank : schedule.ranks()) {
    for (const model::ScheduleOp& op : rank.ops)
      (state++)->link = op.dependencies;
  }
}

void Record::set_source(OpId receive, std::uint32_t rank) {
  if (op(receive).peer == model::kAnyPeer) sources_[key(receive)] = rank;
}

std::uint32_t Record::partner_rank(OpId id) const {
  const std::uint32_t peer = op(id).peer;
  return peer == model::kAnyPeer ? sources_.at(key(id)) : peer;
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
  passages_[first_of_rank_[send.rank] + send.op] = passage;
}

Passage Record::passage(OpId send) const {
  return passages_.empty() ? Passage{} : passages_[first_of_rank_[send.rank] + send.op];
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
