#include "collect/plan/plan_for_models.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

namespace assay::collect {
namespace {

bool has_axis(const Operator& op, const std::string& column) {
  return std::any_of(op.axes.begin(), op.axes.end(),
                     [&](const Axis& axis) { return axis.column == column; });
}

const model::PerfValue* given_value(const std::vector<AxisOverride>& overrides,
                                    const std::string& column) {
  for (const AxisOverride& given : overrides) {
    if (given.column == column) return &given.values.front();
  }
  return nullptr;
}

bool agrees(const AxisGroup& group,
            const std::vector<model::PerfValue>& row,
            const std::vector<AxisOverride>& overrides) {
  bool any = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const model::PerfValue* given = given_value(overrides, group.columns[i]);
    if (given != nullptr && *given != row[i]) return false;
    any = any || given != nullptr;
  }
  return any;
}

// A use leaves out what changes no work (tp_size beside the number of heads): of a row of the
// group that has the use's values, the others are taken, too.
void complete(const AxisGroup& group, std::vector<AxisOverride>& overrides) {
  const auto found = std::find_if(group.common.begin(), group.common.end(),
                                  [&](const auto& row) { return agrees(group, row, overrides); });
  if (found == group.common.end()) return;
  for (std::size_t i = 0; i < group.columns.size(); ++i) {
    if (given_value(overrides, group.columns[i]) == nullptr)
      overrides.push_back({group.columns[i], {(*found)[i]}});
  }
}

// Columns that are no axes have one value in all cases of the operator.
std::vector<AxisOverride> overrides_of(const Operator& op, const serving::OperatorUse& use) {
  std::vector<AxisOverride> overrides;
  for (const model::PerfField& field : use.key) {
    if (has_axis(op, field.column)) overrides.push_back({field.column, {field.value}});
  }
  if (has_axis(op, "op_name")) overrides.push_back({"op_name", {model::PerfValue(use.op_name)}});
  for (const AxisGroup& group : op.groups)
    complete(group, overrides);
  return overrides;
}

constexpr std::string_view kLayerOperator = "decode_layer";

template <class Value>
bool has_value(const std::vector<Value>& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool covers(const serving::NeedsRequest& request, const serving::Model& model, const Case& layer) {
  const auto weights = serving::quantization_named(layer.text("quantization"));
  const bool is_config =
      weights == serving::quantization_of(model.precision) && has_value(request.quantizations, {});
  const bool has_experts_together = request.ep.empty() || !model.has_experts() ||
                                    has_value(request.ep, layer.integer("moe_ep_size"));
  return has_value(request.phases, serving::Phase::kGeneration) && has_experts_together &&
         has_value(request.tp, layer.integer("tp_size")) &&
         (is_config || has_value(request.quantizations, weights));
}

class ModelCases {
 public:
  explicit ModelCases(const PlanOptions& options) : options_(options) {}

  void add(const serving::OperatorUse& use) {
    const Operator* op = find_operator(use.op);
    const auto& chosen = options_.operators;
    if (op == nullptr && chosen.size() == all_operators().size())
      note(use.op, "no operator of this program measures it");
    if (op == nullptr || !has_value(chosen, op)) return;
    const std::vector<AxisOverride> overrides = overrides_of(*op, use);
    for (const AxisOverride& given : overrides) {
      if (const core::Status good = check_override(*op, given); !good.ok()) {
        note(use.op, good.error().message);
        return;
      }
    }
    for (const Case& point : cases_of(*op, options_.grid, overrides))
      cases_[op].push_back(planned_case(point));
  }

  // The sweep's cases of one model's decoding layer that the request covers.
  void add_layer(const serving::Model& model, const serving::NeedsRequest& request) {
    const Operator* op = find_operator(kLayerOperator);
    if (!has_value(options_.operators, op)) return;
    const AxisOverride named{"model", {model::PerfValue(model.name)}};
    if (!check_override(*op, named).ok()) return;  // it does not ship with assay
    for (const Case& point : cases_of(*op, options_.grid, {named})) {
      if (covers(request, model, point)) cases_[op].push_back(planned_case(point));
    }
  }

  [[nodiscard]] ModelsPlan made() && {
    ModelsPlan made;
    for (const Operator* op : options_.operators) {
      const auto found = cases_.find(op);
      if (found == cases_.end()) continue;
      for (PlannedCase& planned : select_cases(std::move(found->second), options_))
        made.plan.cases.push_back(std::move(planned));
      cases_.erase(found);
    }
    made.plan.hash = plan_hash(made.plan.cases);
    for (auto& [key, uses] : unmeasured_)
      made.unmeasured.push_back({key.first, key.second, uses});
    return made;
  }

 private:
  void note(const std::string& op, const std::string& reason) { ++unmeasured_[{op, reason}]; }

  const PlanOptions& options_;
  std::map<const Operator*, std::vector<PlannedCase>> cases_;
  std::map<std::pair<std::string, std::string>, std::int64_t> unmeasured_;
};

}  // namespace

ModelsPlan plan_for_models(const serving::NeedsRequest& request,
                           const std::vector<serving::Need>& needs,
                           const PlanOptions& options) {
  ModelCases cases(options);
  for (const serving::Need& need : needs)
    cases.add(need.use);
  for (const serving::Model& model : request.models)
    cases.add_layer(model, request);
  return std::move(cases).made();
}

}  // namespace assay::collect
