#include <algorithm>
#include <map>

#include "core/statistics.h"
#include "trace/sheet.h"
#include "trace/sheets/operator_table.h"
#include "trace/timeline.h"

namespace assay::trace {
namespace {

using model::Better;

model::Cell told(std::int64_t number) {
  return number < 0 ? model::Cell{} : model::Cell{number};
}

model::Table serving_steps_table(const RankAnalysis& rank) {
  model::Table table{
      "inference_steps",
      "Each run of the model that the serving engine annotates, from its first GPU work to that of "
      "the next",
      {{"step", "", Better::kNeither, "by their order, from 0 on"},
       {"phase", "", Better::kNeither, "prefill reads prompts, decode generates, mixed does both"},
       {"batch size", "", Better::kNeither, "requests"},
       {"prompts", "", Better::kNeither, "requests whose prompt is read"},
       {"prompt tokens"},
       {"decodes", "", Better::kNeither, "requests that are decoded"},
       {"decode tokens"},
       {"time ms", "ms", Better::kLower},
       {"busy ms", "ms"},
       {"compute ms", "ms"},
       {"exposed comm ms", "ms"},
       {"idle ms", "ms"}}};
  const BusyIntervals busy = busy_intervals(rank);
  for (const Step& step : rank.steps) {
    const ServingLabel& label = *step.label;
    const Timeline times = timeline(busy, step.window);
    table.add_row({step.number, std::string(phase_name(label.phase)), told(label.requests),
                   told(label.prompts), told(label.prompt_tokens), told(label.decodes),
                   told(label.decode_tokens), rank.time.milliseconds(times.total),
                   rank.time.milliseconds(times.busy), rank.time.milliseconds(times.computation),
                   rank.time.milliseconds(times.exposed_comm), rank.time.milliseconds(times.idle)});
  }
  return table;
}

struct PhaseSteps {
  std::vector<double> ms;
  std::vector<double> requests;  // of the steps that tell it
};

model::Table serving_phases_table(const RankAnalysis& rank) {
  std::map<std::string_view, PhaseSteps> phases;
  double all_ms = 0;
  for (const Step& step : rank.steps) {
    PhaseSteps& phase = phases[phase_name(step.label->phase)];
    phase.ms.push_back(rank.time.milliseconds(step.window.length()));
    all_ms += phase.ms.back();
    if (step.label->requests >= 0)
      phase.requests.push_back(static_cast<double>(step.label->requests));
  }
  std::vector<std::pair<double, std::string_view>> order;
  for (const auto& [name, phase] : phases)
    order.emplace_back(core::sum(phase.ms), name);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  model::Table table{"inference_phases",
                     "The runs of the model by phase",
                     {{"phase"},
                      {"steps"},
                      {"mean batch size"},
                      {"mean ms", "ms", Better::kLower},
                      {"std ms", "ms"},
                      {"min ms", "ms"},
                      {"max ms", "ms"},
                      {"total ms", "ms"},
                      {"percent", "%", Better::kNeither, "of the time of all runs"}}};
  for (const auto& [total, name] : order) {
    const PhaseSteps& phase = phases[name];
    table.add_row({std::string(name), static_cast<std::int64_t>(phase.ms.size()),
                   model::cell_of(core::mean(phase.requests)), core::mean(phase.ms),
                   model::cell_of(core::sample_deviation(phase.ms)), core::minimum(phase.ms),
                   core::maximum(phase.ms), total, percent(total, all_ms)});
  }
  return table;
}

std::vector<model::Table> build_inference_steps(const RankAnalysis& rank) {
  if (rank.steps.empty() || !rank.steps.front().label) return {};
  std::vector<model::Table> tables;
  tables.push_back(serving_steps_table(rank));
  tables.push_back(serving_phases_table(rank));
  return tables;
}

const SheetSpec kInferenceSteps{
    .name = "inference_steps", .position = 105, .build = build_inference_steps};
ASSAY_REGISTER(SheetSpec, kInferenceSteps);

}  // namespace
}  // namespace assay::trace
