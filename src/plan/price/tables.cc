#include "plan/price/tables.h"

#include <array>
#include <utility>

namespace assay::plan {
std::string_view name_of(Fidelity fidelity) {
  constexpr std::array<std::string_view, 7> kNames = {
      "engine", "other version", "kernels", "other engine", "scaled", "formula", "lower bound"};
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

std::shared_ptr<const store::Family> Tables::family(const TableSource::Index& index,
                                                    std::size_t number,
                                                    const std::string& key) {
  std::shared_ptr<const store::Family>& known = families_[{index.get(), number, key}];
  if (known == nullptr) known = std::make_shared<const store::Family>(index->own_family(number));
  return known;
}

// TensorRT-LLM's rows of fp8 products compute the scale of their input first. Checkpoints with fp8
// weights bring these scales.
std::optional<serving::OperatorUse> Tables::held_beside(const serving::OperatorUse& use) const {
  if (engine_ != Engine::kTrtllm || use.table != "gemm_perf") return std::nullopt;
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
