#include "plan/files/deployment_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"
#include "plan/files/engine_files.h"
#include "plan/files/manifests.h"
#include "plan/files/yaml.h"

namespace assay::plan {
namespace {

constexpr const char* kSettings = "settings.yaml";
constexpr std::int64_t kRequestsEach = 10;  // as public benchmarks send

// Words of a command on lines of their own.
std::string on_lines(const Words& words, std::size_t indent) {
  return core::join(words, " \\\n" + std::string(indent, ' '));
}

// Options with their values, on a line each.
Words lines_of_options(const Words& words) {
  Words lines;
  for (const std::string& word : words) {
    const bool is_option = word.starts_with("--");
    if (lines.empty() || is_option) {
      lines.push_back(shell_quoted(word));
    } else {
      lines.back() += " " + shell_quoted(word);
    }
  }
  return lines;
}

std::string serve_script(const PlannedDeployment& planned) {
  const Words command = files_of(planned.engine).serve(planned, kSettings);
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Serves one copy of {} on {} GPUs of {}: {}.\n"
      "set -euo pipefail\n"
      "cd \"$(dirname \"$0\")\"\n"
      "exec {}\n",
      shell_quoted(planned.model), planned.worker.gpus(), planned.system, planned.worker.text(),
      on_lines(lines_of_options(command), 2));
}

std::string measure_script(const PlannedDeployment& planned) {
  const EngineFiles& files = files_of(planned.engine);
  std::string concurrencies;
  for (const std::int64_t one : measured_concurrencies(planned))
    concurrencies += fmt::format(" {}", one);
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Measures one copy by its engine's own client: so many requests stay in flight, {} are "
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
      kRequestsEach, planned.prompt_tokens, planned.output_tokens, planned.port,
      shell_quoted(planned.model_path), concurrencies, kRequestsEach, files.result_ending,
      on_lines(files.measure(planned), 4));
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
  std::vector<DeploymentFile> files = {
      {"deployment.json", planned_json(planned), false, "what was priced"}};
  if (engine.settings != nullptr)
    files.push_back(
        {kSettings, yaml_text(engine.settings(planned)), false, "the engine's settings"});
  files.push_back({"serve.sh", serve_script(planned), true, "serves one copy on this machine"});
  files.push_back({"measure.sh", measure_script(planned), true, "measures one copy"});
  if (has(targets, Target::kKubernetes))
    files.push_back({"kubernetes.yaml", kubernetes_manifest(planned), false, "for kubectl apply"});
  if (has(targets, Target::kDynamo))
    files.push_back({"dynamo.yaml", dynamo_manifest(planned), false, "for Dynamo's operator"});
  if (has(targets, Target::kLlmd)) {
    if (planned.is_local())
      return core::Error{"llm-d takes models by their id of Hugging Face, not from a folder"};
    files.push_back(
        {"llm-d-values.yaml", llmd_values(planned), false, "for llm-d's chart modelservice"});
  }
  return files;
}

core::Status write_files(const std::filesystem::path& folder,
                         const std::vector<DeploymentFile>& files,
                         Existing existing) {
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  if (existing == Existing::kRefused) ASSAY_TRY(refuse_existing(folder, files));
  for (const DeploymentFile& file : files) {
    ASSAY_TRY(core::write_file(folder / file.name, file.content));
    if (file.is_program) ASSAY_TRY(make_program(folder / file.name));
  }
  return {};
}

}  // namespace assay::plan
