// Workers as search prints them, read again.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "plan/search/deployments.h"

namespace assay::plan {

struct PoolText {
  std::int64_t instances = 1;
  Worker worker = {};
};

// "3P(tp 2)", "1D(tp 1, dp 8, ep 8)", or the worker alone: "tp 2". What is left out is 1, and the
// experts' columns are shared by the GPUs that the other widths leave. Error: it is no such text,
// or the widths of the experts do not fit the GPUs.
core::Result<PoolText> parse_pool(const std::string& text);

}  // namespace assay::plan
