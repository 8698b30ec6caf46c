// Softmax and negative log-likelihood in one operator.
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

// CrossEntropyFunction(logits[rows, …, vocabulary], targets, …): about five operations per logit
// (maximum, subtraction, exponential, sum, division). Targets are int64, the loss is fp32. The
// public tool counts only the first dimension as rows.
core::Result<Estimate> cross_entropy(const OperatorCall& call) {
  const Shape logits = ASSAY_TRY(call.shape(0));
  if (logits.empty() || logits.back() <= 0)
    return core::Error{std::string(call.name) + ": no logits"};
  const auto vocabulary = static_cast<double>(logits.back());
  const double rows = call.like_public_tool() ? static_cast<double>(logits.front())
                                              : element_count(logits) / vocabulary;
  Estimate estimate{{{"batch", Argument{static_cast<std::int64_t>(rows)}},
                     {"vocab_size", Argument{logits.back()}},
                     {"logits_shape", to_argument(logits), Brackets::kList}},
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {5 * rows * vocabulary}};
  if (const std::optional<double> element = element_bytes(call.type(0)))
    estimate.work.bytes = element_count(logits) * *element + rows * (8 + 4);
  return estimate;
}

const OperatorFamily kCrossEntropy{"cross entropy", "CrossEntropyFunction", "CrossEntropy_fwd", "",
                                   "CrossEntropy",  &cross_entropy};
ASSAY_REGISTER(OperatorFamily, kCrossEntropy);

const OperatorFamily kCrossEntropyBackward{"cross entropy backward", "CrossEntropyFunctionBackward",
                                           "CrossEntropy_bwd"};
ASSAY_REGISTER(OperatorFamily, kCrossEntropyBackward);

}  // namespace
}  // namespace assay::trace
