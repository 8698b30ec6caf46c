#include "model/schedule_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace assay::model {

std::uint32_t RankBuilder::add(const ScheduleOp& op) {
  image_.max_cpu = std::max<unsigned>(image_.max_cpu, op.cpu);
  image_.max_nic = std::max<unsigned>(image_.max_nic, op.nic);
  ops_.push_back(op);
  return static_cast<std::uint32_t>(ops_.size() - 1);
}

std::uint32_t RankBuilder::send(std::uint64_t size_bytes,
                                std::uint32_t peer,
                                std::uint32_t tag,
                                Place place) {
  return add({.kind = OpKind::kSend,
              .peer = peer,
              .size = size_bytes,
              .tag = tag,
              .cpu = place.cpu,
              .nic = place.nic});
}

std::uint32_t RankBuilder::receive(std::uint64_t size_bytes,
                                   std::uint32_t peer,
                                   std::uint32_t tag,
                                   Place place) {
  return add({.kind = OpKind::kReceive,
              .peer = peer,
              .size = size_bytes,
              .tag = tag,
              .cpu = place.cpu,
              .nic = place.nic});
}

std::uint32_t RankBuilder::calc(std::uint64_t duration_ns, Place place) {
  return add({.kind = OpKind::kCalc, .size = duration_ns, .cpu = place.cpu, .nic = place.nic});
}

void RankBuilder::count_edges() {
  for (const Edge& edge : finish_) {
    ++ops_[edge.before].finish_dependents;
    ++ops_[edge.after].dependencies;
  }
  for (const Edge& edge : start_) {
    ++ops_[edge.before].start_dependents;
    ++ops_[edge.after].dependencies;
  }
}

void RankBuilder::number_dependents() {
  std::uint32_t next = 0;
  for (ScheduleOp& op : ops_) {
    op.first_finish_dependent = next;
    next += op.finish_dependents;
    op.first_start_dependent = next;
    next += op.start_dependents;
  }
}

void RankBuilder::place_dependents(PackedIndex* dependents) {
  next_.resize(ops_.size());
  // A pointer to a member would forget that the member is unaligned.
  const auto place = [&](const std::vector<Edge>& edges, const auto& first_dependent) {
    if (edges.empty()) return;
    for (std::size_t i = 0; i < ops_.size(); ++i)
      next_[i] = first_dependent(ops_[i]);
    for (const Edge& edge : edges)
      dependents[next_[edge.before]++].value = edge.after;
  };
  place(finish_, [](const ScheduleOp& op) { return op.first_finish_dependent; });
  place(start_, [](const ScheduleOp& op) { return op.first_start_dependent; });
}

RankImage RankBuilder::finish(RankImage spent) {
  count_edges();
  number_dependents();
  const auto roots = static_cast<std::uint32_t>(std::count_if(
      ops_.begin(), ops_.end(), [](const ScheduleOp& op) { return op.dependencies == 0; }));
  const std::size_t edges = finish_.size() + start_.size();
  image_.bytes = std::move(spent.bytes);
  image_.bytes.resize((2 + roots + edges) * sizeof(PackedIndex) + ops_.size() * sizeof(ScheduleOp));

  auto* index = reinterpret_cast<PackedIndex*>(image_.bytes.data());
  (index++)->value = static_cast<std::uint32_t>(ops_.size());
  (index++)->value = roots;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].dependencies == 0) (index++)->value = i;
  }
  auto* cursor = reinterpret_cast<char*>(index);
  if (!ops_.empty()) std::memcpy(cursor, ops_.data(), ops_.size() * sizeof(ScheduleOp));
  place_dependents(reinterpret_cast<PackedIndex*>(cursor + ops_.size() * sizeof(ScheduleOp)));
  ops_.clear();
  finish_.clear();
  start_.clear();
  return std::exchange(image_, {});
}

}  // namespace assay::model
