#include "plan/files/deployment_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"
#include "plan/files/engine_files.h"
#include "plan/files/manifests.h"
#include "plan/files/placement.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

constexpr const char* kPlanned = "deployment.json";
constexpr const char* kSettings = "settings.yaml";
constexpr const char* kRouterSettings = "router.yaml";
constexpr std::int64_t kRequestsEach = 10;  // as public benchmarks send

// Words of a command on lines of their own.
std::string on_lines(const Words& words, std::size_t indent) {
  return core::join(words, " \\\n" + std::string(indent, ' '));
}

// Options with their values, on a line each. Values of some are variables of the script.
Words lines_of_options(const Words& words, const std::map<std::string, std::string>& variables) {
  Words lines;
  for (const std::string& word : words) {
    const bool is_option = word.starts_with("--");
    const auto variable = lines.empty() ? variables.end() : variables.find(lines.back());
    if (lines.empty() || is_option) {
      lines.push_back(shell_quoted(word));
    } else if (variable != variables.end()) {
      lines.back() += fmt::format(" \"${}\"", variable->second);
    } else {
      lines.back() += " " + shell_quoted(word);
    }
  }
  return lines;
}

constexpr const char* kScriptStart =
    "set -euo pipefail\n"
    "cd \"$(dirname \"$0\")\"\n";

std::string serve_script(const PlannedDeployment& planned) {
  const Words command = files_of(planned.engine).serve(planned, kSettings);
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Serves one copy of {} on {} GPUs of {}: {}.\n"
      "{}"
      "exec {}\n",
      shell_quoted(planned.model), planned.worker.gpus(), planned.system, planned.worker.text(),
      kScriptStart, on_lines(lines_of_options(command, {}), 2));
}

std::string settings_of_pool(const PlannedDeployment& pool) {
  return fmt::format("{}-{}", name_of(pool.role), kSettings);
}

std::string script_of_pool(const PlannedDeployment& pool) {
  return fmt::format("serve-{}.sh", name_of(pool.role));
}

// "0,1"
std::string gpu_list(std::int64_t first, std::int64_t count) {
  std::string list;
  for (std::int64_t i = first; i < first + count; ++i)
    list += (list.empty() ? "" : ",") + std::to_string(i);
  return list;
}

// An instance's ports and GPUs are variables, because several run on a machine.
std::string pool_script(const PlannedDeployment& pool) {
  const EngineFiles& engine = files_of(pool.engine);
  const TransferPort& port = engine.transfer_port;
  std::map<std::string, std::string> variables = {{"--port", "port"}};
  const std::int64_t gpus = pool.worker.gpus();
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# Serves an instance of {} that {} on {} GPU{} of {}: {}.\n"
      "# There are {} of it. GPUS{} PORT{} say where, if not on the first GPUs{}.\n"
      "{}"
      "export CUDA_VISIBLE_DEVICES=\"${{GPUS:-{}}}\"\n"
      "port=\"${{PORT:-{}}}\"\n",
      shell_quoted(pool.model), pool.role == Role::kPrefill ? "computes prompts" : "decodes", gpus,
      gpus == 1 ? "" : "s", pool.system, pool.worker.text(), pool.copies,
      port.first > 0 ? "," : " and", port.first > 0 ? " and TRANSFER_PORT" : "",
      port.host_variable.empty() ? "" : ";\n# ADDRESS, where other machines reach this one",
      kScriptStart, gpu_list(0, gpus), pool.port);
  if (!port.option.empty()) {
    text += fmt::format("transfer_port=\"${{TRANSFER_PORT:-{}}}\"\n", port.first);
    variables[std::string(port.option)] = "transfer_port";
  }
  if (!port.variable.empty())
    text += fmt::format("export {}=\"${{TRANSFER_PORT:-{}}}\"\n", port.variable, port.first);
  if (!port.host_variable.empty())
    text += fmt::format("export {}=\"${{ADDRESS:-localhost}}\"\n", port.host_variable);
  const Words command = engine.serve(pool, settings_of_pool(pool));
  return text + fmt::format("exec {}\n", on_lines(lines_of_options(command, variables), 2));
}

std::string router_script(const PlannedDeployment& planned) {
  const Words command =
      files_of(planned.engine).route(planned, placed_addresses(planned), kRouterSettings);
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Takes the requests of {} and sends them to the instances in turn.\n"
      "{}"
      "exec {}\n",
      shell_quoted(planned.model), kScriptStart, on_lines(lines_of_options(command, {}), 2));
}

// Starts what runs on a machine; the router is on the first.
std::string machine_lines(const PlannedDeployment& planned, std::int64_t node, const char* indent) {
  const std::vector<PlacedInstance> placed = place_instances(planned);
  const std::string host = host_of(planned, node, nodes_of(placed));
  const bool tells_host = !files_of(planned.engine).transfer_port.host_variable.empty();
  std::string lines;
  for (const PlacedInstance& one : placed) {
    if (one.node != node) continue;
    const PlannedDeployment& pool = planned.pool(one.role);
    lines += fmt::format("{}GPUS={} PORT={}", indent, gpu_list(one.first_gpu, pool.worker.gpus()),
                         one.port);
    if (one.transfer_port > 0) lines += fmt::format(" TRANSFER_PORT={}", one.transfer_port);
    if (tells_host) lines += " ADDRESS=" + host;
    lines += fmt::format(" ./{} &\n", script_of_pool(pool));
  }
  if (node == 0) lines += fmt::format("{}./serve-router.sh &\n", indent);
  return lines;
}

std::string machine_cases(const PlannedDeployment& planned, std::int64_t nodes) {
  std::string cases = "case \"${1:-}\" in\n";
  for (std::int64_t node = 0; node < nodes; ++node)
    cases += fmt::format("  {})  # {}\n{}    ;;\n", node, host_of(planned, node, nodes),
                         machine_lines(planned, node, "    "));
  return cases + fmt::format(
                     "  *)\n"
                     "    echo \"$0 N: this machine is one of 0 to {}\" >&2\n"
                     "    exit 2\n"
                     "    ;;\n"
                     "esac\n",
                     nodes - 1);
}

std::string machines_script(const PlannedDeployment& planned) {
  const std::int64_t nodes = nodes_of(place_instances(planned));
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Serves {}: {}{}.\n"
      "# When one of its programs ends, all do.\n"
      "{}"
      "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"
      "{}"
      "wait -n\n",
      shell_quoted(planned.model), planned.text(),
      nodes == 1 ? ", on this machine"
                 : fmt::format(", on {} machines; the argument says which this one is", nodes),
      kScriptStart, nodes == 1 ? machine_lines(planned, 0, "") : machine_cases(planned, nodes));
}

std::string measure_script(const PlannedDeployment& planned) {
  const EngineFiles& files = files_of(planned.engine);
  std::string concurrencies;
  for (const std::int64_t one : measured_concurrencies(planned))
    concurrencies += fmt::format(" {}", one);
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Measures {} by its engine's own client: so many requests stay in flight, {} are "
      "sent\n"
      "# for each, all of {} + {} tokens. `assay plan validate` reads this folder afterwards.\n"
      "# URL and MODEL say where the server and the tokenizer are, if not here.\n"
      "set -euo pipefail\n"
      "cd \"$(dirname \"$0\")\"\n"
      "url=\"${{URL:-http://localhost:{}}}\"\n"
      "model=\"${{MODEL:-}}\"\n"
      "[ -n \"$model\" ] || model={}\n"
      "mkdir -p results\n"
      "for concurrency in{}; do\n"
      "  requests=$((concurrency * {}))\n"
      "  result=\"results/concurrency-$concurrency.{}\"\n"
      "  rm -f \"$result\"\n"
      "  {}\n"
      "done\n",
      planned.is_disaggregated() ? "all instances" : "one copy", kRequestsEach,
      planned.prompt_tokens, planned.output_tokens, planned.port, shell_quoted(planned.model_path),
      concurrencies, kRequestsEach, files.result_ending, on_lines(files.measure(planned), 4));
}

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
    files.push_back({"serve.sh", serve_script(planned), true, "serves one copy on this machine"});
  }
  files.push_back({"measure.sh", measure_script(planned), true,
                   planned.is_disaggregated() ? "measures all instances" : "measures one copy"});
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
