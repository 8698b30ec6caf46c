#include "cli/study_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/simulation_inputs.h"
#include "core/counted.h"
#include "goal/group_source.h"
#include "goal/job_file.h"
#include "goal/job_schedule.h"
#include "goal/launch_job.h"
#include "model/goal_text.h"
#include "simulate/compat_atlahs.h"
#include "simulate/critical_path.h"
#include "simulate/groups.h"
#include "simulate/launches.h"
#include "simulate/simulate.h"
#include "simulate/stuck.h"

namespace assay::cli {
namespace {

using simulate::StudyTask;
using simulate::TaskResult;

constexpr std::size_t kExamplesOfStuck = 3;

SimulationInputs inputs_of(const StudyTask& task) {
  return {.schedule = task.file,
          .params = task.params,
          .topology = task.topology,
          .network = task.network,
          .links = task.links,
          .atlahs = task.atlahs};
}

TaskResult result_of(const std::vector<std::int64_t>& finish_ns) {
  TaskResult result;
  result.ranks = static_cast<std::int64_t>(finish_ns.size());
  for (const std::int64_t ns : finish_ns)
    result.end_ns = std::max(result.end_ns, ns);
  return result;
}

void add_warnings(const model::Warnings& warnings, TaskResult& result) {
  for (const model::Warning& warning : warnings.all())
    result.warnings.push_back(warning.sentence());
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

void apply(const StudyTask& task, simulate::FabricSpec& fabric) {
  const simulate::Conditions& conditions = task.conditions;
  fabric.changes.insert(fabric.changes.end(), conditions.changes.begin(), conditions.changes.end());
  fabric.background.insert(fabric.background.end(), conditions.background.begin(),
                           conditions.background.end());
  if (conditions.noise) fabric.noise = *conditions.noise;
  if (task.seed) fabric.noise.seed = fabric.routing.seed = *task.seed;
}

core::Result<TaskResult> simulate_schedule(const StudyTask& task,
                                           const model::Schedule& schedule,
                                           const OptionalNotes& notes) {
  simulate::Options options =
      ASSAY_TRY(make_options(inputs_of(task), schedule.ranks().size(), notes));
  if (task.atlahs) {
    const auto outcome = ASSAY_TRY(simulate::simulate_atlahs(schedule, options.inter));
    TaskResult result = result_of(outcome.finish_ns);
    if (!outcome.finished) {
      result.warnings.emplace_back(
          "with compat atlahs, operations never ended or messages had no receive");
    }
    return result;
  }
  if (options.fabric) apply(task, *options.fabric);
  const auto outcome = ASSAY_TRY(simulate::simulate(schedule, options));
  if (!outcome.finished) {
    return simulate::stuck_error(outcome, simulate::find_stuck(outcome, kExamplesOfStuck));
  }
  TaskResult result = result_of(outcome.finish_ns);
  if (outcome.transfers() == nullptr) return result;
  if (std::string replaced = replaced_options(inputs_of(task), outcome); !replaced.empty()) {
    result.warnings.push_back(std::move(replaced));
  }
  const simulate::CriticalPath path = simulate::critical_path(outcome);
  const auto contention =
      static_cast<double>(path.total_ns[static_cast<std::size_t>(simulate::Spent::kContention)]);
  const simulate::Transfers::Totals& totals = outcome.transfers()->totals();
  result.contention_percent = percent(contention, static_cast<double>(outcome.longest_ns()));
  result.lost_percent = percent(totals.lost_ns, totals.moving_ns);
  return result;
}

core::Result<TaskResult> simulate_costs(const StudyTask& task, const goal::JobFile& file) {
  const goal::SimulateLaunches simulate =
      [&](const goal::LaunchSource& schedule) -> core::Result<goal::SimulatedRanks> {
    const simulate::Options options =
        ASSAY_TRY(make_cost_parameters(inputs_of(task), file, schedule.node_of_rank()));
    simulate::LaunchOutcome outcome = ASSAY_TRY(simulate::simulate_launches(schedule, options, 1));
    return goal::SimulatedRanks{std::move(outcome.finish_ns), std::move(outcome.nic_work)};
  };
  const goal::GroupJob job = ASSAY_TRY(goal::make_group_job(file, simulate));
  const auto outcome = ASSAY_TRY(simulate::simulate_groups(job.schedule));
  TaskResult result = result_of(outcome.finish_ns);
  result.replaced_percent = outcome.share_in_groups * 100;
  add_warnings(job.warnings, result);
  return result;
}

core::Result<TaskResult> simulate_launches(const StudyTask& task, const goal::JobFile& file) {
  const auto job = ASSAY_TRY(goal::make_launch_job(file));
  const simulate::Options options =
      ASSAY_TRY(make_parameters(inputs_of(task), job->notes.ranks.size(), job->notes));
  TaskResult result =
      result_of(ASSAY_TRY(simulate::simulate_launches(*job->schedule, options, 1)).finish_ns);
  add_warnings(job->warnings, result);
  return result;
}

core::Result<goal::JobFile> job_of(const StudyTask& task) {
  goal::JobFile file = ASSAY_TRY(goal::read_job_file(task.file));
  if (task.replicas > 0) file.scale.replicas = task.replicas;
  return file;
}

// Returns whether the simulation of a job's file makes its whole graph.
bool needs_graph(const StudyTask& task) {
  return !task.costs && (!task.network.empty() || task.atlahs);
}

core::Result<TaskResult> simulate_job(const StudyTask& task) {
  const goal::JobFile file = ASSAY_TRY(job_of(task));
  if (task.costs) return simulate_costs(task, file);
  if (!needs_graph(task)) return simulate_launches(task, file);
  const auto whole = ASSAY_TRY(goal::make_job_schedule(file));
  TaskResult result = ASSAY_TRY(simulate_schedule(task, whole.schedule, whole.notes));
  add_warnings(whole.warnings, result);
  return result;
}

core::Result<TaskResult> run_task(const StudyTask& task) {
  if (ASSAY_TRY(is_job(task.file))) return simulate_job(task);
  if (task.costs || task.replicas > 0) {
    return core::Error{
        fmt::format("'{}' is a schedule, and {} of a job's file: 'assay goal generate --write job'",
                    task.file.string(), task.costs ? "costs are those" : "replicas are those")};
  }
  const model::Schedule schedule = ASSAY_TRY(model::read_schedule(task.file));
  return simulate_schedule(task, schedule, ASSAY_TRY(notes_beside(task.file)));
}

core::Status check_graph(const StudyTask& task) {
  if (!ASSAY_TRY(is_job(task.file))) return {};
  return goal::check_whole_graph(ASSAY_TRY(job_of(task)));
}

}  // namespace

std::vector<std::string> graph_problems(const std::vector<StudyTask>& tasks) {
  std::map<std::pair<std::filesystem::path, std::uint32_t>, std::size_t> graphs;
  std::vector<const StudyTask*> first;
  for (const StudyTask& task : tasks) {
    if (!needs_graph(task)) continue;
    if (graphs[{task.file, task.replicas}]++ == 0) first.push_back(&task);
  }
  std::vector<std::string> problems;
  for (const StudyTask* task : first) {
    const core::Status status = check_graph(*task);
    if (status.ok()) continue;
    problems.push_back(fmt::format(
        "{} of '{}'{} cannot run: {}", core::counted(graphs[{task->file, task->replicas}], "task"),
        task->file.string(),
        task->replicas > 0 ? fmt::format(" with {} replicas", task->replicas) : "",
        status.error().message));
  }
  return problems;
}

simulate::TaskResult run_study_task(const StudyTask& task) {
  auto result = run_task(task);
  if (result.ok()) return std::move(result).value();
  TaskResult failed;
  failed.error = result.error().message;
  return failed;
}

}  // namespace assay::cli
