// Grouped matrix multiplications: Y[M,N] = X[M,K] · W[g][K,N], where each row is multiplied with
// the matrix of its group.
#include <algorithm>

#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct MatrixGroup {
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
};

// Appends the rows and columns of every matrix in a recorded, possibly nested list of matrices.
void collect_matrices(const Argument& argument, std::vector<Shape>& matrices) {
  const ArgumentList* list = argument.list();
  if (list == nullptr) return;
  Shape extents;
  for (const Argument& element : *list)
    if (const auto* extent = std::get_if<std::int64_t>(&element.value)) extents.push_back(*extent);
  if (extents.size() == 2 && list->size() == 2 && is_plausible(extents)) {
    matrices.push_back(std::move(extents));
    return;
  }
  for (const Argument& element : *list)
    collect_matrices(element, matrices);
}

// Reads [[M1,K1], …] and [[K1,N1], …], recorded as lists of tensors.
core::Result<std::vector<MatrixGroup>> zipped_groups(const OperatorCall& call) {
  std::vector<Shape> left;
  std::vector<Shape> right;
  if (call.dims.size() >= 2) {
    collect_matrices(call.dims[0], left);
    collect_matrices(call.dims[1], right);
  }
  if (left.empty() || left.size() != right.size())
    return core::Error{std::string(call.name) + ": the groups are not recorded"};
  std::vector<MatrixGroup> groups;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i][1] != right[i][0])
      return core::Error{std::string(call.name) + ": matrices of a group do not fit together"};
    groups.push_back({left[i][0], left[i][1], right[i][1]});
  }
  return groups;
}

struct ElementBytes {
  std::optional<double> in;
  std::optional<double> out;
};

// The type of the weights stands for that of the output, as in the public tool.
ElementBytes element_sizes(const OperatorCall& call) {
  const std::optional<double> in = element_bytes(call.type(0));
  return {in, call.type(1).empty() ? in : element_bytes(call.type(1))};
}

Argument size_argument(std::optional<double> bytes) {
  return bytes ? Argument{static_cast<std::int64_t>(*bytes)} : Argument{};
}

Estimate estimate_of(const OperatorCall& call, const MatrixGroup& total, std::int64_t groups) {
  const ElementBytes size = element_sizes(call);
  return {{{"M", Argument{total.m}},
           {"K", Argument{total.k}},
           {"N", Argument{total.n}},
           {"G", Argument{groups}},
           {"bpe_in", size_argument(size.in)},
           {"bpe_out", size_argument(size.out)}},
          compute_spec(ComputeUnit::kMatrix, call.type(0)),
          {}};
}

Work work_of(const MatrixGroup& group, double matrices, const ElementBytes& size) {
  const auto m = static_cast<double>(group.m);
  const auto n = static_cast<double>(group.n);
  const auto k = static_cast<double>(group.k);
  Work work{2 * m * n * k};
  if (size.in && size.out) work.bytes = (m * k + matrices * k * n) * *size.in + m * n * *size.out;
  return work;
}

// The arguments are x[M,K] and w[G,K,N] or w[G,N,K], or lists of matrices that share K and N.
core::Result<Estimate> fixed_k(const OperatorCall& call) {
  const core::Result<Shape> x = call.shape(0, 2);
  const core::Result<Shape> w = call.shape(1, 3);
  MatrixGroup total;
  std::int64_t groups = 0;
  if (x.ok() && w.ok()) {
    total = {x.value()[0], x.value()[1], 0};
    groups = w.value()[0];
    if (w.value()[1] != total.k && w.value()[2] != total.k)
      return core::Error{std::string(call.name) + ": weights do not fit the input"};
    total.n = w.value()[1] == total.k ? w.value()[2] : w.value()[1];
  } else {
    const std::vector<MatrixGroup> parts = ASSAY_TRY(zipped_groups(call));
    total = {0, parts[0].k, parts[0].n};
    groups = static_cast<std::int64_t>(parts.size());
    for (const MatrixGroup& part : parts) {
      if (part.k != total.k || part.n != total.n)
        return core::Error{std::string(call.name) + ": groups of unequal sizes"};
      total.m += part.m;
    }
  }
  Estimate estimate = estimate_of(call, total, groups);
  estimate.work = work_of(total, static_cast<double>(groups), element_sizes(call));
  return estimate;
}

// The gradient of the weights, a[M,K]ᵀ · b[M,N] group by group along M: 2·M·K·N operations in
// total. The arguments may also be lists of matrices, where each group has its own sizes.
core::Result<Estimate> variable_k(const OperatorCall& call) {
  const ElementBytes size = element_sizes(call);
  const core::Result<Shape> a = call.shape(0, 2);
  const core::Result<Shape> b = call.shape(1, 2);
  std::vector<MatrixGroup> parts;
  if (a.ok() && b.ok())
    parts.push_back({a.value()[0], a.value()[1], b.value()[1]});
  else
    parts = ASSAY_TRY(zipped_groups(call));
  MatrixGroup total{0, parts[0].k, parts[0].n};
  Work work{0, 0};
  for (const MatrixGroup& part : parts) {
    const Work part_work = work_of(part, 1, size);
    total.m += part.m;
    work.flops += part_work.flops;
    work.bytes = part_work.bytes && work.bytes ? std::optional(*work.bytes + *part_work.bytes)
                                               : std::nullopt;
  }
  Estimate estimate = estimate_of(call, total, static_cast<std::int64_t>(parts.size()));
  estimate.work = work;
  return estimate;
}

const OperatorFamily kGroupedGemm{
    "grouped gemm",
    "primus_turbo::grouped_gemm primus_turbo::grouped_gemm_impl"
    " primus_turbo_cpp_extension::grouped_gemm primus_turbo_cpp_extension::ck_grouped_gemm",
    "GroupedGEMM_fwd",
    "GroupedGEMM_bwd",
    "GroupedGEMM",
    &fixed_k};
ASSAY_REGISTER(OperatorFamily, kGroupedGemm);

const OperatorFamily kGroupedGemmVariableK{
    "grouped gemm variable k",
    "primus_turbo::grouped_gemm_variable_k primus_turbo::grouped_gemm_variable_k_impl"
    " primus_turbo_cpp_extension::grouped_gemm_variable_k"
    " primus_turbo_cpp_extension::ck_grouped_gemm_variable_k",
    "GroupedGEMM_fwd",
    "GroupedGEMM_bwd",
    "GroupedGEMM",
    &variable_k};
ASSAY_REGISTER(OperatorFamily, kGroupedGemmVariableK);

}  // namespace
}  // namespace assay::trace
