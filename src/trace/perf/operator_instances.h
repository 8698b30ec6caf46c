// The estimated work of the operator calls of one rank, and the calls of modelled operators with
// the GPU work they launched, as the roofline sheets show them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/warnings.h"
#include "trace/analysis.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {

// Estimates of operator calls. Calls with the same arguments and kernels share an estimate, so a
// trace of a million calls evaluates a few hundred models.
class Estimates {
 public:
  explicit Estimates(const RankAnalysis& rank);

  // Returns the family of a node's operator, or nullptr for runtime calls and unknown operators.
  const OperatorFamily* family(NodeId node);

  // Returns whether a node's operator has a model that fits the call, or has one for every call.
  bool has_model(NodeId node);

  // Returns the estimate of a call. `kernels` are its GPU events, whose names tell some models how
  // the call was computed. Returns nullptr when the operator has no model, and when its arguments
  // do not fit the model, which is then noted in failures().
  const Estimate* find(NodeId node, std::span<const std::uint32_t> kernels);

  // The calls that did not fit their models, by reason.
  [[nodiscard]] const model::Warnings& failures() const { return failures_; }

 private:
  const core::Result<Estimate>& evaluated(const model::CpuOp& op,
                                          const OperatorFamily& family,
                                          std::span<const std::uint32_t> kernels);
  core::Result<Estimate> evaluate(const model::CpuOp& op,
                                  const OperatorFamily& family,
                                  std::span<const std::uint32_t> kernels) const;

  const RankAnalysis& rank_;
  std::unordered_map<model::TextId, const OperatorFamily*> families_;
  // The key is the ids of the operator's name, its arguments and its kernels' names, as bytes.
  std::unordered_map<std::string, core::Result<Estimate>> estimates_;
  model::Warnings failures_;
};

struct OperatorInstance {
  NodeId node = kNoNode;                  // the call whose arguments give the work
  std::vector<std::uint32_t> gpu_events;  // what it, or its backward operator, launched
  double kernel_us = 0;                   // length of their union
  const Estimate* estimate = nullptr;     // never null
  const Work* work = nullptr;             // the estimate's forward or backward work; never null
};

// Returns the instances by the name of their sheet ("GEMM", "SDPA_fwd", "SDPA_bwd"), in the order
// of the file. An operator without counted GPU work appears only in compat mode.
using RooflineSheets = std::map<std::string, std::vector<OperatorInstance>, std::less<>>;
RooflineSheets roofline_sheets(const RankAnalysis& rank, Estimates& estimates);

// Returns the counted GPU events below a node, in launch order.
std::vector<std::uint32_t> counted_below(const RankAnalysis& rank, NodeId node);

// Returns the counted GPU events of the backward operators that autograd ran for the operators
// below a node.
std::vector<std::uint32_t> counted_backward(const RankAnalysis& rank,
                                            const BackwardLinks& links,
                                            NodeId node);

}  // namespace assay::trace
