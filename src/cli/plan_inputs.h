// What the commands of assay plan read: models, and the tables of systems.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/engine.h"
#include "plan/memory.h"
#include "plan/price/tables.h"
#include "store/systems/system_yaml.h"

namespace assay::cli {

// Keeps what it has read; one thread at a time.
class PlanInputs {
 public:
  explicit PlanInputs(std::filesystem::path systems) : systems_(std::move(systems)) {}

  // A model by its config.json, or by a name such as "Qwen/Qwen3-32B", whose last part ships with
  // assay.
  core::Result<const serving::Model*> model(const std::string& path);

  // The tables of a system: those of the folder of systems, or else what ships with assay.
  core::Result<plan::Tables*> tables(const std::string& system,
                                     plan::Engine engine,
                                     const std::string& version);

  // What the system's file tells. Error: there is no such system; it names those that there are.
  core::Result<const store::CitedValues*> facts(const std::string& system);

  // The memory of a GPU, of which collectives of so many GPUs take a part. Error: the system's file
  // does not tell it.
  core::Result<plan::GpuMemory> memory(const std::string& system, std::int64_t gpus);

 private:
  std::filesystem::path systems_;
  std::map<std::string, serving::Model> models_;
  std::map<std::string, plan::Tables> tables_;
  std::map<std::string, store::CitedValues> facts_;
};

}  // namespace assay::cli
