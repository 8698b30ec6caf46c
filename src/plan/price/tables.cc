#include "plan/price/tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace assay::plan {
std::string_view name_of(Fidelity fidelity) {
  constexpr std::array<std::string_view, 8> kNames = {"engine",       "other version", "kernels",
                                                      "other engine", "scaled",        "links",
                                                      "formula",      "lower bound"};
  return kNames[static_cast<std::size_t>(fidelity)];
}

Tables::Tables(std::optional<Engine> engine, Load load, Formula formula, Cost cost)
    : engine_(engine),
      load_(std::move(load)),
      formula_(std::move(formula)),
      cost_(std::move(cost)) {}

TableSource::TableSource(std::string name, Fidelity fidelity, Read read)
    : name_(std::move(name)), fidelity_(fidelity), read_(std::move(read)) {}

core::Result<TableSource::Index> TableSource::index() const {
  if (index_ == nullptr) index_ = ASSAY_TRY(read_());
  return index_;
}

core::Result<std::span<const TableSource>> Tables::sources(const std::string& table) {
  const auto known = loaded_.find(table);
  if (known != loaded_.end()) return std::span<const TableSource>(known->second);
  auto sources = ASSAY_TRY(load_(table));
  const auto place = loaded_.emplace(table, std::move(sources)).first;
  return std::span<const TableSource>(place->second);
}

Fidelity Tables::fidelity_of_formula(std::string_view table) {
  return table == "memory_op_perf" ? Fidelity::kFormula : Fidelity::kBound;
}

const std::vector<store::UseFamily>& Tables::families_of(const TableSource::Index& index,
                                                         const serving::OperatorUse& use) {
  std::string asked = fmt::format("{} {} {}", use.op, use.op_name, serving::key_text(use));
  for (const serving::SizeField& field : use.sizes)
    asked += " " + field.column;
  const auto [at, is_new] = families_of_uses_.try_emplace({index.get(), std::move(asked)});
  if (is_new) at->second = store::families_of(use, index->rows());
  return at->second;
}

std::shared_ptr<const store::Family> Tables::family(const TableSource::Index& index,
                                                    std::size_t number,
                                                    const std::string& key) {
  std::shared_ptr<const store::Family>& known = families_[{index.get(), number, key}];
  if (known != nullptr) return known;
  // A copy of what another key asks has learnt as much already.
  const auto alike = std::find_if(families_.begin(), families_.end(), [&](const auto& entry) {
    const auto& [of_index, of_number, of_key] = entry.first;
    return of_index == index.get() && of_number == number && entry.second != nullptr;
  });
  known = std::make_shared<const store::Family>(alike == families_.end() ? index->own_family(number)
                                                                         : *alike->second);
  return known;
}

std::shared_ptr<const OperatorPowerModel> Tables::power_model(const TableSource::Index& index,
                                                              const std::string& op_name) {
  const auto [known, is_new] = power_models_.try_emplace({index.get(), op_name});
  if (!is_new) return known->second;
  const std::shared_ptr<const store::TablePower>& power = index->rows().power;
  const store::PowerSample* sample = power == nullptr ? nullptr : power->find(op_name);
  const model::GpuSpecs* device = power == nullptr ? nullptr : model::find_gpu_specs(power->device);
  if (sample != nullptr && device != nullptr) {
    known->second = std::make_shared<const OperatorPowerModel>(
        OperatorPowerModel{store::JudgedPower(*sample), device});
  }
  return known->second;
}

// TensorRT-LLM's rows of fp8 products compute the scale of their input first; assay's own, which
// may stand under its name, do not. Checkpoints with fp8 weights bring these scales.
std::optional<serving::OperatorUse> Tables::held_beside(const serving::OperatorUse& use,
                                                        Fidelity of_rows) const {
  if (engine_ != Engine::kTrtllm || use.table != "gemm_perf" || of_rows == Fidelity::kKernels)
    return std::nullopt;
  const model::PerfValue* type = serving::find_key(use, "gemm_dtype");
  if (type == nullptr || *type != model::PerfValue(std::string("fp8"))) return std::nullopt;
  return serving::OperatorUse{.role = "scale of the input",
                              .op = "compute_scale",
                              .table = "computescale_perf",
                              .op_name = "compute_scale",
                              .key = {{"quant_dtype", *type}, {"k", *serving::find_key(use, "k")}},
                              .sizes = use.sizes,
                              .count = use.count};
}

}  // namespace assay::plan
