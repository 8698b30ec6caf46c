#include "sweep/observer.h"

#include <iterator>
#include <set>
#include <utility>

#include "gpu/devices.h"
#include "sweep/environment_check.h"
#include "sweep/foreign_processes.h"
#include "sweep/gpu_watch.h"
#include "sweep/loaded_libraries.h"
#include "sweep/process_table.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

template <class List>
void append(List& to, List from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

struct Observer::State {
  State(const ObserverSources& sources, const fs::path& expected_library)
      : root(sources.root),
        gpus(sources),
        foreign(sources.root),
        libraries(sources.root, expected_library) {}

  void look_at(pid_t process);

  fs::path root;
  model::Facts host;
  GpuWatch gpus;
  ForeignProcesses foreign;
  LoadedLibraries libraries;
  Variables variables;
  EnvironmentCheck environment{{}};
  std::set<pid_t> environment_known;
};

void Observer::State::look_at(pid_t process) {
  if (libraries.look(process) != LoadedLibraries::Communicates::kYes) return;
  if (!environment_known.insert(process).second) return;
  const auto read = read_environment(root, process);
  if (!read) return;
  environment.compare(process, process_name(root, process), *read);
  libraries.add_plugin_names(*read);
}

Observer::Observer(const ObserverSources& sources, const fs::path& expected_library)
    : state_(std::make_unique<State>(sources, expected_library)) {}

Observer::~Observer() = default;

void Observer::begin_run(const Variables& variables) {
  state_->host = gpu::host_facts(state_->root);
  state_->libraries.begin_run();
  state_->variables = variables;
  state_->environment = EnvironmentCheck(variables);
  state_->environment_known.clear();
  state_->foreign.begin_run(state_->gpus.begin_run());
}

void Observer::look(std::span<const pid_t> processes, Gpus gpus) {
  for (const pid_t process : processes)
    state_->look_at(process);
  // A plugin that was not seen would make its variables look like nobody's.
  if (state_->libraries.not_read(state_->variables).empty())
    state_->libraries.look_for_plugins();
  else
    state_->libraries.look_for_all_plugins();
  if (gpus == Gpus::kLook) state_->foreign.look(state_->gpus.look(), processes);
}

Observation Observer::end_run() const {
  Observation observation{.facts = state_->host,
                          .warnings = state_->libraries.warnings(),
                          .not_applied = state_->environment.not_applied(),
                          .not_read = state_->libraries.not_read(state_->variables)};
  append(observation.facts, state_->gpus.facts());
  append(observation.facts, state_->libraries.facts());
  append(observation.warnings, state_->environment.warnings());
  for (const std::string& variable : observation.not_read)
    observation.warnings.push_back(variable + " is no variable of the library that was loaded");
  append(observation.warnings, state_->foreign.warnings());
  append(observation.warnings, state_->gpus.warnings());
  return observation;
}

}  // namespace assay::sweep
