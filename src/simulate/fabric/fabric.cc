#include "simulate/fabric/fabric.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace assay::simulate {
namespace {

constexpr std::uint16_t kFar = 0xFFFF;

// The finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return mixed(mixed(seed ^ mixed(a)) ^ b);
}

// A number with mean 1 and exponential distribution, of an operation.
double exponential(std::uint64_t seed, std::uint32_t rank, std::uint32_t op) {
  const std::uint64_t bits = mixed(seed, rank, op) >> 11U;
  return -std::log((static_cast<double>(bits) + 1) * 0x1.0p-53);
}

std::int64_t in_whole_ns(double ns) {
  constexpr auto kMost = static_cast<double>(kForeverNs);
  return ns < kMost ? static_cast<std::int64_t>(ns) : kForeverNs + 1;
}

}  // namespace

double Fabric::unit_bytes_per_ns(bool nvlink) const {
  const model::LogGops& link =
      nvlink ? parameters_.intra.value_or(parameters_.inter) : parameters_.inter;
  return 1 / link.gap_ns_per_byte;
}

std::uint32_t Fabric::nic_of(std::uint32_t rank, std::uint32_t nic) const {
  return first_nic_of_rank_[rank] + nic % nics_per_rank_;
}

std::string Fabric::nic_name(std::uint32_t rank, std::uint32_t nic) const {
  const std::uint32_t number = nic_of(rank, nic);
  if (nics_per_node_ == 1) return fmt::format("node{}", number);
  return fmt::format("node{}.nic{}", number / nics_per_node_, number % nics_per_node_);
}

// Links lead both ways and fail both ways, so that the distance from a switch is that to it.
const std::vector<std::uint16_t>& Fabric::distances_to(std::uint32_t target) {
  std::vector<std::uint16_t>& distances = distances_[target];
  if (!distances.empty()) return distances;
  distances.assign(hops_.size(), kFar);
  distances[target] = 0;
  std::map<std::uint32_t, std::vector<std::uint32_t>> reached{{0, {target}}};  // by distance
  for (; !reached.empty(); reached.erase(reached.begin())) {
    const auto& [distance, switches] = *reached.begin();
    for (const std::uint32_t at : switches) {
      if (distances[at] != distance) continue;  // a shorter way was found
      for (const Hop& hop : hops_[at]) {
        const std::uint32_t next = distance + hop.distance;
        if (next >= distances[hop.to] || links_[hop.link].changed == 0) continue;
        distances[hop.to] = static_cast<std::uint16_t>(next);
        reached[next].push_back(hop.to);
      }
    }
  }
  return distances;
}

// The hops that bring a message nearer to its target.
void Fabric::next_hops(std::uint32_t at, std::uint32_t target, std::vector<Hop>& found) {
  const std::vector<std::uint16_t>& distances = distances_to(target);
  found.clear();
  for (const Hop& hop : hops_[at]) {
    if (links_[hop.link].changed > 0 && distances[hop.to] + hop.distance == distances[at]) {
      found.push_back(hop);
    }
  }
}

void Fabric::add_link(std::uint32_t id, double weight, Path& path) const {
  const FabricLink& link = links_[id];
  path.links.push_back({id, weight});
  path.latency_ns += link.latency_ns;
  const double rate = link.changed / link.copies * unit_bytes_per_ns(link.nvlink);
  path.store_ns_per_byte += 1 / rate;
}

bool Fabric::add_one_way(const Ends& ends, Path& path) {
  const std::uint32_t target = switch_of_nic_[ends.to];
  const std::uint64_t hash = mixed(seed_, std::uint64_t{ends.from} << 32U | ends.to, ends.cpu);
  for (std::uint32_t at = switch_of_nic_[ends.from]; at != target;) {
    next_hops(at, target, found_);
    if (found_.empty()) return false;
    const std::uint64_t choice = routing_ == Routing::kFixed ? ends.to : mixed(hash, at, 0);
    const Hop& hop = found_[choice % found_.size()];
    add_link(hop.link, 1, path);
    at = hop.to;
  }
  return true;
}

// Goes through the switches between the two, farthest first, and splits at each what comes there.
Path Fabric::make_spread(std::uint32_t from, std::uint32_t to) {
  struct Part {
    double weight = 0;
    std::int64_t latency_ns = 0;  // of the slowest way here
    double store_ns_per_byte = 0;
  };

  std::unordered_map<std::uint32_t, Part> parts{{from, {.weight = 1}}};
  std::vector<std::uint32_t> now{from};
  Path path;
  while (!now.empty() && now.front() != to) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t at : now) {
      const Part self = parts[at];
      next_hops(at, to, found_);
      double copies = 0;
      for (const Hop& hop : found_)
        copies += links_[hop.link].copies;
      for (const Hop& hop : found_) {
        const FabricLink& link = links_[hop.link];
        const double weight = self.weight * link.copies / copies;
        const double rate = link.changed / link.copies * unit_bytes_per_ns(false);
        path.links.push_back({hop.link, weight});
        if (!parts.contains(hop.to)) next.push_back(hop.to);
        Part& part = parts[hop.to];
        part.weight += weight;
        part.latency_ns = std::max(part.latency_ns, self.latency_ns + link.latency_ns);
        part.store_ns_per_byte =
            std::max(part.store_ns_per_byte, self.store_ns_per_byte + 1 / rate);
      }
    }
    now = std::move(next);
  }
  path.latency_ns = parts[to].latency_ns;
  path.store_ns_per_byte = parts[to].store_ns_per_byte;
  return path;
}

const Fabric::Route* Fabric::fixed_route(const Ends& ends) const {
  const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const Route& route) {
    return route.from == ends.from && route.to == ends.to;
  });
  return found == routes_.end() ? nullptr : &*found;
}

bool Fabric::find_way(const Ends& ends, Path& path) {
  add_link(ends.from, 1, path);
  path.store_ns_per_byte = 0;  // the NIC itself stores nothing
  const std::uint32_t from = switch_of_nic_[ends.from];
  const std::uint32_t to = switch_of_nic_[ends.to];
  if (const Route* route = fixed_route(ends); route != nullptr) {
    for (const LinkShare& share : route->path.links)
      add_link(share.link, 1, path);
  } else if (routing_ == Routing::kSpray && from != to) {
    if (distances_to(to)[from] == kFar) return false;
    const std::uint64_t key = std::uint64_t{from} << 32U | to;
    auto known = spreads_.find(key);
    if (known == spreads_.end()) known = spreads_.emplace(key, make_spread(from, to)).first;
    const Path& spread = known->second;
    path.links.insert(path.links.end(), spread.links.begin(), spread.links.end());
    path.latency_ns += spread.latency_ns;
    path.store_ns_per_byte += spread.store_ns_per_byte;
  } else if (!add_one_way(ends, path)) {
    return false;
  }
  add_link(num_nics_ + ends.to, 1, path);
  return std::all_of(path.links.begin(), path.links.end(),
                     [&](const LinkShare& share) { return links_[share.link].changed > 0; });
}

void Fabric::add_nvlink(const Message& message, Path& path) const {
  const std::uint32_t ranks = (nvlink_end_ - nvlink_begin_) / 2;
  add_link(nvlink_begin_ + message.source, 1, path);
  add_link(nvlink_begin_ + ranks + message.target, 1, path);
  if (!own_nvlink_latency_) {
    path.latency_ns = std::llround(parameters_.intra.value_or(parameters_.inter).latency_ns);
  }
}

void Fabric::finish_latency(const Message& message, Path& path) const {
  if (!own_latency_) path.latency_ns = std::llround(parameters_.inter.latency_ns);
  if (packets_.payload_bytes == 0) return;
  const std::uint64_t packet = std::min<std::uint64_t>(
      packets_.wire_bytes(message.bytes), packets_.payload_bytes + packets_.header_bytes);
  path.latency_ns += std::llround(static_cast<double>(packet) * path.store_ns_per_byte);
}

bool Fabric::find_path(const Message& message, Path& path) {
  path.links.clear();
  path.latency_ns = 0;
  path.store_ns_per_byte = 0;
  if (same_domain(message.source, message.target)) {
    add_nvlink(message, path);
    return true;
  }
  const Ends ends{nic_of(message.source, message.nic), nic_of(message.target, message.nic),
                  message.cpu};
  if (ends.from == ends.to) {
    // Ranks of one node that share a NIC, without NVLink: the message turns at the switch.
    add_link(ends.from, 1, path);
    add_link(num_nics_ + ends.to, 1, path);
  } else if (!find_way(ends, path)) {
    return false;
  }
  finish_latency(message, path);
  return true;
}

std::int64_t Fabric::calc_ns(const Calculation& calculation) const {
  const auto& [rank, op, ns, start_ns] = calculation;
  const bool steady = paces_.empty() || paces_[rank].empty();
  if (steady && noise_.calculation_share == 0) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(ns, kForeverNs + 1));
  }
  auto left_ns = static_cast<double>(ns);
  if (noise_.calculation_share > 0) {
    left_ns *= 1 + noise_.calculation_share * exponential(noise_.seed, rank, op);
  }
  if (steady) return in_whole_ns(left_ns);
  const std::vector<Pace>& paces = paces_[rank];
  auto pace = std::upper_bound(paces.begin(), paces.end(), start_ns,
                               [](std::int64_t time, const Pace& p) { return time < p.from_ns; });
  double length_ns = 0;
  for (std::int64_t at = start_ns; pace != paces.end(); at = (pace++)->from_ns) {
    const auto stretch_ns = static_cast<double>(pace->from_ns - at);
    const double factor = std::prev(pace)->factor;
    if (left_ns * factor <= stretch_ns) return in_whole_ns(length_ns + left_ns * factor);
    length_ns += stretch_ns;
    left_ns -= stretch_ns / factor;
  }
  return in_whole_ns(length_ns + left_ns * paces.back().factor);
}

std::vector<std::int64_t> Fabric::change_times() const {
  std::set<std::int64_t> times;
  for (const LinkChange& change : link_changes_) {
    if (change.from_ns > 0) times.insert(change.from_ns);
    if (change.until_ns < kForeverNs) times.insert(change.until_ns);
  }
  return {times.begin(), times.end()};
}

std::vector<std::uint32_t> Fabric::change_links(std::int64_t now_ns) {
  std::vector<std::uint32_t> changed;
  for (auto first = link_changes_.begin(); first != link_changes_.end();) {
    FabricLink& link = links_[first->link];
    std::optional<double> held;  // the least by the changes that hold
    const auto end = std::find_if(first, link_changes_.end(), [&](const LinkChange& other) {
      return other.link != first->link;
    });
    for (auto self = first; self != end; ++self) {
      if (self->from_ns <= now_ns && now_ns < self->until_ns) {
        held = std::min(held.value_or(self->capacity), self->capacity);
      }
    }
    const double capacity = held.value_or(link.capacity);
    if (capacity != link.changed) {
      link.changed = capacity;
      link.best = std::max(link.best, capacity);
      changed.push_back(first->link);
    }
    first = end;
  }
  if (changed.empty()) return changed;
  spreads_.clear();
  distances_.assign(distances_.size(), {});
  return changed;
}

std::int64_t Fabric::latency_noise_ns(std::uint32_t rank, std::uint32_t op) const {
  if (noise_.latency_ns == 0) return 0;
  return in_whole_ns(noise_.latency_ns * exponential(~noise_.seed, rank, op));
}

}  // namespace assay::simulate
