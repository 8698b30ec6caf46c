#include "trace/perf/estimates.h"

#include <cstring>

namespace assay::trace {
namespace {

void append(std::string& key, model::TextId id) {
  std::array<char, sizeof id> bytes{};
  std::memcpy(bytes.data(), &id, sizeof id);
  key.append(bytes.data(), bytes.size());
}

}  // namespace

Estimates::Estimates(const RankAnalysis& rank) : rank_(rank) {}

const OperatorFamily* Estimates::family(NodeId node) {
  if (!rank_.tree.is_cpu_op(node)) return nullptr;
  const model::TextId name = node_name(*rank_.trace, rank_.tree.nodes[node]);
  const auto [found, is_new] = families_.try_emplace(name);
  if (is_new) found->second = operator_family(rank_.trace->text(name));
  return found->second;
}

const Estimate* Estimates::find(NodeId node, std::span<const std::uint32_t> kernels) {
  const OperatorFamily* known = family(node);
  if (known == nullptr || known->model == nullptr) return nullptr;
  const model::CpuOp& op = rank_.trace->cpu_ops[rank_.tree.nodes[node].index];
  std::string key;
  for (const model::TextId id :
       {op.name, op.input_dims, op.input_types, op.input_strides, op.concrete_inputs})
    append(key, id);
  for (const std::uint32_t kernel : kernels)
    append(key, rank_.trace->gpu_events[kernel].name);
  auto found = estimates_.find(key);
  if (found == estimates_.end())
    found = estimates_.emplace(std::move(key), evaluate(op, *known, kernels)).first;
  const core::Result<Estimate>& estimate = found->second;
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

}  // namespace assay::trace
