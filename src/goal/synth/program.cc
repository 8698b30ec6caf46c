#include "goal/synth/program.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace assay::goal {
namespace {

std::size_t index_of(Lane lane) {
  return static_cast<std::size_t>(lane);
}

Lane lane_of(Group group) {
  if (group == Group::kTensor) return Lane::kTensor;
  return group == Group::kExpert ? Lane::kExpert : Lane::kData;
}

}  // namespace

std::string_view name_of(Lane lane) {
  constexpr std::array<std::string_view, kLanes> kNames = {
      "computation", "tensor",      "expert",      "data",        "parameters",
      "forward in",  "forward out", "backward in", "backward out"};
  return kNames[index_of(lane)];
}

ProgramOp collective_op(const CollectiveCall& call, Lane lane) {
  return {.kind = ProgramOp::Kind::kCollective, .lane = lane, .call = call};
}

ProgramOp message_op(ProgramOp::Kind kind, Lane lane, const StageMessage& message) {
  return {.kind = kind, .lane = lane, .message = message};
}

void ProgramWriter::compute(double ns) {
  pending_ns_ += ns;
}

std::uint64_t ProgramWriter::take_pending() {
  const double whole = std::floor(pending_ns_);
  pending_ns_ -= whole;
  return static_cast<std::uint64_t>(whole);
}

std::uint32_t ProgramWriter::add(const ProgramOp& op) {
  const auto number = static_cast<std::uint32_t>(program_.ops.size());
  program_.ops.push_back(op);
  last_[index_of(op.lane)] = number;
  return number;
}

void ProgramWriter::wait_for_chain(ProgramOp& op) {
  op.first_wait = static_cast<std::uint32_t>(program_.waits.size());
  op.num_waits = static_cast<std::uint32_t>(chain_.size());
  program_.waits.insert(program_.waits.end(), chain_.begin(), chain_.end());
}

// Makes the computation so far an op of its own.
void ProgramWriter::end_computation() {
  if (pending_ns_ < 1) return;
  ProgramOp op{.compute_ns = take_pending()};
  wait_for_chain(op);
  chain_ = {add(op)};
  joined_[index_of(Lane::kComputation)] = chain_.front();
}

std::uint32_t ProgramWriter::launch(ProgramOp op) {
  end_computation();
  wait_for_chain(op);
  return add(op);
}

void ProgramWriter::join(std::uint32_t op) {
  end_computation();
  if (std::find(chain_.begin(), chain_.end(), op) == chain_.end()) chain_.push_back(op);
  std::uint32_t& joined = joined_[index_of(program_.ops[op].lane)];
  if (joined == kNone || joined < op) joined = op;
}

// The computation before it is a part of it where nothing that may still run lies before it in its
// stream.
void ProgramWriter::call(ProgramOp op) {
  const std::size_t lane = index_of(op.lane);
  if (last_[lane] != joined_[lane]) return join(launch(op));
  op.compute_ns = take_pending();
  wait_for_chain(op);
  chain_ = {add(op)};
  joined_[lane] = chain_.front();
}

void ProgramWriter::run(const Stretches& stretches) {
  for (const Stretch& stretch : stretches) {
    if (!stretch.call) {
      compute(stretch.compute_ns);
      continue;
    }
    const ProgramOp op = collective_op(*stretch.call, lane_of(stretch.call->group));
    if (stretch.compute_ns <= 0) {
      call(op);
      continue;
    }
    const std::uint32_t running = launch(op);
    compute(stretch.compute_ns);
    join(running);
  }
}

Program ProgramWriter::finish() {
  end_computation();
  return std::move(program_);
}

}  // namespace assay::goal
