// The commands of assay plan read models, and the tables of systems.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/price_sources.h"
#include "core/result.h"
#include "model/serving/model.h"
#include "plan/compat/measured.h"
#include "plan/engine.h"
#include "plan/memory.h"
#include "plan/price/staged_cost.h"
#include "plan/price/tables.h"
#include "plan/search/disaggregated.h"
#include "store/answers/table_cache.h"
#include "store/database/store.h"
#include "store/systems/public_tree.h"
#include "store/systems/shipped.h"
#include "store/systems/system_facts.h"

namespace assay::cli {

// The rows of tables whose time no kernel takes, by the file or the table of a store.
using UntimedRows = std::map<std::filesystem::path, std::size_t>;

// Keeps what it has read, to which what it gives refers; one thread at a time.
class PlanInputs {
 public:
  explicit PlanInputs(PriceSources sources);
  // Says why tables could not be kept for the next time, where they could not, and how many rows
  // without a time were left out.
  ~PlanInputs();
  PlanInputs(const PlanInputs&) = delete;
  PlanInputs& operator=(const PlanInputs&) = delete;

  // A model by its config.json, or by a name such as "Qwen/Qwen3-32B", whose last part ships with
  // assay.
  core::Result<const serving::Model*> model(const std::string& path);

  // Error: there is no such system; it names those that there are.
  core::Result<const store::SystemFacts*> facts(const std::string& name);

  // The tables of a system: those of the engine in the folder of systems, or else assay's own.
  core::Result<plan::Tables*> tables(const std::string& name,
                                     plan::Engine engine,
                                     const std::string& version);

  // All rows of an engine's public tables, also those that assay itself doubts: of the version that
  // is asked for (the newest, if it is empty) and of those before it.
  struct PublicRows {
    plan::compat::Measured measured;
    std::string version;
  };

  // Error: the folder has no tables of the engine.
  core::Result<PublicRows> public_rows(const std::string& name,
                                       plan::Engine engine,
                                       const std::string& version);
  // Why the folder of systems has no tables of the engine for a system; "" if it has some, or where
  // assay's own are asked.
  core::Result<std::string> missing_tables(const std::string& name, plan::Engine engine);
  // The newest version of the engine's tables of matrix products, which are in every step: whose
  // prices come first where no version is asked for. "" if the folder of systems has none, or where
  // assay's own are asked.
  core::Result<std::string> newest_version(const std::string& name, plan::Engine engine);
  // Warns, once, of a version that the folder of systems has no tables of, though others of the
  // engine.
  core::Status warn_of_version(const std::string& name,
                               plan::Engine engine,
                               const std::string& version);

  // Warns once of a version of the engine that may not have the model.
  void warn_of_lacking_model(plan::Engine engine,
                             const std::string& version,
                             const serving::Model& model);

 private:
  struct System {
    store::SystemFacts facts = {};
    std::optional<store::PublicTree> tree = std::nullopt;
    const store::ShippedSystem* shipped = nullptr;
    std::map<std::string, plan::Tables> tables = {};  // by engine and version
  };

  // The store of --store, with the rows of the GPU that a system has.
  struct Measured {
    store::Store store;
    std::string device = {};  // "": the store has one only
    std::vector<std::string> tables = {};
    std::map<std::string, plan::TableSource::Index> read = {};  // by table
  };

  core::Result<System*> system(const std::string& name);
  core::Result<Measured*> measured(const System& asked, const std::string& name);
  core::Result<plan::TableSource::Index> measured_index(Measured& measured,
                                                        const std::string& table,
                                                        const store::Peaks& peaks);
  void add_measured(Measured& measured,
                    const std::string& table,
                    const store::Peaks& peaks,
                    std::vector<plan::TableSource>& sources);

  PriceSources sources_;
  store::TableCache cache_;
  UntimedRows untimed_;
  std::map<std::string, Measured> measured_;  // by system
  std::map<std::string, serving::Model> models_;
  std::map<std::string, System> read_;
  std::set<std::string> warned_;
};

// The memory of a GPU, of which collectives of so many GPUs take a part.
plan::GpuMemory gpu_memory(const store::SystemFacts& facts, std::int64_t gpus);

// A system's facts, and the tables of the engine on it, with the version of the engine that is
// planned for: the one that is asked for, or that of the newest tables where files can be for it.
// Warns of a version without tables. Error: as facts() and tables().
core::Result<plan::PoolSystem> pool_system(PlanInputs& inputs,
                                           const std::string& system,
                                           plan::Engine engine,
                                           const std::string& version);

}  // namespace assay::cli
