// Rotary position embedding. Four products and two sums rotate each pair of elements.
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

// FusedRoPEFunc(input[sequence, batch, heads, width], frequencies, …)
core::Result<Estimate> rope(const OperatorCall& call) {
  const Shape shape = ASSAY_TRY(call.shape(0, 4));
  const double elements = element_count(shape);
  Estimate estimate{{{"seq_len", Argument{shape[0]}},
                     {"batch", Argument{shape[1]}},
                     {"heads", Argument{shape[2]}},
                     {"head_dim", Argument{shape[3]}},
                     {"num_elements", Argument{static_cast<std::int64_t>(elements)}}},
                    compute_spec(ComputeUnit::kVector, call.type(0)),
                    {3 * elements}};
  if (const std::optional<double> element = element_bytes(call.type(0)))
    estimate.work.bytes = 2 * elements * *element;
  return estimate;
}

const OperatorFamily kRope{"rope", "FusedRoPEFunc", "RoPE_fwd", "", "RoPE", &rope};
ASSAY_REGISTER(OperatorFamily, kRope);

const OperatorFamily kUnmodelledRope{
    "rope without model",
    "aiter::rope_cached_positions_2c_fwd_impl sgl_kernel::rotary_embedding"
    " aiter::fused_qk_rope_concat_and_cache_mla aiter::fused_qk_rope_cat_and_cache_mla",
    "RoPE_fwd"};
ASSAY_REGISTER(OperatorFamily, kUnmodelledRope);

const OperatorFamily kRopeBackward{"rope backward", "FusedRoPEFuncBackward", "RoPE_bwd"};
ASSAY_REGISTER(OperatorFamily, kRopeBackward);

}  // namespace
}  // namespace assay::trace
