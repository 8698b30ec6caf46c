#include "goal/proof.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/counted.h"

namespace assay::goal {
namespace {

using model::PackedIndex;
using model::RankView;

constexpr std::size_t kShownOperations = 8;

template <class Call>
void each_dependent(const RankView& rank, std::uint32_t op, const Call& call) {
  for (const PackedIndex& dependent : rank.after_finish(rank.ops[op]))
    call(std::uint32_t{dependent.value});
  for (const PackedIndex& dependent : rank.after_start(rank.ops[op]))
    call(std::uint32_t{dependent.value});
}

// Returns whether operations wait only for earlier ones, as in nearly every schedule; then there
// can be no cycle.
bool only_forward(const RankView& rank) {
  bool forward = true;
  for (std::uint32_t op = 0; forward && op < rank.ops.size(); ++op)
    each_dependent(rank, op, [&](std::uint32_t dependent) { forward &= dependent > op; });
  return forward;
}

// Runs everything that can run. Returns for each operation how many of those that it waits for
// never end.
std::vector<std::uint32_t> run_what_can(const RankView& rank) {
  std::vector<std::uint32_t> missing(rank.ops.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
    missing[op] = rank.ops[op].dependencies;
    if (missing[op] == 0) ready.push_back(op);
  }
  while (!ready.empty()) {
    const std::uint32_t op = ready.back();
    ready.pop_back();
    each_dependent(rank, op, [&](std::uint32_t dependent) {
      if (--missing[dependent] == 0) ready.push_back(dependent);
    });
  }
  return missing;
}

}  // namespace

std::vector<std::uint32_t> find_cycle(const RankView& rank) {
  if (only_forward(rank)) return {};
  const std::vector<std::uint32_t> missing = run_what_can(rank);
  const auto stuck = std::find_if(missing.begin(), missing.end(), [](auto n) { return n > 0; });
  if (stuck == missing.end()) return {};

  // Each stuck operation waits for another stuck one, so that going back must come round.
  std::vector<std::uint32_t> before(rank.ops.size());
  for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
    if (missing[op] > 0)
      each_dependent(rank, op, [&](std::uint32_t dependent) { before[dependent] = op; });
  }
  std::vector<bool> seen(rank.ops.size());
  auto op = static_cast<std::uint32_t>(stuck - missing.begin());
  while (!seen[op]) {
    seen[op] = true;
    op = before[op];
  }
  std::vector<std::uint32_t> cycle{op};
  for (std::uint32_t at = before[op]; at != op; at = before[at])
    cycle.push_back(at);
  std::reverse(cycle.begin() + 1, cycle.end());
  return cycle;
}

void check_cycles(const model::Schedule& schedule, Findings& findings) {
  for (std::size_t rank = 0; rank < schedule.ranks().size(); ++rank) {
    const std::vector<std::uint32_t> cycle = find_cycle(schedule.ranks()[rank]);
    if (cycle.empty()) continue;
    findings.add(FindingKind::kCycle, [&] {
      std::string text = fmt::format("rank {}: operations ", rank);
      for (std::size_t i = 0; i < std::min(cycle.size(), kShownOperations); ++i)
        text += fmt::format("{} -> ", cycle[i]);
      if (cycle.size() > kShownOperations) text += fmt::format("({} in all) -> ", cycle.size());
      return text + fmt::format("{}", cycle.front());
    });
  }
}

namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

// Builders add an operation after those that it waits for; then there is no circle.
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
  return core::Error{fmt::format("{} and {} do not match one to one", core::counted(sends_, "send"),
                                 core::counted(receives_, "receive"))};
}

}  // namespace assay::goal
