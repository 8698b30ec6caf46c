#include "trace/sheets/work_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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
    for (std::uint32_t event = 0; event < rank.counted.size(); ++event)
      if (rank.counted[event]) add(event);
  }

  [[nodiscard]] std::vector<model::Cell> row() const {
    const auto steps = static_cast<double>(std::max<std::size_t>(1, rank_.steps.size()));
    return {kernels_ / steps,
            shaped_kernels_ > 0 ? model::Cell(elements_ / shaped_kernels_) : model::Cell(),
            collectives_ / steps, model::cell_of(bytes_ / steps)};
  }

 private:
  void add(std::uint32_t event) {
    if (rank_.gpu_work[event] == GpuWork::kCommunication) {
      ++collectives_;
      bytes_ += message_bytes(rank_.trace->gpu_events[event]);
    } else if (rank_.gpu_work[event] == GpuWork::kComputation) {
      ++kernels_;
      add_shapes(event);
    }
  }

  [[nodiscard]] double message_bytes(const model::GpuEvent& event) const {
    if (event.collective < 0) return std::nan("");
    const auto& args = rank_.trace->collectives[static_cast<std::size_t>(event.collective)];
    const std::int64_t elements = std::max<std::int64_t>({0, args.in_elements, args.out_elements});
    return static_cast<double>(elements) *
           collectives::element_bytes(rank_.trace->text(args.dtype), Compat::kNone);
  }

  void add_shapes(std::uint32_t event) {
    const NodeId call = rank_.tree.launched_by[event];
    if (call == kNoNode) return;
    const NodeId launcher = launcher_of(*rank_.trace, rank_.tree, call);
    if (!rank_.tree.is_cpu_op(launcher)) return;
    const model::TextId shapes = rank_.trace->cpu_ops[rank_.tree.nodes[launcher].index].input_dims;
    if (shapes == 0) return;
    const auto [known, is_new] = elements_by_shapes_.try_emplace(shapes, 0);
    if (is_new) known->second = elements_of(parse_arguments(rank_.trace->text(shapes)));
    elements_ += known->second;
    ++shaped_kernels_;
  }

  const RankAnalysis& rank_;
  double kernels_ = 0;
  double shaped_kernels_ = 0;
  double elements_ = 0;
  double collectives_ = 0;
  double bytes_ = 0;
  std::unordered_map<model::TextId, double> elements_by_shapes_;
};

}  // namespace

model::Table work_table(const RankAnalysis& rank) {
  model::Table table{.name = kWorkSheet,
                     .title = "What a step does",
                     .columns = {{.name = kKernelsColumn},
                                 {.name = kElementsColumn},
                                 {.name = kCollectivesColumn},
                                 {.name = kMessageBytesColumn}}};
  table.add_row(WorkCount(rank).row());
  return table;
}

}  // namespace assay::trace
