// Reductions over some or all dimensions.
#include <array>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

bool is_scan(std::string_view name) {
  return name.starts_with("aten::cum");
}

std::string_view kind_of(std::string_view name) {
  for (const std::string_view kind : {"mean", "max", "min", "norm"})
    if (name.find(kind) != std::string_view::npos) return kind;
  return "sum";
}

// Returns the elements of the result when the dimensions in `reduced` (all when it is empty) are
// reduced.
double kept_elements(const Shape& in, const Shape& reduced) {
  if (reduced.empty()) return 1;
  Shape kept = in;
  const auto rank = static_cast<std::int64_t>(in.size());
  for (std::int64_t axis : reduced) {
    if (axis < 0) axis += rank;
    if (axis >= 0 && axis < rank) kept[static_cast<std::size_t>(axis)] = 1;
  }
  return element_count(kept);
}

// The dimensions are the third argument of norm(self, p, dim, …) and linalg_norm(self, ord, dim, …)
// and the second of all others. std(self, unbiased) has a flag there and reduces everything.
double outputs_of(const OperatorCall& call, const Shape& in) {
  if (is_scan(call.name)) return element_count(in);
  // The public tool expects numbers where texts are recorded, and so finds no dimensions.
  if (call.like_public_tool()) return 1;
  const std::size_t position = kind_of(call.name) == "norm" ? 2 : 1;
  const core::Result<Shape> dimensions = call.integers(position);
  return dimensions.ok() ? kept_elements(in, dimensions.value()) : 1;
}

core::Result<Estimate> reduce(const OperatorCall& call) {
  const Shape in = ASSAY_TRY(call.shape(0));
  const double inputs = element_count(in);
  const double outputs = outputs_of(call, in);
  Estimate estimate{{{"num_input_elems", Argument{static_cast<std::int64_t>(inputs)}},
                     {"num_output_elems", Argument{static_cast<std::int64_t>(outputs)}},
                     {"dtype_in_out", text_tuple({call.type(0), ""})},
                     {"reduce_type", Argument{std::string(kind_of(call.name))}}},
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {inputs}};
  if (const std::optional<double> bytes = element_bytes(call.type(0)))
    estimate.work.bytes = (inputs + outputs) * *bytes;
  estimate.backward_work = estimate.work;  // reads one gradient per output and writes one per input
  return estimate;
}

const OperatorFamily kReduce{
    "reduce",
    "aten::sum aten::mean aten::max aten::min aten::norm aten::linalg_norm aten::std aten::var"
    " aten::logsumexp aten::cumsum aten::cumprod aten::amin aten::amax",
    "reduce",
    "",
    "Reduce",
    &reduce};
ASSAY_REGISTER(OperatorFamily, kReduce);

}  // namespace
}  // namespace assay::trace
