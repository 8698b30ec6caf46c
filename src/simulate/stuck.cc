#include "simulate/stuck.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/counted.h"
#include "core/text.h"

namespace assay::simulate {
namespace {

using model::OpKind;
using model::RankView;
using model::ScheduleOp;

bool waits_for_partner(const Record& record, OpId id) {
  const OpState& state = record.state(id);
  if (state.phase() == Phase::kPosted || state.phase() == Phase::kSent) return true;
  return record.op(id).kind == OpKind::kSend && state.phase() == Phase::kDone &&
         state.link == kNone;
}

// The rank of the operation cannot go on until the partner has come.
bool holds_up(const Record& record, OpId id) {
  return waits_for_partner(record, id) && record.state(id).phase() != Phase::kDone;
}

// Follows `next` from every start. Returns the first circle; empty when there is none.
class CircleSearch {
 public:
  explicit CircleSearch(const std::vector<std::vector<std::uint32_t>>& next)
      : next_(next), colors_(next.size(), Color::kNew) {}

  std::vector<std::uint32_t> find() {
    for (std::uint32_t start = 0; start < next_.size(); ++start) {
      if (colors_[start] != Color::kNew) continue;
      if (auto circle = find_from(start); !circle.empty()) return circle;
    }
    return {};
  }

 private:
  enum class Color : std::uint8_t { kNew, kOnPath, kOld };

  struct Step {
    std::uint32_t node;
    std::size_t edge = 0;
  };

  std::vector<std::uint32_t> find_from(std::uint32_t start) {
    path_.assign(1, {start});
    colors_[start] = Color::kOnPath;
    while (!path_.empty()) {
      Step& last = path_.back();
      if (last.edge == next_[last.node].size()) {
        colors_[last.node] = Color::kOld;
        path_.pop_back();
        continue;
      }
      const std::uint32_t to = next_[last.node][last.edge++];
      if (colors_[to] == Color::kOnPath) return circle_to(to);
      if (colors_[to] == Color::kOld) continue;
      colors_[to] = Color::kOnPath;
      path_.push_back({to});
    }
    return {};
  }

  [[nodiscard]] std::vector<std::uint32_t> circle_to(std::uint32_t node) const {
    const auto first = std::find_if(path_.begin(), path_.end(),
                                    [&](const Step& step) { return step.node == node; });
    std::vector<std::uint32_t> circle;
    for (auto step = first; step != path_.end(); ++step)
      circle.push_back(step->node);
    return circle;
  }

  const std::vector<std::vector<std::uint32_t>>& next_;
  std::vector<Color> colors_;
  std::vector<Step> path_ = {};
};

template <class Body>
void for_each_dependent(const RankView& view, std::uint32_t op, Body body) {
  for (const auto& list : {view.after_finish(view.ops[op]), view.after_start(view.ops[op])}) {
    for (const auto& dependent : list)
      body(dependent.value);
  }
}

// Returns for each operation how many of its dependencies would remain even if all partners of the
// rank came.
std::vector<std::uint32_t> dependencies_left(const RankView& view) {
  std::vector<std::uint32_t> left(view.ops.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < view.ops.size(); ++i) {
    left[i] = view.ops[i].dependencies;
    if (left[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::uint32_t op = ready.back();
    ready.pop_back();
    for_each_dependent(view, op, [&](std::uint32_t dependent) {
      if (--left[dependent] == 0) ready.push_back(dependent);
    });
  }
  return left;
}

// Returns operations of a rank that wait for each other; empty for most ranks.
std::vector<OpId> dependency_circle(const Record& record, std::uint32_t rank) {
  const RankView& view = record.schedule().ranks()[rank];
  const std::vector<std::uint32_t> left = dependencies_left(view);
  std::vector<std::vector<std::uint32_t>> next(view.ops.size());
  for (std::uint32_t i = 0; i < view.ops.size(); ++i) {
    if (left[i] == 0) continue;
    for_each_dependent(view, i, [&](std::uint32_t dependent) {
      if (left[dependent] > 0) next[i].push_back(dependent);
    });
  }
  std::vector<OpId> circle;
  for (const std::uint32_t op : CircleSearch(next).find())
    circle.push_back({rank, op});
  return circle;
}

// Returns the send that a receive waits for, or the receive that a send waits for, if its rank has
// one that has not found its partner; otherwise op is kNone.
OpId missing_partner(const Record& record, OpId id) {
  const ScheduleOp& self = record.op(id);
  if (self.peer == model::kAnyPeer) return {0, kNone};
  const RankView& view = record.schedule().ranks()[self.peer];
  for (std::uint32_t i = 0; i < view.ops.size(); ++i) {
    const ScheduleOp& other = view.ops[i];
    const bool fits =
        other.kind != self.kind && other.kind != OpKind::kCalc &&
        (other.peer == id.rank || other.peer == model::kAnyPeer) &&
        (other.tag == self.tag || other.tag == model::kAnyTag || self.tag == model::kAnyTag);
    if (fits && record.state({self.peer, i}).phase() == Phase::kBlocked) return {self.peer, i};
  }
  return {self.peer, kNone};
}

std::string rank_name(std::uint32_t rank) {
  return rank == model::kAnyPeer ? "any rank" : fmt::format("rank {}", rank);
}

std::string what_it_waits_for(const Record& record, OpId id) {
  const ScheduleOp& self = record.op(id);
  const bool sends = self.kind == OpKind::kSend;
  const char* wanted = sends ? "receive" : "send";
  const OpId partner = missing_partner(record, id);
  std::string fate = record.state(id).phase() == Phase::kDone ? "its message is not received"
                     : sends                                  ? "nobody receives its message"
                                                              : "no message has come";
  if (self.peer == model::kAnyPeer) return fate;
  if (partner.op == kNone) {
    return fmt::format("{}; rank {} has no {} for it that is not taken by another", fate,
                       partner.rank, wanted);
  }
  return fmt::format("{}; the {} for it, operation {} of rank {}, has not started", fate, wanted,
                     partner.op, partner.rank);
}

std::string arrows(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 12;
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  if (shown.size() < names.size()) {
    shown.push_back(fmt::format("... ({} more)", names.size() - shown.size()));
  }
  shown.push_back(names.front());
  return core::join(shown, " -> ");
}

std::string failed_ranks(const Outcome& outcome) {
  std::string text;
  const Fabric& fabric = outcome.transfers()->fabric();
  for (std::uint32_t rank = 0; rank < outcome.finish_ns.size(); ++rank) {
    const std::int64_t fails_ns = fabric.fails_ns(rank);
    if (fails_ns == kForeverNs) continue;
    text += fmt::format("\n  rank {} does nothing from {} ns on: {} says that it fails", rank,
                        fails_ns, fabric.name());
  }
  return text;
}

}  // namespace

std::string describe(const Record& record, OpId id) {
  const ScheduleOp& op = record.op(id);
  const std::string name = fmt::format("operation {} of rank {}", id.op, id.rank);
  if (op.kind == OpKind::kCalc) {
    return fmt::format("{}, a calculation of {} ns", name, std::uint64_t{op.size});
  }
  const bool sends = op.kind == OpKind::kSend;
  const std::string tag =
      op.tag == model::kAnyTag ? "any tag" : fmt::format("tag {}", std::uint32_t{op.tag});
  return fmt::format("{}, a {} of {} bytes {} {} with {}", name, sends ? "send" : "receive",
                     std::uint64_t{op.size}, sends ? "to" : "from", rank_name(op.peer), tag);
}

Stuck find_stuck(const Outcome& outcome, std::size_t most_examples) {
  const Record& record = outcome.record();
  const auto& ranks = record.schedule().ranks();
  Stuck stuck;
  std::vector<std::vector<std::uint32_t>> waits_for(ranks.size());
  std::vector<OpId> messages;
  // Operations that hold up their rank tell more than messages that nobody receives.
  const auto note_partner = [&](OpId id) {
    const ScheduleOp& op = record.op(id);
    ++(op.kind == OpKind::kSend ? stuck.sends_without_receive : stuck.receives_without_message);
    auto& examples = holds_up(record, id) ? stuck.waiting : messages;
    if (examples.size() < most_examples) examples.push_back(id);
    if (holds_up(record, id) && op.peer != model::kAnyPeer)
      waits_for[id.rank].push_back(std::uint32_t{op.peer});
  };
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const std::uint64_t before = stuck.not_started;
    for (std::uint32_t i = 0; i < ranks[rank].ops.size(); ++i) {
      const OpId id{rank, i};
      if (record.state(id).phase() == Phase::kBlocked) ++stuck.not_started;
      if (waits_for_partner(record, id)) note_partner(id);
    }
    if (stuck.not_started > before && stuck.dependency_circle.empty()) {
      stuck.dependency_circle = dependency_circle(record, rank);
    }
  }
  for (const OpId& id : messages) {
    if (stuck.waiting.size() < most_examples) stuck.waiting.push_back(id);
  }
  stuck.rank_circle = CircleSearch(waits_for).find();
  return stuck;
}

core::Error stuck_error(const Outcome& outcome, const Stuck& stuck) {
  const Record& record = outcome.record();
  const std::uint64_t left = record.num_ops() - outcome.operations_done;
  std::string text =
      left > 0 ? fmt::format("the schedule cannot end: {} of {} {} left", left,
                             core::counted(record.num_ops(), "operation"), left == 1 ? "is" : "are")
               : std::string("the schedule ends, but messages are left");
  text += fmt::format(" ({} without a message, {} without a receive, {} behind them)",
                      core::counted(stuck.receives_without_message, "receive"),
                      core::counted(stuck.sends_without_receive, "send"), stuck.not_started);
  for (const OpId& id : stuck.waiting)
    text += fmt::format("\n  {}: {}", describe(record, id), what_it_waits_for(record, id));
  const std::uint64_t waiting = stuck.receives_without_message + stuck.sends_without_receive;
  if (waiting > stuck.waiting.size()) {
    text += fmt::format("\n  ... and {} more", waiting - stuck.waiting.size());
  }
  if (!stuck.rank_circle.empty()) {
    std::vector<std::string> names;
    for (const std::uint32_t rank : stuck.rank_circle)
      names.push_back(fmt::format("rank {}", rank));
    text += "\n  in a circle, each waits for the next: " + arrows(names);
  }
  if (!stuck.dependency_circle.empty()) {
    std::vector<std::string> names;
    for (const OpId& id : stuck.dependency_circle)
      names.push_back(fmt::format("{}", id.op));
    text += fmt::format("\n  operations of rank {} require each other in a circle: {}",
                        stuck.dependency_circle.front().rank, arrows(names));
  }
  if (outcome.transfers() != nullptr) text += failed_ranks(outcome);
  return core::Error{text};
}

}  // namespace assay::simulate
