#include "trace/perf/operator_instances.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace assay::trace {
namespace {

void append(std::string& key, model::TextId id) {
  std::array<char, sizeof id> bytes{};
  std::memcpy(bytes.data(), &id, sizeof id);
  key.append(bytes.data(), bytes.size());
}

// Forward and backward operators of these families share a sheet.
constexpr std::array<std::string_view, 4> kSingleSheets = {"GEMM", "BinaryElementwise",
                                                           "UnaryElementwise", "Normalization"};

bool is_single(std::string_view sheet) {
  return std::find(kSingleSheets.begin(), kSingleSheets.end(), sheet) != kSingleSheets.end();
}

void append_counted(const RankAnalysis& rank, NodeId node, std::vector<std::uint32_t>& events) {
  for (const std::uint32_t event : rank.tree.gpu_events_below(node))
    if (rank.counted[event]) events.push_back(event);
}

class Collector {
 public:
  Collector(const RankAnalysis& rank, Estimates& estimates)
      : rank_(rank), estimates_(estimates), links_(*rank.trace, rank.tree) {}

  RooflineSheets sheets() {
    for (const NodeId node : modelled_operators())
      collect(node);
    return std::move(sheets_);
  }

 private:
  // Returns the nodes in the order of the file.
  std::vector<NodeId> modelled_operators() {
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < rank_.tree.node_count(); ++node) {
      const OperatorFamily* family = estimates_.family(node);
      const bool has_sheet = family != nullptr && !std::string_view(family->sheet).empty();
      if (has_sheet && estimates_.has_model(node)) nodes.push_back(node);
    }
    std::sort(nodes.begin(), nodes.end(), [this](NodeId a, NodeId b) {
      return node_uid(*rank_.trace, rank_.tree.nodes[a]) <
             node_uid(*rank_.trace, rank_.tree.nodes[b]);
    });
    return nodes;
  }

  void collect(NodeId node) {
    const OperatorFamily& family = *estimates_.family(node);
    const std::string sheet = family.sheet;
    std::vector<std::uint32_t> events = counted_below(rank_, node);
    const bool has_backward = !is_single(sheet) && has_unmodelled_backward(node, family);
    std::vector<std::uint32_t> backward_events;
    if (has_backward) backward_events = counted_backward(rank_, links_, node);
    if (!shown(events) && !(has_backward && shown(backward_events))) return;
    const Estimate* estimate = estimates_.find(node, events);
    if (estimate == nullptr) return;
    const char* suffix = is_single(sheet) ? "" : family.is_backward() ? "_bwd" : "_fwd";
    add(sheet + suffix, node, std::move(events), *estimate, estimate->work);
    if (has_backward && estimate->backward_work)
      add(sheet + "_bwd", node, std::move(backward_events), *estimate, *estimate->backward_work);
  }

  // The public tool also shows calls that launched nothing.
  [[nodiscard]] bool shown(const std::vector<std::uint32_t>& events) const {
    return !events.empty() || rank_.options.compat == Compat::kTraceLens;
  }

  // A backward operator with a model of its own has an instance of its own.
  bool has_unmodelled_backward(NodeId node, const OperatorFamily& family) {
    const NodeId backward = links_.backward_of(node);
    if (backward == kNoNode) return false;
    for (NodeId below = backward; below < rank_.tree.nodes[backward].subtree_end; ++below) {
      const OperatorFamily* other = estimates_.family(below);
      if (other != nullptr && other->model != nullptr && other->is_backward() &&
          std::string_view(other->sheet) == family.sheet)
        return false;
    }
    return true;
  }

  void add(const std::string& sheet,
           NodeId node,
           std::vector<std::uint32_t> events,
           const Estimate& estimate,
           const Work& work) {
    if (!shown(events)) return;
    const double kernel_us = rank_.busy_us(events);
    sheets_[sheet].push_back({node, std::move(events), kernel_us, &estimate, &work});
  }

  const RankAnalysis& rank_;
  Estimates& estimates_;
  BackwardLinks links_;
  RooflineSheets sheets_;
};

}  // namespace

Estimates::Estimates(const RankAnalysis& rank) : rank_(rank) {}

const OperatorFamily* Estimates::family(NodeId node) {
  if (!rank_.tree.is_cpu_op(node)) return nullptr;
  const model::TextId name = node_name(*rank_.trace, rank_.tree.nodes[node]);
  const auto [found, is_new] = families_.try_emplace(name);
  if (is_new) found->second = operator_family(rank_.trace->text(name));
  return found->second;
}

bool Estimates::has_model(NodeId node) {
  const OperatorFamily* known = family(node);
  if (known == nullptr || known->model == nullptr) return false;
  if (known->fits == ModelFits::kEveryCall) return true;
  return evaluated(rank_.trace->cpu_ops[rank_.tree.nodes[node].index], *known, {}).ok();
}

const core::Result<Estimate>& Estimates::evaluated(const model::CpuOp& op,
                                                   const OperatorFamily& family,
                                                   std::span<const std::uint32_t> kernels) {
  std::string key;
  for (const model::TextId id :
       {op.name, op.input_dims, op.input_types, op.input_strides, op.concrete_inputs})
    append(key, id);
  for (const std::uint32_t kernel : kernels)
    append(key, rank_.trace->gpu_events[kernel].name);
  auto found = estimates_.find(key);
  if (found == estimates_.end())
    found = estimates_.emplace(std::move(key), evaluate(op, family, kernels)).first;
  return found->second;
}

const Estimate* Estimates::find(NodeId node, std::span<const std::uint32_t> kernels) {
  if (!has_model(node)) return nullptr;
  const core::Result<Estimate>& estimate =
      evaluated(rank_.trace->cpu_ops[rank_.tree.nodes[node].index], *family(node), kernels);
  if (estimate.ok()) return &estimate.value();
  failures_.add("operator call that its performance model does not fit",
                "no roofline figures for it", estimate.error().message);
  return nullptr;
}

core::Result<Estimate> Estimates::evaluate(const model::CpuOp& op,
                                           const OperatorFamily& family,
                                           std::span<const std::uint32_t> kernels) const {
  const model::Trace& trace = *rank_.trace;
  OperatorCall call{.name = trace.text(op.name),
                    .dims = parse_arguments(trace.text(op.input_dims)),
                    .types = parse_arguments(trace.text(op.input_types)),
                    .strides = parse_arguments(trace.text(op.input_strides)),
                    .concrete = parse_arguments(trace.text(op.concrete_inputs)),
                    .compat = rank_.options.compat};
  for (const std::uint32_t kernel : kernels)
    call.kernel_names.push_back(trace.text(trace.gpu_events[kernel].name));
  return family.model(call);
}

std::vector<std::uint32_t> counted_below(const RankAnalysis& rank, NodeId node) {
  std::vector<std::uint32_t> events;
  append_counted(rank, node, events);
  return events;
}

std::vector<std::uint32_t> counted_backward(const RankAnalysis& rank,
                                            const BackwardLinks& links,
                                            NodeId node) {
  std::vector<std::uint32_t> events;
  for (const BackwardLink& link : links.below(rank.tree, node))
    append_counted(rank, link.backward, events);
  return events;
}

RooflineSheets roofline_sheets(const RankAnalysis& rank, Estimates& estimates) {
  return Collector(rank, estimates).sheets();
}

}  // namespace assay::trace
