#include "cli/plan_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <system_error>
#include <utility>

#include "cli/operator_costs.h"
#include "cli/output.h"
#include "core/text.h"
#include "model/gpu_specs.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"
#include "plan/files/deployment.h"
#include "plan/files/first_versions.h"
#include "plan/price/state_space_bound.h"
#include "store/answers/packed_tables.h"
#include "store/judging/quarantine.h"
#include "store/judging/roofline.h"
#include "store/judging/spread_learner.h"

namespace assay::cli {
namespace {

std::string shipped_name_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// 'assay store place' puts rows that assay measured below an engine's name, in a folder of this
// beginning.
constexpr std::string_view kOwnVersion = "assay-";

// `is_first`: no other file is asked before it.
plan::Fidelity fidelity_of(const store::TreeSource& source,
                           const std::string& asked_version,
                           bool is_first) {
  if (source.version.starts_with(kOwnVersion)) return plan::Fidelity::kKernels;
  switch (source.origin) {
    case store::TreeOrigin::kExact:
    case store::TreeOrigin::kDeclared:
      return plan::Fidelity::kEngine;
    case store::TreeOrigin::kOtherBackend:
      return plan::Fidelity::kOtherEngine;
    case store::TreeOrigin::kNewest:
      return asked_version.empty() && is_first ? plan::Fidelity::kEngine
                                               : plan::Fidelity::kOtherVersion;
    default:
      return plan::Fidelity::kOtherVersion;
  }
}

store::RooflineBinder rooflines_of(const std::string& table, const store::Peaks& peaks) {
  return store::table_rooflines(table, costed_operators(table), peaks).bound;
}

// Rows that no GPU can have taken answer nothing, so that the next source does. `left_out` becomes
// the number of those without a time.
plan::TableSource::Index index_of_sound(const store::WorkRows& rows,
                                        const std::string& table,
                                        const store::Peaks& peaks,
                                        std::size_t& left_out) {
  const store::Rooflines rooflines = store::table_rooflines(table, costed_operators(table), peaks);
  const auto quarantined = store::quarantined_families(rows, rooflines);
  store::TimedRows timed = store::timed_rows(
      quarantined.empty() ? rows
                          : store::without_families(rows, store::quarantined_numbers(quarantined)));
  left_out = timed.left_out;
  return std::make_shared<const store::WorkIndex>(std::move(timed.rows), rooflines.bound);
}

// The files of a tree that may answer for a table; none if the tree does not have it. `untimed`
// counts their rows without a usable time or size once they are read.
std::vector<plan::TableSource> tree_sources(const store::PublicTree& tree,
                                            const store::TableCache& cache,
                                            plan::Engine engine,
                                            const std::string& version,
                                            const std::string& table,
                                            UntimedRows& untimed) {
  const store::Peaks& peaks = tree.facts().peaks;
  const auto found = tree.sources(std::string(plan::name_of(engine)), version, table);
  std::vector<plan::TableSource> sources;
  if (!found.ok()) return sources;
  bool is_first = true;
  for (const store::TreeSource& one : found.value()) {
    const plan::Fidelity fidelity = fidelity_of(one, version, is_first);
    // Rows of assay's own are no version of the engine.
    is_first = is_first && fidelity == plan::Fidelity::kKernels;
    const auto read = [=, &cache, &untimed,
                       file = one.file]() -> core::Result<plan::TableSource::Index> {
      const auto kept =
          ASSAY_TRY(cache.table(file, store::learner_with_rooflines(peaks, costed_operators)));
      std::size_t left_out = 0;
      auto index = index_of_sound(kept.rows, table, peaks, left_out);
      untimed[file] = left_out + static_cast<std::size_t>(kept.unread);
      return index;
    };
    sources.emplace_back(one.backend + " " + one.version, fidelity, read);
  }
  return sources;
}

// Returns a sentence on what is left out of tables, or "" if nothing is.
std::string untimed_note(const UntimedRows& untimed) {
  std::vector<std::string> files;
  for (const auto& [file, rows] : untimed) {
    if (rows > 0) files.push_back(fmt::format("{} of {}", rows, file.string()));
  }
  if (files.empty()) return "";
  return "rows without a usable time or size are left out: " + core::join(files, ", ");
}

// Operators that move bytes take, and state spaces at least, where no table has them, a share of
// the bandwidth and a constant for the launch; the system's file has both.
store::RooflineBinder memory_formula(const std::string& table, const store::SystemFacts& facts) {
  store::Peaks reached = facts.peaks;
  reached.memory_bytes_per_s *= facts.memory_share;
  if (table == "mamba2_perf")
    return plan::state_space_bound(reached.memory_bytes_per_s, 1e3 * facts.memory_latency_s);
  if (table != "memory_op_perf") return nullptr;
  return [bound = rooflines_of(table, reached), launch_ms = 1e3 * facts.memory_latency_s](
             const std::vector<model::PerfField>& exact,
             const std::vector<std::string>& sizes) -> store::Roofline {
    store::Roofline roofline = bound(exact, sizes);
    if (!roofline) return nullptr;
    return [=, roofline = std::move(roofline)](std::span<const double> values) {
      return roofline(values) + launch_ms;
    };
  };
}

core::Result<std::vector<plan::TableSource>> shipped_sources(const store::ShippedSystem& system,
                                                             const store::Peaks& peaks,
                                                             const std::string& table) {
  const auto packed = ASSAY_TRY(store::PackedTables::open(system.tables));
  const std::vector<std::string> names = packed.names();
  std::vector<plan::TableSource> sources;
  if (std::find(names.begin(), names.end(), table) == names.end()) return sources;
  const auto read = [=]() -> core::Result<plan::TableSource::Index> {
    return std::make_shared<const store::WorkIndex>(ASSAY_TRY(packed.table(table)),
                                                    rooflines_of(table, peaks));
  };
  sources.emplace_back(fmt::format("assay {}", system.name), plan::Fidelity::kKernels, read);
  return sources;
}

// Returns whether the device's name has the first word of the system's: "NVIDIA L40S" that of
// "l40s_pcie".
bool is_named_after(const std::string& device, const std::string& system) {
  return core::contains_ignoring_case(device, system.substr(0, system.find_first_of("_-")));
}

// Counts the words of the system's name that the device's lacks: "NVIDIA A100 80GB PCIe" has none
// of "sxm".
std::ptrdiff_t words_lacking(const std::string& device, const std::string& system) {
  static const std::regex word("[^_-]+");
  const std::sregex_iterator begin(system.begin(), system.end(), word);
  return std::count_if(begin, {}, [&](const std::smatch& one) {
    return !core::contains_ignoring_case(device, one.str());
  });
}

// Tells how sure it is that a device is the system's, the surest first.
enum class Likeness { kByTable, kByName, kPossible, kNone };

// A device that is not in the table of GPUs, such as a CPU, is none whose memory that table knows;
// only its name can say otherwise.
Likeness likeness(const std::string& device,
                  const std::string& system,
                  const store::SystemFacts& facts) {
  const auto is_alike = [&](const model::GpuSpecs& gpu) {
    constexpr double kAlike = 0.1;
    return std::abs(1e9 * gpu.memory_gbps / facts.peaks.memory_bytes_per_s - 1) < kAlike;
  };
  if (const model::GpuSpecs* specs = model::find_gpu_specs(device))
    return is_alike(*specs) ? Likeness::kByTable : Likeness::kNone;
  if (is_named_after(device, system)) return Likeness::kByName;
  const auto known = model::all_gpu_specs();
  return std::any_of(known.begin(), known.end(), is_alike) ? Likeness::kNone : Likeness::kPossible;
}

// Returns whether some device of a store may be the system's; `chosen` becomes that one where there
// are several.
bool is_of_system(const std::vector<std::string>& devices,
                  const std::string& system,
                  const store::SystemFacts& facts,
                  std::string& chosen) {
  const auto likeness_of = [&](const std::string& device) {
    return likeness(device, system, facts);
  };
  const auto order_of = [&](const std::string& device) {
    return std::pair(likeness_of(device), words_lacking(device, system));
  };
  const auto most =
      std::min_element(devices.begin(), devices.end(),
                       [&](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  if (most == devices.end()) return true;
  if (devices.size() > 1) chosen = *most;
  return likeness_of(*most) != Likeness::kNone;
}

}  // namespace

PlanInputs::PlanInputs(PriceSources sources)
    : sources_(std::move(sources)),
      cache_(store::TableCache::users_folder([](const char* name) { return std::getenv(name); })) {}

PlanInputs::~PlanInputs() {
  if (const std::string note = cache_.note(); !note.empty()) print_note(note);
  if (const std::string note = untimed_note(untimed_); !note.empty()) print_note(note);
}

core::Result<const serving::Model*> PlanInputs::model(const std::string& path) {
  const auto known = models_.find(path);
  if (known != models_.end()) return &known->second;
  const std::string name = shipped_name_of(path);
  std::error_code ignored;
  const bool is_shipped =
      !std::filesystem::exists(path, ignored) && serving::find_shipped_model(name) != nullptr;
  auto model = ASSAY_TRY(serving::read_model(is_shipped ? name : path));
  return &models_.emplace(path, std::move(model)).first->second;
}

core::Result<PlanInputs::System*> PlanInputs::system(const std::string& name) {
  if (const auto known = read_.find(name); known != read_.end()) return &known->second;
  System system;
  if (sources_.systems.empty()) {
    system.shipped = store::find_shipped(name);
    if (system.shipped == nullptr) {
      return core::Error{
          fmt::format("no system '{}' ships with assay, but {}; --systems-paths "
                      "names a folder of others",
                      name, store::shipped_names())};
    }
    system.facts = ASSAY_TRY(store::parse_system_facts(system.shipped->yaml, name, name));
  } else {
    system.tree = ASSAY_TRY(store::PublicTree::open(sources_.systems, name));
    system.facts = system.tree->facts();
    if (const store::ShippedSystem* shipped = store::find_shipped(name)) {
      system.facts.measured_free_bytes =
          ASSAY_TRY(store::parse_system_facts(shipped->yaml, name, name)).memory_bytes;
    }
  }
  return &read_.emplace(name, std::move(system)).first->second;
}

core::Result<const store::SystemFacts*> PlanInputs::facts(const std::string& name) {
  return &ASSAY_TRY(system(name))->facts;
}

// Of several GPUs in the store those of the system's count, which its memory tells.
core::Result<PlanInputs::Measured*> PlanInputs::measured(const System& asked,
                                                         const std::string& name) {
  if (const auto known = measured_.find(name); known != measured_.end()) return &known->second;
  store::Store opened = ASSAY_TRY(store::open_to_read(sources_.store));
  const store::Origin origin = ASSAY_TRY(opened.origin());
  std::vector<std::string> tables = ASSAY_TRY(opened.tables());
  if (tables.empty()) return core::Error{sources_.store.string() + " holds no measurements"};
  std::string device;
  if (!is_of_system(origin.devices, name, asked.facts, device)) {
    return core::Error{fmt::format(
        "{} has measurements of {}, which are not the GPUs of {} ({:.0f} GB/s of memory): --system "
        "names those that were measured",
        sources_.store.string(), core::join(origin.devices, ", "), name,
        asked.facts.peaks.memory_bytes_per_s / 1e9)};
  }
  return &measured_
              .emplace(name, Measured{.store = std::move(opened),
                                      .device = std::move(device),
                                      .tables = std::move(tables)})
              .first->second;
}

core::Result<plan::TableSource::Index> PlanInputs::measured_index(Measured& measured,
                                                                  const std::string& table,
                                                                  const store::Peaks& peaks) {
  if (const auto known = measured.read.find(table); known != measured.read.end())
    return known->second;
  const store::Frame frame = ASSAY_TRY(measured.store.table(
      {.table = table, .device = measured.device}, store::Store::Columns::kWithInterval));
  store::WorkRows rows = ASSAY_TRY(store::make_work_rows(table, frame));
  rows.power =
      std::make_shared<const store::TablePower>(store::measured_power(table, row_loads, frame));
  const auto index = index_of_sound(rows, table, peaks, untimed_[sources_.store / table]);
  measured.read.emplace(table, index);
  return index;
}

void PlanInputs::add_measured(Measured& measured,
                              const std::string& table,
                              const store::Peaks& peaks,
                              std::vector<plan::TableSource>& sources) {
  if (std::find(measured.tables.begin(), measured.tables.end(), table) == measured.tables.end())
    return;
  const auto behind = std::find_if(
      sources.begin(), sources.end(),
      [](const plan::TableSource& one) { return one.fidelity() >= plan::Fidelity::kKernels; });
  sources.insert(behind,
                 plan::TableSource("assay " + sources_.store.filename().string(),
                                   plan::Fidelity::kKernels, [this, &measured, table, peaks] {
                                     return measured_index(measured, table, peaks);
                                   }));
}

core::Result<plan::Tables*> PlanInputs::tables(const std::string& name,
                                               plan::Engine engine,
                                               const std::string& version) {
  System& asked = *ASSAY_TRY(system(name));
  const std::string key = fmt::format("{} {}", plan::name_of(engine), version);
  if (const auto known = asked.tables.find(key); known != asked.tables.end()) return &known->second;
  Measured* own = nullptr;
  if (!sources_.store.empty()) own = ASSAY_TRY(measured(asked, name));
  const plan::Tables::Load load =
      [=, this, &asked](const std::string& table) -> core::Result<std::vector<plan::TableSource>> {
    std::vector<plan::TableSource> sources =
        asked.tree ? tree_sources(*asked.tree, cache_, engine, version, table, untimed_)
                   : ASSAY_TRY(shipped_sources(*asked.shipped, asked.facts.peaks, table));
    if (own != nullptr) add_measured(*own, table, asked.facts.peaks, sources);
    return sources;
  };
  const auto engine_of_rows = asked.tree ? std::optional(engine) : std::nullopt;
  plan::Tables tables(
      engine_of_rows, load,
      [&asked](const std::string& table) { return memory_formula(table, asked.facts); },
      [](const std::string& table) { return store::table_costs(costed_operators(table)); });
  tables.set_sm_version(asked.facts.sm_version);
  tables.set_links(
      {.gpus_per_node = asked.facts.gpus_per_node,
       .latency_s = asked.facts.peer_latency_s,
       .bytes_per_s = [&asked](std::int64_t gpus) { return asked.facts.link_bytes_per_s(gpus); }});
  return &asked.tables.emplace(key, std::move(tables)).first->second;
}

core::Result<PlanInputs::PublicRows> PlanInputs::public_rows(const std::string& name,
                                                             plan::Engine engine,
                                                             const std::string& version) {
  const System& asked = *ASSAY_TRY(system(name));
  ASSAY_CHECK(asked.tree.has_value(), "rows of a shipped system");
  const store::PublicTree& tree = *asked.tree;
  const std::string backend(plan::name_of(engine));
  const std::vector<std::string> versions = tree.versions(backend);
  if (versions.empty()) return core::Error{fmt::format("{} has no tables of {}", name, backend)};
  const std::string used = version.empty() ? versions.back() : version;
  if (std::find(versions.begin(), versions.end(), used) == versions.end()) {
    return core::Error{fmt::format("{} has no tables of {} {}, but of {}", name, backend, used,
                                   core::join(versions, ", "))};
  }
  const auto load = [this, &tree, backend,
                     used](const std::string& table) -> core::Result<std::vector<store::WorkRows>> {
    std::vector<store::WorkRows> rows;
    const auto sources = tree.sources(backend, used, table);
    if (!sources.ok()) return rows;
    for (const store::TreeSource& source : sources.value()) {
      const bool is_other = source.origin == store::TreeOrigin::kLater ||
                            source.origin == store::TreeOrigin::kOtherBackend;
      // Tables of a library are those of one version.
      if (is_other || (source.backend != backend && !rows.empty())) continue;
      const auto learner = store::learner_with_rooflines(tree.facts().peaks, costed_operators);
      const auto kept = ASSAY_TRY(cache_.table(source.file, learner));
      untimed_[source.file] = kept.rows.num_unusable + static_cast<std::size_t>(kept.unread);
      rows.push_back(kept.rows);
    }
    return rows;
  };
  return PublicRows{.measured = plan::compat::Measured(tree.facts(), load), .version = used};
}

core::Result<std::string> PlanInputs::missing_tables(const std::string& name, plan::Engine engine) {
  const System& asked = *ASSAY_TRY(system(name));
  if (!asked.tree) return std::string();
  const std::vector<std::string> engines = asked.tree->backends();
  const std::string_view wanted = plan::name_of(engine);
  if (std::find(engines.begin(), engines.end(), wanted) != engines.end()) return std::string();
  return fmt::format("{} has no tables of {} for {}", sources_.systems.string(), wanted, name);
}

core::Result<std::string> PlanInputs::newest_version(const std::string& name, plan::Engine engine) {
  const System& asked = *ASSAY_TRY(system(name));
  if (!asked.tree) return std::string();
  std::vector<std::string> versions =
      asked.tree->versions(std::string(plan::name_of(engine)), "gemm_perf");
  std::erase_if(versions, [](const std::string& one) { return one.starts_with(kOwnVersion); });
  return versions.empty() ? std::string() : versions.back();
}

core::Status PlanInputs::warn_of_version(const std::string& name,
                                         plan::Engine engine,
                                         const std::string& version) {
  const System& asked = *ASSAY_TRY(system(name));
  if (!asked.tree || version.empty()) return {};
  const std::string backend(plan::name_of(engine));
  const std::vector<std::string> versions = asked.tree->versions(backend);
  if (versions.empty() || std::find(versions.begin(), versions.end(), version) != versions.end())
    return {};
  const std::string text =
      fmt::format("{} has no tables of {} {} for {}, and those of other versions answer; it has {}",
                  sources_.systems.string(), backend, version, name, core::join(versions, ", "));
  if (warned_.insert(text).second) print_warning(text);
  return {};
}

void PlanInputs::warn_of_lacking_model(plan::Engine engine,
                                       const std::string& version,
                                       const serving::Model& model) {
  const std::string text = plan::lacking_model_in_words(engine, version, model.family);
  if (!text.empty() && warned_.insert(text).second) print_warning(text);
}

plan::GpuMemory gpu_memory(const store::SystemFacts& facts, std::int64_t gpus) {
  return plan::memory_of_gpu(facts, gpus);
}

core::Result<plan::PoolSystem> pool_system(PlanInputs& inputs,
                                           const std::string& system,
                                           plan::Engine engine,
                                           const std::string& version) {
  ASSAY_TRY(inputs.warn_of_version(system, engine, version));
  plan::PoolSystem found{.facts = ASSAY_TRY(inputs.facts(system)),
                         .tables = ASSAY_TRY(inputs.tables(system, engine, version)),
                         .version = version};
  if (version.empty())
    found.version =
        plan::deployable_version(engine, ASSAY_TRY(inputs.newest_version(system, engine)));
  return found;
}

}  // namespace assay::cli
