#include "simulate/fabric/sharing.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace assay::simulate {
namespace {

// Sums of rates differ from their exact values by far less, differences between rates that matter
// are far larger.
constexpr double kTolerance = 1e-9;

}  // namespace

Sharing::Sharing(const std::vector<double>& capacities) {
  links_.reserve(capacities.size());
  for (const double capacity : capacities)
    links_.push_back({.capacity = capacity});
}

std::uint32_t Sharing::add(std::span<const LinkShare> path) {
  std::uint32_t id = 0;
  if (free_flows_.empty()) {
    id = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
    paths_.emplace_back();
  } else {
    id = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.rate = 0;
  flow.bottleneck = kNoLink;
  enter_links(id, path);
  dirty_flows_.push_back(id);
  return id;
}

void Sharing::enter_links(std::uint32_t flow, std::span<const LinkShare> path) {
  std::vector<Part>& parts = paths_[flow];
  for (const LinkShare& share : path) {
    std::vector<Entry>& entries = links_[share.link].flows;
    parts.push_back({share.link, static_cast<std::uint32_t>(entries.size()), share.weight});
    entries.push_back({flow, static_cast<std::uint32_t>(parts.size() - 1), share.weight});
  }
}

void Sharing::leave_links(std::uint32_t flow) {
  for (const Part& part : paths_[flow]) {
    std::vector<Entry>& entries = links_[part.link].flows;
    entries[part.place] = entries.back();
    paths_[entries[part.place].flow][entries[part.place].part].place = part.place;
    entries.pop_back();
  }
}

void Sharing::remove(std::uint32_t flow) {
  leave_links(flow);
  dirty_flows_.push_back(flow);
  removed_flows_.push_back(flow);
}

void Sharing::reroute(std::uint32_t flow, std::span<const LinkShare> path) {
  leave_links(flow);
  for (const Part& part : paths_[flow]) {
    for (const Entry& entry : links_[part.link].flows) {
      if (flows_[entry.flow].bottleneck == part.link) dirty_flows_.push_back(entry.flow);
    }
  }
  paths_[flow].clear();
  flows_[flow].rate = 0;
  flows_[flow].bottleneck = kNoLink;
  enter_links(flow, path);
  dirty_flows_.push_back(flow);
}

void Sharing::set_capacity(std::uint32_t link, double capacity) {
  links_[link].capacity = capacity;
  for (const Entry& entry : links_[link].flows)
    dirty_flows_.push_back(entry.flow);
}

void Sharing::take_in(std::uint32_t flow) {
  Flow& self = flows_[flow];
  if (self.inside) return;
  self.inside = true;
  self.old_rate = self.rate;
  inside_.push_back(flow);
}

// Takes in the flows whose bottleneck is on the path of one that is inside.
void Sharing::take_in_all_felt() {
  for (; felt_ < inside_.size(); ++felt_) {
    for (const Part& part : paths_[inside_[felt_]]) {
      Link& link = links_[part.link];
      if (link.touched) continue;
      link.touched = true;
      touched_.push_back(part.link);
      for (const Entry& entry : link.flows) {
        if (flows_[entry.flow].bottleneck == part.link) take_in(entry.flow);
      }
    }
  }
}

// A flow that was removed has no entries any more, but still its path.
void Sharing::take_in_dirty() {
  for (const std::uint32_t flow : removed_flows_) {
    for (const Part& part : paths_[flow]) {
      for (const Entry& entry : links_[part.link].flows) {
        if (flows_[entry.flow].bottleneck == part.link) take_in(entry.flow);
      }
    }
    paths_[flow].clear();
    flows_[flow].bottleneck = kNoLink;
    free_flows_.push_back(flow);
  }
  for (const std::uint32_t flow : dirty_flows_) {
    if (!paths_[flow].empty()) take_in(flow);
  }
  removed_flows_.clear();
  dirty_flows_.clear();
}

void Sharing::push(std::uint32_t link) {
  heap_.emplace_back(links_[link].left / links_[link].weight, link);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void Sharing::prepare() {
  for (const std::uint32_t flow : inside_)
    flows_[flow].filled = false;
  heap_.clear();
  for (const std::uint32_t id : touched_) {
    Link& link = links_[id];
    link.left = link.capacity;
    link.weight = 0;
    link.growing = 0;
    for (const Entry& entry : link.flows) {
      const Flow& flow = flows_[entry.flow];
      const double weight = entry.weight;
      if (flow.inside) {
        link.weight += weight;
        ++link.growing;
      } else {
        link.left -= weight * flow.rate;
      }
    }
    link.left = std::max(link.left, 0.0);
    if (link.growing > 0) heap_.emplace_back(link.left / link.weight, id);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
}

// Gives the growing flows of a full link their rate.
void Sharing::fill_link(std::uint32_t full) {
  const double rate = links_[full].left / links_[full].weight;
  for (const Entry& entry : links_[full].flows) {
    Flow& flow = flows_[entry.flow];
    if (!flow.inside || flow.filled) continue;
    flow.filled = true;
    flow.rate = rate;
    flow.bottleneck = full;
    for (const Part& part : paths_[entry.flow]) {
      Link& link = links_[part.link];
      link.left = std::max(link.left - part.weight * rate, 0.0);
      link.weight -= part.weight;
      --link.growing;
    }
  }
}

// The rates at which links would be full only grow while others are filled, so that an entry of the
// heap is never too high: one that is too low comes back with its new rate.
void Sharing::fill() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const auto [rate, id] = heap_.back();
    heap_.pop_back();
    const Link& link = links_[id];
    if (link.growing == 0) continue;
    if (link.left > rate * link.weight * (1 + kTolerance)) {
      push(id);
    } else {
      fill_link(id);
    }
  }
}

bool Sharing::take_in_unfair_on(std::uint32_t id) {
  const Link& link = links_[id];
  double load = 0;
  double highest_inside = 0;
  double lowest_held = std::numeric_limits<double>::infinity();  // of those that it holds back
  for (const Entry& entry : link.flows) {
    const Flow& flow = flows_[entry.flow];
    load += flow.rate * entry.weight;
    if (!flow.inside) continue;
    highest_inside = std::max(highest_inside, flow.rate);
    if (flow.bottleneck == id) lowest_held = std::min(lowest_held, flow.rate);
  }
  const bool full = load >= link.capacity * (1 - kTolerance);
  const std::size_t before = inside_.size();
  for (const Entry& entry : link.flows) {
    const Flow& flow = flows_[entry.flow];
    if (flow.inside) continue;
    const bool takes_too_much = flow.rate > lowest_held * (1 + kTolerance);
    const bool has_it = flow.bottleneck == id;
    const bool lost_it = has_it && (!full || highest_inside > flow.rate * (1 + kTolerance));
    if (takes_too_much || lost_it) take_in(entry.flow);
  }
  return inside_.size() > before;
}

bool Sharing::take_in_unfair() {
  bool any = false;
  const std::size_t touched = touched_.size();
  for (std::size_t i = 0; i < touched; ++i)
    any |= take_in_unfair_on(touched_[i]);
  return any;
}

void Sharing::collect_changed() {
  changed_.clear();
  for (const std::uint32_t id : inside_) {
    Flow& flow = flows_[id];
    flow.inside = false;
    const double difference =
        flow.rate > flow.old_rate ? flow.rate - flow.old_rate : flow.old_rate - flow.rate;
    if (difference > kTolerance * flow.old_rate) {
      changed_.push_back(id);
    } else {
      flow.rate = flow.old_rate;
    }
  }
  for (const std::uint32_t id : touched_)
    links_[id].touched = false;
  inside_.clear();
  touched_.clear();
  felt_ = 0;
}

std::span<const std::uint32_t> Sharing::settle() {
  take_in_dirty();
  do {
    take_in_all_felt();
    prepare();
    fill();
  } while (take_in_unfair());
  collect_changed();
  return changed_;
}

}  // namespace assay::simulate
