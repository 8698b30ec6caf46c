#include "plan/price/tables.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay::plan {
namespace {

using serving::OperatorUse;

const model::PerfField* find_key(const OperatorUse& use, std::string_view column) {
  const auto found =
      std::find_if(use.key.begin(), use.key.end(),
                   [&](const model::PerfField& field) { return field.column == column; });
  return found == use.key.end() ? nullptr : &*found;
}

}  // namespace

std::string_view name_of(Fidelity fidelity) {
  constexpr std::array<std::string_view, 5> kNames = {"engine", "other version", "kernels",
                                                      "other engine", "formula"};
  return kNames[static_cast<std::size_t>(fidelity)];
}

Tables::Tables(std::optional<Engine> engine, Load load, Formula formula, Cost cost)
    : engine_(engine),
      load_(std::move(load)),
      formula_(std::move(formula)),
      cost_(std::move(cost)) {}

core::Result<std::vector<TableSource>> Tables::sources(const std::string& table) {
  if (const auto known = loaded_.find(table); known != loaded_.end()) return known->second;
  auto sources = ASSAY_TRY(load_(table));
  return loaded_.emplace(table, std::move(sources)).first->second;
}

// TensorRT-LLM's rows of fp8 products compute the scale of their input first. Checkpoints with fp8
// weights bring these scales.
std::optional<OperatorUse> Tables::held_beside(const OperatorUse& use) const {
  if (engine_ != Engine::kTrtllm || use.table != "gemm_perf") return std::nullopt;
  const model::PerfField* type = find_key(use, "gemm_dtype");
  if (type == nullptr || type->value != model::PerfValue(std::string("fp8"))) return std::nullopt;
  return OperatorUse{.role = "scale of the input",
                     .op = "compute_scale",
                     .table = "computescale_perf",
                     .op_name = "compute_scale",
                     .key = {{"quant_dtype", type->value}, *find_key(use, "k")},
                     .sizes = use.sizes,
                     .count = use.count};
}

}  // namespace assay::plan
