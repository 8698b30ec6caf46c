// Matrix multiplications: C[M,N] = A[M,K] · B[K,N], `B` of them in a batch.
#include <algorithm>
#include <optional>
#include <string_view>

#include "trace/arguments.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

// Returns the three index letters after `operand`: "lik" for "_Alik_".
std::string_view tensile_indices(std::string_view name, char operand) {
  for (std::size_t at = name.find('_'); at != std::string_view::npos; at = name.find('_', at + 1)) {
    if (at + 5 > name.size()) break;
    const std::string_view indices = name.substr(at + 2, 3);
    if (name[at + 1] == operand &&
        std::all_of(indices.begin(), indices.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
      return indices;
  }
  return "";
}

Argument is_transposed(std::string_view indices,
                       std::string_view plain,
                       std::string_view transposed) {
  if (indices == plain) return Argument{false};
  if (indices == transposed) return Argument{true};
  return {};
}

// Returns which operands a kernel takes transposed, as a pair of flags. The names of Tensile
// ("Cijk_Alik_Bljk_…") and cuBLAS ("nvjet_…_TNT": the first two letters of the last word) say so. A
// flag is None where a Tensile name does not say it. std::nullopt: other kernels.
std::optional<Argument> transposes(std::string_view kernel) {
  const std::string_view a = tensile_indices(kernel, 'A');
  const std::string_view b = tensile_indices(kernel, 'B');
  if (kernel.find("Cijk") != std::string_view::npos && !a.empty() && !b.empty())
    return Argument{ArgumentList{is_transposed(a, "ilk", "lik"), is_transposed(b, "ljk", "jlk")}};
  const std::string_view last = kernel.substr(kernel.rfind('_') + 1);
  if (kernel.starts_with("nvjet") && last.size() >= 2)
    return Argument{ArgumentList{Argument{last[0] == 'T'}, Argument{last[1] == 'T'}}};
  return std::nullopt;
}

enum class Weights { kPlain, kTransposed };  // B is recorded as [K,N] or as [N,K]

struct Gemm {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool bias = false;
  std::size_t a = 0;  // positions of the operands
  std::size_t b = 1;
  std::optional<double> a_bytes = std::nullopt;  // bytes of one element
  std::optional<double> b_bytes = std::nullopt;
  std::optional<double> out_bytes = std::nullopt;
};

Work work_of(const Gemm& gemm) {
  const auto m = static_cast<double>(gemm.m);
  const auto n = static_cast<double>(gemm.n);
  const auto k = static_cast<double>(gemm.k);
  const auto batch = static_cast<double>(gemm.batch);
  const double bias = gemm.bias ? 1 : 0;
  Work work{batch * (2 * m * n * k + bias * m * n)};
  if (gemm.a_bytes && gemm.b_bytes && gemm.out_bytes)
    work.bytes = batch * (m * k * *gemm.a_bytes + k * n * *gemm.b_bytes + m * n * *gemm.out_bytes +
                          bias * n * *gemm.a_bytes);
  return work;
}

Estimate estimate_of(const OperatorCall& call, const Gemm& gemm) {
  Estimate estimate;
  std::vector<Parameter>& parameters = estimate.parameters;
  parameters = {{"M", Argument{gemm.m}},
                {"N", Argument{gemm.n}},
                {"K", Argument{gemm.k}},
                {"bias", Argument{gemm.bias}},
                {"stride_A", call.stride(gemm.a)},
                {"stride_B", call.stride(gemm.b)},
                {"dtype_A_B", text_tuple({call.type(gemm.a), call.type(gemm.b)})},
                {"B", Argument{gemm.batch}}};
  for (const std::string_view kernel : call.kernel_names) {
    std::optional<Argument> transpose = transposes(kernel);
    if (!transpose) continue;
    parameters.push_back({"transpose", std::move(*transpose)});
    break;
  }
  estimate.compute_spec = compute_spec(ComputeUnit::kMatrix, call.type(gemm.a));
  estimate.work = work_of(gemm);
  return estimate;
}

// Reads a product of the operands at positions a and a + 1, with all elements of A's type.
core::Result<Gemm> plain_gemm(const OperatorCall& call, std::size_t a, Weights weights) {
  const Shape left = ASSAY_TRY(call.shape(a, 2));
  const Shape right = ASSAY_TRY(call.shape(a + 1, 2));
  Gemm gemm{.m = left[0], .n = right[weights == Weights::kPlain ? 1 : 0], .k = left[1]};
  gemm.a = a;
  gemm.b = a + 1;
  gemm.a_bytes = gemm.b_bytes = gemm.out_bytes = element_bytes(call.type(a));
  return gemm;
}

core::Result<Estimate> mm(const OperatorCall& call) {
  return estimate_of(call, ASSAY_TRY(plain_gemm(call, 0, Weights::kPlain)));
}

// The first argument of addmm is the summand.
core::Result<Estimate> addmm(const OperatorCall& call) {
  Gemm gemm = ASSAY_TRY(plain_gemm(call, 1, Weights::kPlain));
  gemm.bias = true;
  return estimate_of(call, gemm);
}

core::Result<Estimate> batched(const OperatorCall& call) {
  const bool adds = call.name == "aten::baddbmm";
  Gemm gemm{.bias = adds, .a = adds ? 1U : 0U, .b = adds ? 2U : 1U};
  const Shape left = ASSAY_TRY(call.shape(gemm.a, 3));
  const Shape right = ASSAY_TRY(call.shape(gemm.b, 3));
  gemm.batch = left[0];
  gemm.m = left[1];
  gemm.k = left[2];
  gemm.n = right[2];
  gemm.a_bytes = gemm.b_bytes = gemm.out_bytes = element_bytes(call.type(gemm.a));
  Estimate estimate = estimate_of(call, gemm);
  // The public tool lists the batch first for these operators.
  std::rotate(estimate.parameters.begin(), estimate.parameters.begin() + 7,
              estimate.parameters.begin() + 8);
  return estimate;
}

// _scaled_mm(self, mat2, scale_a, scale_b, bias?, …). One-byte inputs give a 16-bit result.
core::Result<Estimate> scaled_mm(const OperatorCall& call) {
  Gemm gemm = ASSAY_TRY(plain_gemm(call, 0, Weights::kPlain));
  gemm.bias = call.like_public_tool() ? call.dims.size() == 3 : call.is_tensor(4);
  if (gemm.a_bytes == 1.0) gemm.out_bytes = 2;
  return estimate_of(call, gemm);
}

// int8_linear_matmul(A[M,K], B[N,K]) gives int32. The public tool reads B as [K,N].
core::Result<Estimate> int8_linear(const OperatorCall& call) {
  if (call.like_public_tool()) return scaled_mm(call);
  Gemm gemm = ASSAY_TRY(plain_gemm(call, 0, Weights::kTransposed));
  gemm.out_bytes = 4;
  return estimate_of(call, gemm);
}

// Operators (x[M,K], weight[N,K], scales …) with a 16-bit result.
core::Result<Estimate> linear_gemm(const OperatorCall& call) {
  Gemm gemm = ASSAY_TRY(plain_gemm(call, 0, Weights::kTransposed));
  gemm.b_bytes = element_bytes(call.type(1));
  gemm.out_bytes = 2;
  return estimate_of(call, gemm);
}

core::Result<Estimate> linear_gemm_with_bias(const OperatorCall& call) {
  Gemm gemm = ASSAY_TRY(plain_gemm(call, 0, Weights::kTransposed));
  gemm.bias = call.is_tensor(2);
  return estimate_of(call, gemm);
}

// hipblaslt_gemm_*(A, scale A, B, scale B, out type, trans A, trans B, trans C, granularity).
core::Result<Gemm> hipblaslt_gemm(const OperatorCall& call) {
  Shape a = ASSAY_TRY(call.shape(0, 2));
  Shape b = ASSAY_TRY(call.shape(2, 2));
  bool a_transposed = call.flag(5);
  bool b_transposed = call.flag(6);
  if (call.flag(7)) {  // the result is transposed: Cᵀ = Bᵀ · Aᵀ
    std::swap(a, b);
    std::swap(a_transposed, b_transposed);
    a_transposed = !a_transposed;
    b_transposed = !b_transposed;
  }
  Gemm gemm{.m = a[a_transposed ? 1 : 0],
            .n = b[b_transposed ? 0 : 1],
            .k = a[a_transposed ? 0 : 1],
            .b = 2};
  gemm.a_bytes = element_bytes(call.type(0));
  gemm.b_bytes = element_bytes(call.type(2));
  gemm.out_bytes = 2;
  return gemm;
}

core::Result<Estimate> hipblaslt_fp8(const OperatorCall& call) {
  return estimate_of(call, ASSAY_TRY(hipblaslt_gemm(call)));
}

// MXFP4 has two elements per byte and one byte of scale for every 32 elements of K.
Estimate mxfp4_estimate(const OperatorCall& call, Gemm gemm) {
  constexpr std::int64_t kBlock = 32;
  gemm.k *= 2;
  gemm.a_bytes = gemm.b_bytes = 0.5;
  gemm.out_bytes = 2;
  Estimate estimate = estimate_of(call, gemm);
  const std::int64_t scales = (gemm.m + gemm.n) * ((gemm.k + kBlock - 1) / kBlock);
  estimate.work.bytes = *estimate.work.bytes + static_cast<double>(scales);
  return estimate;
}

core::Result<Estimate> hipblaslt_fp4(const OperatorCall& call) {
  return mxfp4_estimate(call, ASSAY_TRY(hipblaslt_gemm(call)));
}

// Operators (A[M,K/2], B[N,K/2], scale A, scale B, …).
core::Result<Estimate> linear_fp4(const OperatorCall& call) {
  return mxfp4_estimate(call, ASSAY_TRY(plain_gemm(call, 0, Weights::kTransposed)));
}

const OperatorFamily kMm{"mm", "aten::mm", "GEMM", "", "GEMM", &mm};
ASSAY_REGISTER(OperatorFamily, kMm);

const OperatorFamily kAddmm{"addmm", "aten::addmm", "GEMM", "", "GEMM", &addmm};
ASSAY_REGISTER(OperatorFamily, kAddmm);

const OperatorFamily kBatched{"bmm", "aten::bmm aten::baddbmm", "GEMM", "", "GEMM", &batched};
ASSAY_REGISTER(OperatorFamily, kBatched);

const OperatorFamily kScaledMm{
    "scaled_mm", "aten::_scaled_mm trtllm::cublas_scaled_mm", "GEMM", "", "GEMM", &scaled_mm};
ASSAY_REGISTER(OperatorFamily, kScaledMm);

const OperatorFamily kInt8Linear{
    "int8_linear", "bitsandbytes::int8_linear_matmul", "GEMM", "", "GEMM", &int8_linear};
ASSAY_REGISTER(OperatorFamily, kInt8Linear);

// Signatures: aiter/ops/gemm_op_a8w8.py, vllm/_aiter_ops.py.
const OperatorFamily kLinear8Bit{
    "linear 8 bit",
    "aiter::gemm_a8w8_blockscale_ck aiter::gemm_a8w8_blockscale_cktile"
    " aiter::gemm_a8w8_blockscale_bpreshuffle_ck aiter::gemm_a8w8_blockscale_bpreshuffle_cktile"
    " aiter::_gemm_a8w8_blockscale_bpreshuffle_asm aiter::flatmm_a8w8_blockscale_asm"
    " aiter::gfx950_a8w8_blockscale_asm aiter::gemm_a8w8_ck aiter::gemm_a8w8_bpreshuffle_ck"
    " aiter::gemm_a8w8_bpreshuffle vllm::rocm_aiter_triton_gemm_a8w8_blockscale"
    " vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm"
    " sglang_profiler::fp8_utils_gemm_a8w8_blockscale"
    " sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale",
    "GEMM",
    "",
    "GEMM",
    &linear_gemm};
ASSAY_REGISTER(OperatorFamily, kLinear8Bit);

const OperatorFamily kLinear16Bit{
    "linear 16 bit", "aiter::gemm_a16w16_atomic_ aiter::_gemm_a16w16_asm", "GEMM", "", "GEMM",
    &linear_gemm};
ASSAY_REGISTER(OperatorFamily, kLinear16Bit);

const OperatorFamily kLinearBias{"linear bias", "aiter::gemm_a16w16 vllm::rocm_unquantized_gemm",
                                 "GEMM",        "",
                                 "GEMM",        &linear_gemm_with_bias};
ASSAY_REGISTER(OperatorFamily, kLinearBias);

const OperatorFamily kHipblasltFp8{
    "hipblaslt fp8",
    "primus_turbo_cpp_extension::hipblaslt_gemm_fp8 primus_turbo::hipblaslt_gemm_fp8",
    "GEMM",
    "",
    "GEMM",
    &hipblaslt_fp8};
ASSAY_REGISTER(OperatorFamily, kHipblasltFp8);

const OperatorFamily kHipblasltFp4{
    "hipblaslt fp4",
    "primus_turbo_cpp_extension::hipblaslt_gemm_fp4 primus_turbo::hipblaslt_gemm_fp4",
    "GEMM",
    "",
    "GEMM",
    &hipblaslt_fp4};
ASSAY_REGISTER(OperatorFamily, kHipblasltFp4);

const OperatorFamily kLinearFp4{
    "linear fp4", "aiter::gemm_a4w4 aiter::_gemm_a4w4_asm", "GEMM", "", "GEMM", &linear_fp4};
ASSAY_REGISTER(OperatorFamily, kLinearFp4);

}  // namespace

}  // namespace assay::trace
