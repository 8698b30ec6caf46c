#include "trace/operator_rows.h"

#include <map>

#include "trace/perf/categories.h"

namespace assay::trace {
namespace {

template <class Map, class Key>
std::string_view name_in(const model::Trace& trace, const Map& names, Key key) {
  const auto found = names.find(key);
  return found == names.end() ? std::string_view{} : trace.text(found->second);
}

}  // namespace

TrackNames track_names(const model::Trace& trace, model::TrackId track) {
  const model::TextId process = trace.tracks[track].process;
  return {name_in(trace, trace.process_names, process),
          name_in(trace, trace.process_labels, process), name_in(trace, trace.thread_names, track)};
}

ArgumentTexts argument_texts(const model::Trace& trace, const Node& node) {
  if (node.kind != Node::Kind::kCpuOp) return {};
  const model::CpuOp& op = trace.cpu_ops[node.index];
  return {op.input_dims, op.input_types, op.input_strides, op.concrete_inputs};
}

std::vector<OperatorRow> operator_rows(const RankAnalysis& rank) {
  const model::Trace& trace = *rank.trace;
  std::map<std::pair<model::TextId, model::TextId>, std::string_view> categories;
  std::vector<OperatorRow> rows;
  rows.reserve(rank.launchers.size());
  for (const Launcher& launcher : rank.launchers) {
    const model::TextId name = node_name(trace, rank.tree.nodes[launcher.node]);
    const model::TextId kernel = trace.gpu_events[launcher.kernels.front()].name;
    const auto [found, inserted] = categories.try_emplace({name, kernel});
    if (inserted) {
      found->second = op_category(trace.text(name), trace.text(kernel), rank.options.compat);
    }
    rows.push_back({&launcher, name, found->second});
  }
  return rows;
}

double percent(double part, double total) {
  return total == 0 ? 0 : 100 * part / total;
}

}  // namespace assay::trace
