#include "plan/files/scripts.h"

#include <fmt/core.h>

#include <map>
#include <vector>

#include "core/shell.h"
#include "core/text.h"
#include "plan/files/engine_files.h"
#include "plan/files/nodes.h"
#include "plan/files/placement.h"

namespace assay::plan {
namespace {

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
      lines.push_back(core::shell_quoted(word));
    } else if (variable != variables.end()) {
      lines.back() += fmt::format(" \"{}\"", variable->second);
    } else {
      lines.back() += " " + core::shell_quoted(word);
    }
  }
  return lines;
}

constexpr const char* kScriptStart =
    "set -euo pipefail\n"
    "cd \"$(dirname \"$0\")\"\n";

// "a, b and c"
std::string listed(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

Words machines_of(const PlannedDeployment& planned) {
  Words names;
  for (std::int64_t node = 0; node < planned.nodes_of_worker(); ++node)
    names.push_back(host_of(planned, node, planned.nodes_of_worker()));
  return names;
}

// The command of a worker on one of its nodes, whose number is in $node, and which finds the first
// at $first. A worker that MPI starts has $hosts instead.
std::string serve_command(const PlannedDeployment& planned,
                          const std::string& settings,
                          std::map<std::string, std::string> variables) {
  const EngineFiles& engine = files_of(planned.engine);
  Words command = engine.serve(planned, settings);
  if (!planned.spans_nodes())
    return fmt::format("exec {}\n", on_lines(lines_of_options(command, variables), 2));
  if (engine.is_started_by_mpi())
    return mpi_lines(planned) + on_lines(lines_of_options(command, variables), 2) + "\n";
  const Words of_node = node_options(engine, planned, {.first = "first", .number = "node"});
  command.insert(command.end(), of_node.begin(), of_node.end());
  variables[std::string(engine.nodes.number)] = "$node";
  variables[std::string(engine.nodes.first)] =
      engine.nodes.first_port.empty() ? fmt::format("$first:{}", kNodesPort) : "$first";
  std::string text;
  Words lines = lines_of_options(command, variables);
  if (!engine.nodes.others.empty()) {
    text = fmt::format("others=()\n[ \"$node\" = 0 ] || others=({})\n", engine.nodes.others);
    lines.emplace_back("\"${others[@]}\"");
  }
  return text + fmt::format("exec {}\n", on_lines(lines, 2));
}

std::string variable_lines(const PlannedDeployment& planned) {
  std::string lines;
  for (const auto& [name, value] : variables_of(planned))
    lines += fmt::format("export {}={}\n", name, core::shell_quoted(value));
  return lines;
}

const char* weights_note(const PlannedDeployment& planned) {
  return planned.is_local() ? "The weights must lie in the same folder on all."
                            : "Each of them downloads the weights.";
}

// What whoever starts a copy on several machines must know.
std::string machines_note(const PlannedDeployment& planned) {
  const Words names = machines_of(planned);
  if (files_of(planned.engine).is_started_by_mpi())
    return fmt::format(
        "# It is started on the first of its {} machines alone: mpirun reaches the others by\n"
        "# ssh, without a password. {}\n"
        "# HOSTS says which machines they are, if not {}.\n",
        names.size(), weights_note(planned), listed(names));
  return fmt::format(
      "# Each of its {} machines runs it with a number: 'serve.sh 0' on {}, which takes the\n"
      "# requests, up to 'serve.sh {}' on {}. {}\n"
      "# FIRST says where the others reach the first, if not at {}.\n",
      names.size(), names.front(), names.size() - 1, names.back(), weights_note(planned),
      names.front());
}

std::string number_lines(const PlannedDeployment& planned) {
  const std::int64_t nodes = planned.nodes_of_worker();
  std::string numbers;
  for (std::int64_t node = 0; node < nodes; ++node)
    numbers += (node == 0 ? "" : " | ") + std::to_string(node);
  return fmt::format(
      "node=\"${{1:-}}\"\n"
      "case \"$node\" in\n"
      "  {}) ;;\n"
      "  *)\n"
      "    echo \"$0 N: this machine is one of 0 to {}\" >&2\n"
      "    exit 2\n"
      "    ;;\n"
      "esac\n"
      "first=\"${{FIRST:-{}}}\"\n",
      numbers, nodes - 1, host_of(planned, 0, nodes));
}

// "0,1"
std::string gpu_list(std::int64_t first, std::int64_t count) {
  std::string list;
  for (std::int64_t i = first; i < first + count; ++i)
    list += (list.empty() ? "" : ",") + std::to_string(i);
  return list;
}

// Where an instance of a pool runs.
std::string place_lines(const PlannedDeployment& pool) {
  const EngineFiles& engine = files_of(pool.engine);
  const bool is_mpi = pool.spans_nodes() && engine.is_started_by_mpi();
  std::string text;
  if (is_mpi) {
    text = hosts_line(machines_of(pool), pool.gpus_of_node());
  } else {
    text = fmt::format("export CUDA_VISIBLE_DEVICES=\"${{GPUS:-{}}}\"\n",
                       gpu_list(0, pool.gpus_of_node()));
  }
  if (pool.spans_nodes() && !is_mpi) text += "node=\"${NODE:-0}\"\nfirst=\"${FIRST:-localhost}\"\n";
  return text + fmt::format("port=\"${{PORT:-{}}}\"\n", pool.port);
}

std::string count_note(const PlannedDeployment& pool) {
  const std::string count =
      pool.copies == 1 ? "# There is one of it" : fmt::format("# There are {} of it", pool.copies);
  if (!pool.spans_nodes()) return count + ".";
  return fmt::format("{}, {} {} machines.", count, pool.copies == 1 ? "on" : "each on",
                     pool.nodes_of_worker());
}

std::string place_note(const PlannedDeployment& pool) {
  const EngineFiles& engine = files_of(pool.engine);
  if (pool.spans_nodes() && engine.is_started_by_mpi())
    return count_note(pool) +
           " It is started on the first: mpirun reaches the others by ssh,\n"
           "# without a password. HOSTS and PORT say where it is.\n";
  const TransferPort& port = engine.transfer_port;
  std::string text = count_note(pool);
  if (pool.spans_nodes())
    text +=
        " All run this: NODE is a machine's number, FIRST where\n"
        "# the others reach number 0.";
  Words names = {"GPUS", "PORT"};
  if (port.first > 0) names.emplace_back("TRANSFER_PORT");
  return text + fmt::format(" {} say where, if not on the first GPUs{}.\n", listed(names),
                            port.host_variable.empty()
                                ? ""
                                : ";\n# ADDRESS, where other machines reach this one");
}

// Starts what runs on a machine; the router is on the first.
std::string machine_lines(const PlannedDeployment& planned, std::int64_t node, const char* indent) {
  const std::vector<PlacedInstance> placed = place_instances(planned);
  const std::int64_t nodes = nodes_of(placed);
  const EngineFiles& engine = files_of(planned.engine);
  const bool tells_host = !engine.transfer_port.host_variable.empty();
  std::string lines;
  for (const PlacedInstance& one : placed) {
    const PlannedDeployment& pool = planned.pool(one.role);
    const std::int64_t number = node - one.node;
    if (number < 0 || number >= pool.nodes_of_worker()) continue;
    const bool is_mpi = pool.spans_nodes() && engine.is_started_by_mpi();
    if (is_mpi && number > 0) {
      lines += fmt::format("{}echo \"mpirun on {} starts what runs here\"\n{}exit 0\n", indent,
                           host_of(planned, one.node, nodes), indent);
      continue;
    }
    lines += indent;
    if (is_mpi) {
      Words hosts;
      for (std::int64_t i = 0; i < pool.nodes_of_worker(); ++i)
        hosts.push_back(host_of(planned, one.node + i, nodes));
      lines += fmt::format("HOSTS={}", hosts_text(hosts, pool.gpus_of_node()));
    } else {
      lines += fmt::format("GPUS={}", gpu_list(one.first_gpu, pool.gpus_of_node()));
    }
    lines += fmt::format(" PORT={}", one.port);
    if (pool.spans_nodes() && !is_mpi)
      lines += fmt::format(" NODE={} FIRST={}", number, host_of(planned, one.node, nodes));
    if (one.transfer_port > 0) lines += fmt::format(" TRANSFER_PORT={}", one.transfer_port);
    if (tells_host) lines += " ADDRESS=" + host_of(planned, node, nodes);
    lines += fmt::format(" ./{} &\n", script_of_pool(pool));
  }
  if (node == 0) lines += fmt::format("{}./serve-router.sh &\n", indent);
  return lines;
}

// The GPUs of a machine, where machines have different ones.
std::string system_note(const PlannedDeployment& planned, std::int64_t node) {
  if (planned.pool(Role::kDecode).system == planned.system) return "";
  for (const PlacedInstance& one : place_instances(planned)) {
    if (one.node <= node && node <= one.last_node) return ", " + planned.pool(one.role).system;
  }
  return "";
}

std::string machine_cases(const PlannedDeployment& planned, std::int64_t nodes) {
  std::string cases = "case \"${1:-}\" in\n";
  for (std::int64_t node = 0; node < nodes; ++node)
    cases += fmt::format("  {})  # {}{}\n{}    ;;\n", node, host_of(planned, node, nodes),
                         system_note(planned, node), machine_lines(planned, node, "    "));
  return cases + fmt::format(
                     "  *)\n"
                     "    echo \"$0 N: this machine is one of 0 to {}\" >&2\n"
                     "    exit 2\n"
                     "    ;;\n"
                     "esac\n",
                     nodes - 1);
}

}  // namespace

std::string settings_of_pool(const PlannedDeployment& pool) {
  return fmt::format("{}-{}", name_of(pool.role), kSettings);
}

std::string script_of_pool(const PlannedDeployment& pool) {
  return fmt::format("serve-{}.sh", name_of(pool.role));
}

std::string serve_script(const PlannedDeployment& planned) {
  const bool is_mpi = files_of(planned.engine).is_started_by_mpi();
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# Serves one copy of {} on {} GPUs of {}: {}.\n",
      core::shell_quoted(planned.model), planned.worker.gpus(), planned.system,
      planned.worker.text());
  if (planned.spans_nodes()) text += machines_note(planned);
  text += kScriptStart;
  if (planned.spans_nodes())
    text +=
        is_mpi ? hosts_line(machines_of(planned), planned.gpus_of_node()) : number_lines(planned);
  return text + variable_lines(planned) + serve_command(planned, kSettings, {});
}

// An instance's ports and GPUs are variables, because several run on a machine.
std::string pool_script(const PlannedDeployment& pool) {
  const TransferPort& port = files_of(pool.engine).transfer_port;
  std::map<std::string, std::string> variables = {{"--port", "$port"}};
  const std::int64_t gpus = pool.worker.gpus();
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# Serves an instance of {} that {} on {} GPU{} of {}: {}.\n"
      "{}{}{}",
      core::shell_quoted(pool.model), pool.role == Role::kPrefill ? "computes prompts" : "decodes",
      gpus, gpus == 1 ? "" : "s", pool.system, pool.worker.text(), place_note(pool), kScriptStart,
      place_lines(pool));
  if (!port.option.empty()) {
    text += fmt::format("transfer_port=\"${{TRANSFER_PORT:-{}}}\"\n", port.first);
    variables[std::string(port.option)] = "$transfer_port";
  }
  if (!port.variable.empty())
    text += fmt::format("export {}=\"${{TRANSFER_PORT:-{}}}\"\n", port.variable, port.first);
  if (!port.host_variable.empty())
    text += fmt::format("export {}=\"${{ADDRESS:-localhost}}\"\n", port.host_variable);
  return text + variable_lines(pool) + serve_command(pool, settings_of_pool(pool), variables);
}

std::string router_script(const PlannedDeployment& planned) {
  const Words command =
      files_of(planned.engine).route(planned, placed_addresses(planned), kRouterSettings);
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Takes the requests of {} and sends them to the instances in turn.\n"
      "{}"
      "exec {}\n",
      core::shell_quoted(planned.model), kScriptStart, on_lines(lines_of_options(command, {}), 2));
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
      core::shell_quoted(planned.model), planned.text(),
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
      planned.prompt_tokens, planned.output_tokens, planned.port,
      core::shell_quoted(planned.model_path), concurrencies, kRequestsEach, files.result_ending,
      on_lines(files.measure(planned), 4));
}

}  // namespace assay::plan
