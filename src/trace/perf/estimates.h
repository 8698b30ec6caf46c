// Estimates of the operator calls of one rank. Calls with the same arguments and kernels share
// one, so a trace of a million calls evaluates a few hundred models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/warnings.h"
#include "trace/analysis.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {

class Estimates {
 public:
  explicit Estimates(const RankAnalysis& rank);

  // The family of a node's operator; none for runtime calls and unknown operators.
  const OperatorFamily* family(NodeId node);

  // `kernels` are the GPU events by which the operator's model may tell how it was done. None when
  // the operator has no model or its arguments do not fit; the latter is noted in failures().
  const Estimate* find(NodeId node, std::span<const std::uint32_t> kernels);

  // Calls whose model failed, by reason.
  [[nodiscard]] const model::Warnings& failures() const { return failures_; }

 private:
  core::Result<Estimate> evaluate(const model::CpuOp& op,
                                  const OperatorFamily& family,
                                  std::span<const std::uint32_t> kernels) const;

  const RankAnalysis& rank_;
  std::unordered_map<model::TextId, const OperatorFamily*> families_;
  // By the ids of name, arguments and kernel names, as bytes.
  std::unordered_map<std::string, core::Result<Estimate>> estimates_;
  model::Warnings failures_;
};

}  // namespace assay::trace
