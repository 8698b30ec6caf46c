// The report on decoding layers shows the time of each in one graph beside the sum of its kernels
// one by one, and so what a plain sum leaves out.
#pragma once

#include <string_view>

#include "model/table.h"
#include "store/files/frame.h"

namespace assay::collect {

inline constexpr std::string_view kLayerTable = "decode_layer_perf";

// Each layer of the table decode_layer_perf with both times and their ratio. A layer that lacks
// either time is left out; without any layer the result has no rows.
model::Table layer_report(const store::Frame& frame);

}  // namespace assay::collect
