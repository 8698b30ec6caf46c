// Leads messages to the lanes of a rank by source and key, and counts those that are here before
// their lane or their receive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulate/record.h"

namespace assay::simulate {

// A hash table with open addressing and linear probing. Only routes with a lane or with messages
// have an entry.
class Routes {
 public:
  struct Route {
    std::uint64_t id = kFree;
    std::uint32_t lane = kNone;
    std::uint32_t early = 0;  // messages that no receive has taken
  };

  // The reference holds until the next call.
  Route& at(std::uint32_t source, std::uint32_t key) {
    if ((used_ + 1) * 4 > routes_.size() * 3) grow();
    const std::uint64_t id = std::uint64_t{source} << 32U | key;
    Route& found = routes_[find(id)];
    if (found.id == kFree) {
      found = {.id = id};
      ++used_;
    }
    return found;
  }

  // Forgets the lane of a route and, without messages, the route.
  void leave(std::uint32_t source, std::uint32_t key) {
    const std::size_t index = find(std::uint64_t{source} << 32U | key);
    if (routes_[index].id == kFree) return;
    routes_[index].lane = kNone;
    if (routes_[index].early == 0) erase(index);
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  [[nodiscard]] std::size_t home(std::uint64_t id) const {
    return (id * std::uint64_t{0x9E3779B97F4A7C15} >> 32U) & (routes_.size() - 1);
  }

  [[nodiscard]] std::size_t find(std::uint64_t id) const {
    std::size_t index = home(id);
    while (routes_[index].id != kFree && routes_[index].id != id)
      index = (index + 1) & (routes_.size() - 1);
    return index;
  }

  void grow() {
    std::vector<Route> old(routes_.empty() ? 16 : routes_.size() * 2);
    old.swap(routes_);
    for (const Route& route : old) {
      if (route.id != kFree) routes_[find(route.id)] = route;
    }
  }

  // Moves back the entries that probing had pushed past this one.
  void erase(std::size_t hole) {
    const std::size_t mask = routes_.size() - 1;
    for (std::size_t next = (hole + 1) & mask; routes_[next].id != kFree;
         next = (next + 1) & mask) {
      const std::size_t wanted = home(routes_[next].id);
      if (((next - wanted) & mask) < ((next - hole) & mask)) continue;
      routes_[hole] = routes_[next];
      hole = next;
    }
    routes_[hole] = {};
    --used_;
  }

  std::vector<Route> routes_;
  std::size_t used_ = 0;
};

}  // namespace assay::simulate
