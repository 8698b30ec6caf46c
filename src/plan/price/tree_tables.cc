#include "plan/price/tree_tables.h"

#include <algorithm>
#include <utility>

#include "model/warnings.h"
#include "store/files/perf_file.h"
#include "store/files/table_spec.h"

namespace assay::plan {
namespace fs = std::filesystem;

namespace {

std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  int number = -1;
  for (const char c : version) {
    if (c >= '0' && c <= '9') {
      number = std::max(number, 0) * 10 + (c - '0');
    } else if (number >= 0) {
      numbers.push_back(number);
      number = -1;
    }
  }
  if (number >= 0) numbers.push_back(number);
  return numbers;
}

}  // namespace

TreeTables::TreeTables(
    fs::path data, Engine engine, std::string version, FormulaOf roofline, FormulaOf formula)
    : data_(std::move(data)),
      engine_(engine),
      version_(std::move(version)),
      roofline_(std::move(roofline)),
      formula_(std::move(formula)) {}

core::Result<std::vector<TableSource>> TreeTables::sources(const std::string& table) {
  if (const auto found = known_.find(table); found != known_.end()) return found->second;
  const store::TableSpec* spec = store::find_table_spec(table);
  std::vector<TableSource> sources;
  if (spec == nullptr) return sources;
  const std::string backend = table == "nccl_perf" ? "nccl" : std::string(name_of(engine_));
  std::vector<std::string> versions;
  const fs::path folder = data_ / spec->family / backend;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (fs::exists(entry.path() / (table + ".parquet")))
        versions.push_back(entry.path().filename().string());
    }
  }
  std::sort(versions.begin(), versions.end(),
            [](const auto& a, const auto& b) { return numbers_of(a) < numbers_of(b); });
  // Those not above the asked version, the nearest first; then the later ones.
  const std::vector<int> asked = numbers_of(version_).size() < 2 || table == "nccl_perf"
                                     ? std::vector<int>{99999}
                                     : numbers_of(version_);
  std::vector<std::string> order;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version)
    if (numbers_of(*version) <= asked) order.push_back(*version);
  for (const std::string& version : versions)
    if (numbers_of(version) > asked) order.push_back(version);
  for (const std::string& version : order) {
    model::Warnings warnings;
    auto file = ASSAY_TRY(store::read_perf_file(folder / version / (table + ".parquet"), warnings));
    indices_.push_back(std::make_unique<store::WorkIndex>(
        ASSAY_TRY(store::WorkIndex::make(table, file.rows, roofline_(table)))));
    sources.push_back(
        {.index = indices_.back().get(),
         .name = backend + " " + version,
         .fidelity = version == version_ ? Fidelity::kEngine : Fidelity::kOtherVersion});
  }
  known_[table] = sources;
  return sources;
}

// TensorRT-LLM's rows of fp8 products compute the scale of their input first. Checkpoints with fp8
// weights bring these scales.
std::optional<serving::OperatorUse> TreeTables::held_beside(const serving::OperatorUse& use) const {
  const auto field = [&](const char* column) -> const model::PerfValue* {
    for (const model::PerfField& one : use.key)
      if (one.column == column) return &one.value;
    return nullptr;
  };
  const model::PerfValue* type = field("gemm_dtype");
  if (engine_ != Engine::kTrtllm || type == nullptr ||
      *type != model::PerfValue(std::string("fp8")))
    return std::nullopt;
  return serving::OperatorUse{.role = "scale of the input",
                              .op = "compute_scale",
                              .table = "computescale_perf",
                              .op_name = "compute_scale",
                              .key = {{"quant_dtype", *type}, {"k", *field("k")}},
                              .sizes = use.sizes,
                              .count = use.count};
}

}  // namespace assay::plan
