#include "trace/compare/environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "core/text.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {
namespace {

using Environments = std::span<const RunEnvironment>;

// One item that differs, with its values in the runs.
struct Item {
  std::string name;
  std::string first;
  std::vector<std::string> others = {};  // each distinct value once
  std::vector<int> runs = {};
};

void note(std::vector<Item>& items, const model::FactDifference& difference, int run) {
  auto item = std::find_if(items.begin(), items.end(),
                           [&](const Item& seen) { return seen.name == difference.item; });
  if (item == items.end())
    item = items.insert(items.end(), {.name = difference.item, .first = difference.first});
  if (std::find(item->others.begin(), item->others.end(), difference.second) == item->others.end())
    item->others.push_back(difference.second);
  item->runs.push_back(run);
}

std::vector<Item> items_that_differ(const model::Facts& reference, Environments runs) {
  std::vector<Item> items;
  for (const RunEnvironment& environment : runs)
    for (const model::FactDifference& difference : model::differences(reference, environment.facts))
      note(items, difference, environment.run);
  return items;
}

std::vector<EnvironmentDifference> against(const std::string& reference_name,
                                           const model::Facts& reference,
                                           const Configuration& side,
                                           Environments runs) {
  std::vector<EnvironmentDifference> differences;
  for (const Item& item : items_that_differ(reference, runs)) {
    const std::string first_run = run_name(side, item.runs.front());
    const std::string& where = item.runs.size() == 1 ? first_run : side.label;
    differences.push_back({.item = item.name,
                           .values = fmt::format("{} in {}, {} in {}", item.first, reference_name,
                                                 core::join(item.others, " and "), where),
                           .first_run = first_run,
                           .runs_differing = static_cast<std::int64_t>(item.runs.size())});
  }
  return differences;
}

std::vector<EnvironmentDifference> among_repeats(const Configuration& side) {
  if (side.environments.size() < 2) return {};
  const RunEnvironment& first = side.environments.front();
  return against(run_name(side, first.run), first.facts, side,
                 Environments(side.environments).subspan(1));
}

}  // namespace

std::vector<EnvironmentDifference> environment_differences(const Sides& sides) {
  std::vector<EnvironmentDifference> all;
  const auto append = [&all](std::vector<EnvironmentDifference> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  const std::vector<RunEnvironment>& baseline = sides.baseline.environments;
  if (!baseline.empty())
    append(against(run_name(sides.baseline, baseline.front().run), baseline.front().facts,
                   sides.test, sides.test.environments));
  append(among_repeats(sides.baseline));
  append(among_repeats(sides.test));
  return all;
}

std::string in_words(const EnvironmentDifference& difference) {
  return fmt::format("different {}: {}", difference.item, difference.values);
}

bool environments_known(const Sides& sides) {
  return !sides.baseline.environments.empty() && !sides.test.environments.empty();
}

}  // namespace assay::trace
