#include "collect/plan/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/text.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kFirstChecked = 3;

std::string json_of(const model::PerfValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return core::shortest(*number);
  return '"' + core::json_escaped(std::get<std::string>(value)) + '"';
}

std::string json_of(const Case& one) {
  std::string json = "{";
  for (std::size_t i = 0; i < one.values().size(); ++i) {
    if (i > 0) json += ',';
    json += '"' + core::json_escaped(one.of().axes[i].column) + "\":" + json_of(one.values()[i]);
  }
  return json + '}';
}

bool is_wanted(const std::string& id, const std::vector<std::string>& filters) {
  if (filters.empty()) return true;
  return std::any_of(filters.begin(), filters.end(), [&](const std::string& filter) {
    return id.find(filter) != std::string::npos;
  });
}

// Not std::shuffle, whose order is another one with every standard library.
void shuffle(std::vector<PlannedCase>& cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = cases.size(); i > 1; --i)
    std::swap(cases[i - 1], cases[random() % i]);
}

// Every `step`th case, over and over: large cases come first in what is mixed.
void mix(std::vector<PlannedCase>& cases) {
  constexpr double kGoldenSection = 0.618;
  const std::size_t count = cases.size();
  auto step = static_cast<std::size_t>(std::lround(kGoldenSection * static_cast<double>(count)));
  while (step > 1 && std::gcd(step, count) != 1)
    --step;
  if (step < 2) return;
  std::vector<PlannedCase> mixed;
  mixed.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    mixed.push_back(std::move(cases[i * step % count]));
  cases = std::move(mixed);
}

std::vector<PlannedCase> all_of(const Operator& of, const PlanOptions& options) {
  std::vector<PlannedCase> cases;
  for (const Case& one : cases_of(of, options.grid, options.overrides)) {
    cases.push_back(planned_case(one));
  }
  return cases;
}

}  // namespace

std::vector<PlannedCase> select_cases(std::vector<PlannedCase> all, const PlanOptions& options) {
  std::vector<PlannedCase> cases;
  std::unordered_set<std::string> ids;
  for (PlannedCase& one : all) {
    if (is_wanted(one.id, options.case_filters) && ids.insert(one.id).second) {
      cases.push_back(std::move(one));
    }
  }
  if (options.order == Order::kShuffled) shuffle(cases, options.seed);
  if (options.limit && *options.limit < static_cast<std::int64_t>(cases.size())) {
    cases.resize(static_cast<std::size_t>(*options.limit));
  }
  if (options.order == Order::kMixed) mix(cases);
  std::int64_t place = 0;
  for (PlannedCase& one : cases) {
    one.check =
        options.check_every > 0 && (place < kFirstChecked || place % options.check_every == 0);
    ++place;
  }
  return cases;
}

PlannedCase planned_case(const Case& one) {
  return {.operator_name = one.of().name,
          .id = one.id(),
          .json = json_of(one),
          .devices = one.of().ranks_axis >= 0 ? Devices::kAll : Devices::kOne};
}

Plan make_plan(const PlanOptions& options) {
  Plan plan;
  std::set<const Operator*> once;
  for (const Operator* of : options.operators) {
    if (!once.insert(of).second) continue;
    for (PlannedCase& one : select_cases(all_of(*of, options), options))
      plan.cases.push_back(std::move(one));
  }
  plan.hash = plan_hash(plan.cases);
  return plan;
}

// FNV-1a over the sorted ids, each with an end.
std::string plan_hash(const std::vector<PlannedCase>& cases) {
  std::vector<std::string_view> ids;
  ids.reserve(cases.size());
  for (const PlannedCase& one : cases)
    ids.emplace_back(one.id);
  std::sort(ids.begin(), ids.end());
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](char c) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  for (const std::string_view id : ids) {
    std::for_each(id.begin(), id.end(), add);
    add('\n');
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace assay::collect
