#include "trace/path/places.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace assay::trace::path {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
  return (seed ^ (value + 0x9E3779B97F4A7C15ULL + (seed << 6) + (seed >> 2))) *
         0xFF51AFD7ED558CCDULL;
}

void number_works(const Execution& execution, Places& places) {
  places.lane_works.resize(execution.lanes.size());
  places.step.assign(execution.works.size(), -1);
  places.position.resize(execution.works.size());
  for (const Rank& rank : execution.ranks) {
    std::size_t s = 0;
    for (WorkId w = rank.first; w < rank.last; ++w) {
      const Work& work = execution.works[w];
      const auto is_over = [&](std::size_t step) {
        const bool is_last = step + 1 == execution.steps.size();
        return is_last ? work.start_ns > rank.step_end[step] : work.start_ns >= rank.step_end[step];
      };
      while (s < execution.steps.size() && is_over(s))
        ++s;
      const bool inside = s < execution.steps.size() && work.start_ns >= rank.step_start[s];
      places.step[w] = inside ? static_cast<std::int32_t>(s) : -1;
      places.position[w] = static_cast<std::uint32_t>(places.lane_works[work.lane].size());
      places.lane_works[work.lane].push_back(w);
    }
  }
}

void bound_steps(const Execution& execution, Places& places) {
  const std::size_t steps = execution.steps.size();
  places.step_first.assign(execution.lanes.size(), std::vector<std::uint32_t>(steps, 0));
  places.step_last = places.step_first;
  for (std::size_t l = 0; l < execution.lanes.size(); ++l) {
    for (std::uint32_t p = 0; p < places.lane_works[l].size(); ++p) {
      const std::int32_t step = places.step[places.lane_works[l][p]];
      if (step < 0) continue;
      const auto s = static_cast<std::size_t>(step);
      if (places.step_last[l][s] == 0) places.step_first[l][s] = p;
      places.step_last[l][s] = p + 1;
    }
  }
}

// A lane is known by the kernels of its usual step.
std::uint64_t usual_class(const std::vector<std::uint64_t>& classes) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const std::uint64_t one : classes)
    ++counts[one];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

void classify_lanes(const Execution& execution, Places& places) {
  const std::vector<std::uint64_t> keys = kernel_keys(execution);
  places.step_class.assign(execution.ranks.size(),
                           std::vector<std::uint64_t>(execution.steps.size(), 0));
  std::map<std::pair<std::uint16_t, std::uint64_t>, std::uint64_t> alike;
  for (std::uint32_t l = 0; l < execution.lanes.size(); ++l) {
    std::vector<std::uint64_t> classes;
    for (std::size_t s = 0; s < execution.steps.size(); ++s) {
      std::uint64_t hash = 0;
      for (const WorkId work : places.works_of(l, s))
        hash = mixed(hash, keys[execution.works[work].kernel]);
      classes.push_back(hash);
    }
    const std::uint64_t usual = usual_class(classes);
    const std::uint16_t rank = execution.lanes[l].rank;
    places.role.push_back(mixed(usual, alike[{rank, usual}]++));
    for (std::size_t s = 0; s < classes.size(); ++s)
      places.step_class[rank][s] += mixed(places.role.back(), classes[s]);
  }
}

}  // namespace

std::vector<std::uint64_t> kernel_keys(const Execution& execution) {
  std::vector<std::uint64_t> keys;
  keys.reserve(execution.kernels.size());
  for (const Kernel& kernel : execution.kernels)
    keys.push_back(mixed(std::hash<std::string_view>()(kernel.name),
                         std::hash<std::string_view>()(kernel.message)));
  return keys;
}

Places places_of(const Execution& execution) {
  Places places;
  number_works(execution, places);
  bound_steps(execution, places);
  classify_lanes(execution, places);
  return places;
}

}  // namespace assay::trace::path
