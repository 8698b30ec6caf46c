#include "trace/sheets/work_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "trace/arguments.h"
#include "trace/collectives/metadata.h"
#include "trace/modules.h"

namespace assay::trace {
namespace {

// Returns the elements of all tensors in a list of shapes, which may hold lists of shapes.
double elements_of(const ArgumentList& shapes) {
  double sum = 0;
  double product = 1;
  bool is_shape = false;
  for (const Argument& part : shapes) {
    if (const ArgumentList* list = part.list()) sum += elements_of(*list);
    if (const auto* size = std::get_if<std::int64_t>(&part.value)) {
      is_shape = true;
      product *= static_cast<double>(*size);
    }
  }
  return is_shape ? sum + product : sum;
}

class WorkCount {
 public:
  explicit WorkCount(const RankAnalysis& rank) : rank_(rank) {
    const std::vector<std::optional<std::int64_t>> numbers = step_numbers(rank);
    for (const Step& step : rank.steps)
      steps_[step.number];
    for (std::uint32_t event = 0; event < rank.counted.size(); ++event) {
      if (!rank.counted[event]) continue;
      if (rank.steps.empty())
        add(event, steps_[std::nullopt]);
      else if (numbers[event])
        add(event, steps_[numbers[event]]);
    }
  }

  void add_rows(model::Table& table) const {
    for (const auto& [number, step] : steps_)
      table.add_row({number ? model::Cell(*number) : model::Cell(), step.kernels,
                     step.shaped_kernels > 0 ? model::Cell(step.elements / step.shaped_kernels)
                                             : model::Cell(),
                     step.collectives, model::cell_of(step.bytes)});
  }

 private:
  struct StepCount {
    double kernels = 0;
    double shaped_kernels = 0;
    double elements = 0;
    double collectives = 0;
    double bytes = 0;
  };

  void add(std::uint32_t event, StepCount& step) {
    if (rank_.gpu_work[event] == GpuWork::kCommunication) {
      ++step.collectives;
      step.bytes += message_bytes(rank_.trace->gpu_events[event]);
    } else if (rank_.gpu_work[event] == GpuWork::kComputation) {
      ++step.kernels;
      add_shapes(event, step);
    }
  }

  [[nodiscard]] double message_bytes(const model::GpuEvent& event) const {
    if (event.collective < 0) return std::nan("");
    const auto& args = rank_.trace->collectives[static_cast<std::size_t>(event.collective)];
    const std::int64_t elements = std::max<std::int64_t>({0, args.in_elements, args.out_elements});
    return static_cast<double>(elements) *
           collectives::element_bytes(rank_.trace->text(args.dtype), Compat::kNone);
  }

  void add_shapes(std::uint32_t event, StepCount& step) {
    const NodeId call = rank_.tree.launched_by[event];
    if (call == kNoNode) return;
    const NodeId launcher = launcher_of(*rank_.trace, rank_.tree, call);
    if (!rank_.tree.is_cpu_op(launcher)) return;
    const model::TextId shapes = rank_.trace->cpu_ops[rank_.tree.nodes[launcher].index].input_dims;
    if (shapes == 0) return;
    const auto [known, is_new] = elements_by_shapes_.try_emplace(shapes, 0);
    if (is_new) known->second = elements_of(parse_arguments(rank_.trace->text(shapes)));
    step.elements += known->second;
    ++step.shaped_kernels;
  }

  const RankAnalysis& rank_;
  std::map<std::optional<std::int64_t>, StepCount> steps_;
  std::unordered_map<model::TextId, double> elements_by_shapes_;
};

}  // namespace

model::Table work_table(const RankAnalysis& rank) {
  model::Table table{.name = kWorkSheet,
                     .title = "What each step does",
                     .columns = {{.name = "step"},
                                 {.name = kKernelsColumn},
                                 {.name = kElementsColumn},
                                 {.name = kCollectivesColumn},
                                 {.name = kMessageBytesColumn}}};
  WorkCount(rank).add_rows(table);
  return table;
}

}  // namespace assay::trace
