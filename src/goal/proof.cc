#include "goal/proof.h"

#include <fmt/core.h>

#include "goal/cycle_check.h"

namespace assay::goal {
namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

// Builders add what an operation waits for before it: then there is no circle.
bool is_in_order(const model::RankView& rank) {
  for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
    const model::ScheduleOp& op = rank.ops[i];
    for (const auto& list : {rank.after_finish(op), rank.after_start(op)}) {
      for (const model::PackedIndex& after : list) {
        if (after.value <= i) return false;
      }
    }
  }
  return true;
}

}  // namespace

core::Status Proof::append(const model::RankImage& rank) {
  const model::RankView view = ASSAY_TRY(model::view_rank(rank.bytes, rank_));
  if (!is_in_order(view) && !find_cycle(view).empty()) {
    return core::Error{fmt::format("rank {}: operations wait for each other in a circle", rank_)};
  }
  if (rank.max_cpu > model::kMostCpu || rank.max_nic > model::kMostNic) {
    return core::Error{fmt::format("rank {}: cpu {} and nic {} are more than a schedule can name",
                                   rank_, rank.max_cpu, rank.max_nic)};
  }
  ASSAY_TRY(add(view));
  ++rank_;
  return next_.append(rank);
}

core::Status Proof::add(const model::RankView& view) {
  for (const model::ScheduleOp& op : view.ops) {
    if (op.kind == model::OpKind::kCalc) continue;
    if (op.tag > model::kMostTag || op.size > model::kMostSize) {
      return core::Error{
          fmt::format("rank {}: a message of {} bytes with tag {}: more than 31 bits", rank_,
                      std::uint64_t{op.size}, std::uint32_t{op.tag})};
    }
    add_message(op);
  }
  return {};
}

void Proof::add_message(const model::ScheduleOp& op) {
  const bool sends = op.kind == model::OpKind::kSend;
  const std::uint64_t source = sends ? rank_ : op.peer;
  const std::uint64_t destination = sends ? op.peer : rank_;
  const std::uint64_t pair = mix(source << 32 | destination);
  const std::uint64_t content = std::uint64_t{op.tag} << 32 | (op.size & 0xFFFFFFFF);
  const std::uint64_t hash = mix(pair ^ content);
  const std::uint64_t other = mix(mix(pair + 0x9E3779B97F4A7C15ULL) + content);
  sum_ += sends ? hash : -hash;
  other_sum_ += sends ? other : -other;
  ++(sends ? sends_ : receives_);
}

core::Status Proof::finish() const {
  if (sends_ == receives_ && sum_ == 0 && other_sum_ == 0) return {};
  return core::Error{
      fmt::format("{} sends and {} receives do not match one to one", sends_, receives_)};
}

}  // namespace assay::goal
