#include "plan/files/nodes.h"

#include <fmt/core.h>

#include "core/check.h"

namespace assay::plan {

Words node_options(const EngineFiles& engine,
                   const PlannedDeployment& planned,
                   const NodePlace& place) {
  const NodeOptions& options = engine.nodes;
  ASSAY_CHECK(!engine.is_started_by_mpi(), "an engine without options for nodes");
  const bool has_port = !options.first_port.empty();
  Words words = {std::string(options.count),
                 std::to_string(planned.nodes_of_worker()),
                 std::string(options.number),
                 place.number,
                 std::string(options.first),
                 has_port ? place.first : fmt::format("{}:{}", place.first, kNodesPort)};
  if (has_port)
    words.insert(words.end(), {std::string(options.first_port), std::to_string(kNodesPort)});
  return words;
}

std::string hosts_text(const Words& names, std::int64_t gpus_of_node) {
  std::string text;
  for (const std::string& name : names)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, gpus_of_node);
  return text;
}

std::string hosts_line(const Words& names, std::int64_t gpus_of_node) {
  return fmt::format("hosts=\"${{HOSTS:-{}}}\"\n", hosts_text(names, gpus_of_node));
}

// ssh gives processes on other machines none of this shell's variables.
std::string mpi_lines(const PlannedDeployment& planned) {
  std::string names = "HF_HOME HF_TOKEN LD_LIBRARY_PATH PATH PYTHONPATH";
  for (const auto& [name, value] : variables_of(planned))
    names += " " + name;
  return fmt::format(
      "passed=()\n"
      "for name in {}; do\n"
      "  [ -z \"${{!name:-}}\" ] || passed+=(-x \"$name\")\n"
      "done\n"
      "[ \"$(id -u)\" != 0 ] || passed+=(--allow-run-as-root)\n"
      "exec mpirun --host \"$hosts\" -np {} --map-by ppr:{}:node \"${{passed[@]}}\" \\\n"
      "  {} ",
      names, planned.worker.gpus(), planned.gpus_of_node(),
      files_of(planned.engine).nodes.mpi_launcher);
}

core::Status check_kubernetes_nodes(const PlannedDeployment& planned) {
  const EngineFiles& engine = files_of(planned.engine);
  if (!planned.has_spanning_worker() || !engine.is_started_by_mpi()) return {};
  return core::Error{fmt::format(
      "workers of {} over several nodes are started by MPI, which needs keys for ssh in "
      "a cluster: --target dynamo leaves them to Dynamo's operator",
      engine.name)};
}

// The chart gives all pods of a worker the labels of those that requests are sent to.
core::Status check_llmd_nodes(const PlannedDeployment& planned) {
  if (!planned.has_spanning_worker()) return {};
  return core::Error{
      "llm-d's chart sends requests to every pod of a worker over several nodes, of which the "
      "first "
      "alone answers: leave it out of --target"};
}

}  // namespace assay::plan
