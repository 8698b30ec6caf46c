#include "cli/plan_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/operator_costs.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"
#include "store/answers/packed_tables.h"
#include "store/files/perf_file.h"
#include "store/files/table_spec.h"
#include "store/judging/roofline.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace fs = std::filesystem;

namespace {

std::string shipped_name_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

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

core::Result<std::vector<plan::TableSource>> load_from_tree(const fs::path& data,
                                                            plan::Engine engine,
                                                            const std::string& asked_version,
                                                            const std::string& table,
                                                            const store::Peaks& peaks) {
  const store::TableSpec* spec = store::find_table_spec(table);
  std::vector<plan::TableSource> sources;
  if (spec == nullptr) return sources;
  const std::string backend = table == "nccl_perf" ? "nccl" : std::string(plan::name_of(engine));
  std::vector<std::string> versions;
  const fs::path folder = data / spec->family / backend;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (fs::exists(entry.path() / (table + ".parquet")))
        versions.push_back(entry.path().filename().string());
    }
  }
  std::sort(versions.begin(), versions.end(),
            [](const auto& a, const auto& b) { return numbers_of(a) < numbers_of(b); });
  const std::vector<int> asked = numbers_of(asked_version).size() < 2 || table == "nccl_perf"
                                     ? std::vector<int>{99999}
                                     : numbers_of(asked_version);
  std::vector<std::string> order;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version)
    if (numbers_of(*version) <= asked) order.push_back(*version);
  for (const std::string& version : versions)
    if (numbers_of(version) > asked) order.push_back(version);
  for (const std::string& version : order) {
    model::Warnings warnings;
    auto file = ASSAY_TRY(store::read_perf_file(folder / version / (table + ".parquet"), warnings));
    sources.push_back(
        {.index = std::make_shared<const store::WorkIndex>(ASSAY_TRY(store::WorkIndex::make(
             table, file.rows,
             store::table_rooflines(table, costed_operators(table), peaks).bound))),
         .name = backend + " " + version,
         .fidelity =
             version == asked_version ? plan::Fidelity::kEngine : plan::Fidelity::kOtherVersion});
  }
  return sources;
}

// What operators that move bytes take where no table has them: 80 % of the bandwidth, and 3 us for
// a launch, as in the public tables' files of systems.
store::RooflineBinder memory_formula(const std::string& table, store::Peaks peaks) {
  constexpr double kShare = 0.8;
  constexpr double kLaunchMs = 0.003;
  if (table != "memory_op_perf") return nullptr;
  peaks.memory_bytes_per_s *= kShare;
  auto bound = store::table_rooflines(table, costed_operators(table), peaks).bound;
  return [bound](const std::vector<model::PerfField>& exact,
                 const std::vector<std::string>& sizes) -> store::Roofline {
    store::Roofline roofline = bound(exact, sizes);
    if (!roofline) return nullptr;
    return [roofline = std::move(roofline)](std::span<const double> values) {
      return roofline(values) + kLaunchMs;
    };
  };
}

core::Result<std::vector<plan::TableSource>> load_shipped(const std::string& system,
                                                          const std::string& table,
                                                          const store::Peaks& peaks) {
  const store::ShippedSystem* shipped = store::find_shipped(system);
  const auto packed = ASSAY_TRY(store::PackedTables::open(shipped->tables));
  const std::vector<std::string> names = packed.names();
  std::vector<plan::TableSource> sources;
  if (std::find(names.begin(), names.end(), table) == names.end()) return sources;
  sources.push_back({.index = std::make_shared<const store::WorkIndex>(
                         ASSAY_TRY(packed.table(table)),
                         store::table_rooflines(table, costed_operators(table), peaks).bound),
                     .name = fmt::format("assay {}", system),
                     .fidelity = plan::Fidelity::kKernels});
  return sources;
}

}  // namespace

core::Result<const serving::Model*> PlanInputs::model(const std::string& path) {
  const auto known = models_.find(path);
  if (known != models_.end()) return &known->second;
  const std::string name = shipped_name_of(path);
  const bool is_shipped = serving::find_shipped_model(name) != nullptr;
  auto model = ASSAY_TRY(serving::read_model(is_shipped ? name : path));
  return &models_.emplace(path, std::move(model)).first->second;
}

core::Result<plan::Tables*> PlanInputs::tables(const std::string& system,
                                               plan::Engine engine,
                                               const std::string& version) {
  const std::string key = fmt::format("{} {} {}", system, plan::name_of(engine), version);
  const auto known = tables_.find(key);
  if (known != tables_.end()) return &known->second;
  ASSAY_TRY(facts(system));
  const bool is_tree = !systems_.empty();
  const store::Peaks peaks = ASSAY_TRY(is_tree ? store::read_peaks(systems_ / (system + ".yaml"))
                                               : store::peaks_of_system(system));
  plan::Tables::Load load;
  if (is_tree) {
    load = [=, folder = systems_ / system](const std::string& table) {
      return load_from_tree(folder, engine, version, table, peaks);
    };
  } else {
    load = [=](const std::string& table) { return load_shipped(system, table, peaks); };
  }
  const auto engine_of_rows = is_tree ? std::optional(engine) : std::nullopt;
  plan::Tables tables(
      engine_of_rows, std::move(load),
      [peaks](const std::string& table) { return memory_formula(table, peaks); },
      [](const std::string& table) { return store::table_costs(costed_operators(table)); });
  return &tables_.emplace(key, std::move(tables)).first->second;
}

core::Result<const store::CitedValues*> PlanInputs::facts(const std::string& system) {
  if (const auto known = facts_.find(system); known != facts_.end()) return &known->second;
  store::CitedValues values;
  if (systems_.empty()) {
    const store::ShippedSystem* shipped = store::find_shipped(system);
    if (shipped == nullptr) {
      return core::Error{
          fmt::format("no system '{}' ships with assay, but {}; --systems-paths "
                      "names a folder of others",
                      system, store::shipped_names())};
    }
    values = ASSAY_TRY(store::parse_cited_values(shipped->yaml, system));
  } else {
    values = ASSAY_TRY(store::read_cited_values(systems_ / (system + ".yaml")));
  }
  return &facts_.emplace(system, std::move(values)).first->second;
}

core::Result<plan::GpuMemory> PlanInputs::memory(const std::string& system, std::int64_t gpus) {
  const store::CitedValues& values = *ASSAY_TRY(facts(system));
  const auto number = [&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? 0.0 : std::stod(found->second);
  };
  const double capacity = number("gpu.mem_capacity");
  if (capacity <= 0)
    return core::Error{fmt::format("{}: no gpu.mem_capacity, which tells what fits", system)};
  return plan::GpuMemory{.capacity_bytes = capacity,
                         .communication_bytes = number(fmt::format("misc.nccl_mem.{}", gpus))};
}

}  // namespace assay::cli
