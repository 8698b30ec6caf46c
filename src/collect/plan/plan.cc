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

#include "collect/plan/power_choice.h"
#include "core/text.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kFirstChecked = 3;

std::string json_of(const model::PerfValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value)) return core::shortest(*number);
  return '"' + core::json_escaped(std::get<std::string>(value)) + '"';
}

std::string json_of(const Case& point) {
  std::string text = "{";
  for (std::size_t i = 0; i < point.values().size(); ++i) {
    if (i > 0) text += ',';
    text +=
        '"' + core::json_escaped(point.op().axes[i].column) + "\":" + json_of(point.values()[i]);
  }
  return text + '}';
}

bool is_wanted(const std::string& id, const std::vector<std::string>& filters) {
  if (filters.empty()) return true;
  return std::any_of(filters.begin(), filters.end(), [&](const std::string& filter) {
    return id.find(filter) != std::string::npos;
  });
}

// Takes every `step`th case, over and over, so that large cases, which come first, are spread out.
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

bool is_measured(const PlannedCase& planned, const MeasuredCases& measured) {
  if (!measured.ids.contains(planned.id)) return false;
  return !planned.measure_power || measured.with_power.contains(planned.id);
}

std::vector<PlannedCase> all_of(const Operator& op, const PlanOptions& options) {
  std::vector<PlannedCase> cases;
  for (const Case& point : cases_of(op, options.grid, options.overrides)) {
    cases.push_back(planned_case(point));
  }
  return cases;
}

}  // namespace

std::vector<PlannedCase> select_cases(std::vector<PlannedCase> all, const PlanOptions& options) {
  std::vector<PlannedCase> cases;
  std::unordered_set<std::string> ids;
  for (PlannedCase& planned : all) {
    if (is_wanted(planned.id, options.case_filters) && ids.insert(planned.id).second)
      cases.push_back(std::move(planned));
  }
  if (options.power_every) choose_power(cases, *options.power_every);
  std::erase_if(cases,
                [&](const PlannedCase& planned) { return is_measured(planned, options.measured); });
  if (options.order == Order::kShuffled) {
    std::mt19937_64 random(options.seed);
    shuffle(cases, random);
  }
  if (options.limit && *options.limit < static_cast<std::int64_t>(cases.size())) {
    cases.resize(static_cast<std::size_t>(*options.limit));
  }
  if (options.order == Order::kMixed) mix(cases);
  std::int64_t place = 0;
  for (PlannedCase& planned : cases) {
    planned.check =
        options.check_every > 0 && (place < kFirstChecked || place % options.check_every == 0);
    ++place;
  }
  return cases;
}

PlannedCase planned_case(const Case& point) {
  return {.operator_name = point.op().name,
          .id = point.id(),
          .json = json_of(point),
          .devices = point.op().ranks_axis >= 0 ? Devices::kAll : Devices::kOne};
}

Plan make_plan(const PlanOptions& options) {
  Plan plan;
  std::set<const Operator*> once;
  for (const Operator* op : options.operators) {
    if (!once.insert(op).second) continue;
    for (PlannedCase& planned : select_cases(all_of(*op, options), options))
      plan.cases.push_back(std::move(planned));
  }
  plan.hash = plan_hash(plan.cases);
  return plan;
}

core::Status keep_collectives(std::vector<const Operator*>& operators, Chosen chosen) {
  const auto is_alone = [](const Operator* op) { return op->ranks_axis < 0; };
  const auto first = std::find_if(operators.begin(), operators.end(), is_alone);
  if (chosen == Chosen::kByName && first != operators.end()) {
    return core::Error{
        fmt::format("under mpirun or srun only collectives are measured; start '{}' without them",
                    (*first)->name)};
  }
  std::erase_if(operators, is_alone);
  return {};
}

// FNV-1a over the sorted ids, each of which ends with a line feed.
std::string plan_hash(const std::vector<PlannedCase>& cases) {
  std::vector<std::string_view> ids;
  ids.reserve(cases.size());
  for (const PlannedCase& planned : cases)
    ids.emplace_back(planned.id);
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
