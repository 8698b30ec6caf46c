// Helps tests of performance models: operator calls as a trace records them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "trace/perf/operator_family.h"

namespace assay::trace {

struct RecordedCall {
  std::string_view name;
  std::string_view dims;
  std::string_view types;
  std::string_view concrete = "[]";
  std::string_view strides = "[]";
  std::vector<std::string_view> kernels = {};
  Compat compat = Compat::kNone;
};

inline core::Result<Estimate> try_estimate(const RecordedCall& recorded) {
  const OperatorFamily* family = operator_family(recorded.name);
  if (family == nullptr || family->model == nullptr) return core::Error{"no model"};
  return family->model({.name = recorded.name,
                        .dims = parse_arguments(recorded.dims),
                        .types = parse_arguments(recorded.types),
                        .strides = parse_arguments(recorded.strides),
                        .concrete = parse_arguments(recorded.concrete),
                        .kernel_names = recorded.kernels,
                        .compat = recorded.compat});
}

// Returns the estimate of a call; fails the test when there is none.
inline Estimate estimate(const RecordedCall& recorded) {
  const core::Result<Estimate> result = try_estimate(recorded);
  if (result.ok()) return result.value();
  ADD_FAILURE() << result.error().message;
  return {};
}

// Returns "M=2 N=3" for the parameters M and N.
inline std::string parameter_text(const Estimate& estimate) {
  std::string text;
  for (const Parameter& parameter : estimate.parameters)
    text += (text.empty() ? "" : " ") + parameter.name + "=" +
            python_repr(parameter.value, parameter.brackets);
  return text;
}

}  // namespace assay::trace
