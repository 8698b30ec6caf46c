#include "plan/files/deployment_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "core/files.h"
#include "core/output_file.h"
#include "plan/files/engine_files.h"
#include "plan/files/manifests.h"
#include "plan/files/nodes.h"
#include "plan/files/placement.h"
#include "plan/files/scripts.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

constexpr const char* kPlanned = "deployment.json";

void add_pools(const PlannedDeployment& planned, std::vector<DeploymentFile>& files) {
  const EngineFiles& engine = files_of(planned.engine);
  for (const PlannedDeployment& pool : planned.pools) {
    const bool is_prefill = pool.role == Role::kPrefill;
    if (engine.settings != nullptr)
      files.push_back({settings_of_pool(pool), yaml_text(engine.settings(pool)), false,
                       is_prefill ? "the engine's settings, of instances that compute prompts"
                                  : "those of instances that decode"});
    files.push_back({script_of_pool(pool), pool_script(pool), true,
                     is_prefill ? "serves an instance that computes prompts"
                                : "serves an instance that decodes"});
  }
  if (engine.route_settings != nullptr)
    files.push_back({kRouterSettings,
                     yaml_text(engine.route_settings(planned, placed_addresses(planned))), false,
                     "where the instances are"});
  files.push_back({"serve-router.sh", router_script(planned), true, "takes the requests"});
  files.push_back({"serve.sh", machines_script(planned), true, "serves all of a machine"});
}

bool has(const std::vector<Target>& targets, Target target) {
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

core::Status refuse_existing(const std::filesystem::path& folder,
                             const std::vector<DeploymentFile>& files) {
  for (const DeploymentFile& file : files) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(folder / file.name, ignored)))
      return core::Error{
          fmt::format("{} exists; --overwrite replaces it", (folder / file.name).string())};
  }
  return {};
}

// A user knows the folder, not what stands in for it.
core::Error named_for(core::Error error,
                      const std::filesystem::path& temporary,
                      const std::filesystem::path& folder) {
  const std::string told = temporary.string();
  const std::size_t at = error.message.find(told);
  if (at != std::string::npos) error.message.replace(at, told.size(), folder.string());
  return error;
}

// A device that takes the script stays what it is.
core::Status make_program(const std::filesystem::path& path) {
  using std::filesystem::perms;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::filesystem::permissions(path, perms::owner_exec | perms::group_exec | perms::others_exec,
                               std::filesystem::perm_options::add, error);
  if (error) return core::Error{fmt::format("{}: {}", path.string(), error.message())};
  return {};
}

}  // namespace

core::Result<std::vector<DeploymentFile>> deployment_files(const PlannedDeployment& planned,
                                                           const std::vector<Target>& targets) {
  const EngineFiles& engine = files_of(planned.engine);
  std::vector<DeploymentFile> files = {{kPlanned, planned_json(planned), false, "what was priced"}};
  if (planned.is_disaggregated()) {
    add_pools(planned, files);
  } else {
    if (engine.settings != nullptr)
      files.push_back(
          {kSettings, yaml_text(engine.settings(planned)), false, "the engine's settings"});
    files.push_back({"serve.sh", serve_script(planned), true,
                     planned.spans_nodes()
                         ? fmt::format("serves one copy on {} machines", planned.nodes_of_worker())
                         : "serves one copy on this machine"});
  }
  files.push_back({"measure.sh", measure_script(planned), true,
                   planned.is_disaggregated() ? "measures all instances" : "measures one copy"});
  if (has(targets, Target::kKubernetes)) ASSAY_TRY(check_kubernetes_nodes(planned));
  if (has(targets, Target::kLlmd)) ASSAY_TRY(check_llmd_nodes(planned));
  if (has(targets, Target::kKubernetes))
    files.push_back({"kubernetes.yaml", kubernetes_manifest(planned), false, "for kubectl apply"});
  if (has(targets, Target::kDynamo))
    files.push_back({"dynamo.yaml", dynamo_manifest(planned), false, "for Dynamo's operator"});
  if (has(targets, Target::kLlmd)) {
    if (planned.is_disaggregated() && engine.llmd_connector.empty())
      return core::Error{
          fmt::format("llm-d sends no caches of {}: leave it out of --target", engine.name)};
    if (planned.is_local())
      return core::Error{"llm-d takes models by their id of Hugging Face, not from a folder"};
    files.push_back(
        {"llm-d-values.yaml", llmd_values(planned), false, "for llm-d's chart modelservice"});
  }
  for (DeploymentFile& file : files)
    if (file.content.find(kRegistry) != std::string::npos)
      file.purpose += "; its REGISTRY is to be filled in";
  return files;
}

// All are whole before the first gets its name, and what was priced gets its name last: a folder
// without it is no deployment, and its results are not read.
core::Status write_files(const std::filesystem::path& folder,
                         const std::vector<DeploymentFile>& files,
                         Existing existing) {
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  if (existing == Existing::kRefused) ASSAY_TRY(refuse_existing(folder, files));
  const core::TemporaryFolder temporary =
      ASSAY_TRY(core::TemporaryFolder::beside(folder / kPlanned));
  for (const DeploymentFile& file : files) {
    const core::Status written = core::write_file(temporary.path() / file.name, file.content);
    if (!written.ok()) return named_for(written.error(), temporary.path(), folder);
    if (file.is_program) ASSAY_TRY(make_program(temporary.path() / file.name));
  }
  const auto place = [&](const DeploymentFile& file) -> core::Status {
    const std::filesystem::path path = folder / file.name;
    // A FIFO is waited for, and a device gets the bytes: neither takes another file's place.
    std::error_code ignored;
    const bool is_other =
        std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
    ASSAY_TRY(is_other ? core::write_file(path, file.content)
                       : core::place_file(temporary.path() / file.name, path));
    return file.is_program ? make_program(path) : core::Status();
  };
  ASSAY_TRY(core::remove_file(folder / kPlanned));
  for (const DeploymentFile& file : files)
    if (file.name != kPlanned) ASSAY_TRY(place(file));
  for (const DeploymentFile& file : files)
    if (file.name == kPlanned) ASSAY_TRY(place(file));
  return {};
}

}  // namespace assay::plan
