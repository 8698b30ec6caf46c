#include "collect/cuda/cudnn_graph.h"

#include <cstring>

namespace assay::collect::cudnn {
namespace {

constexpr std::int64_t kByteAlignment = 16;

// The description of an operation without its tensors.
core::Result<Descriptor> matmul_description(const std::string& name) {
  Descriptor how = ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_MATMUL_DESCRIPTOR, name));
  ASSAY_TRY(how.set_value(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  ASSAY_TRY(how.finalize());
  return how;
}

core::Result<Descriptor> pointwise_description(const std::string& name,
                                               const Graph::Pointwise& operation) {
  Descriptor how = ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, name));
  ASSAY_TRY(how.set_value(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, operation.mode));
  ASSAY_TRY(how.set_value(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, operation.compute));
  if (operation.axis) ASSAY_TRY(how.set_integers(CUDNN_ATTR_POINTWISE_AXIS, {*operation.axis}));
  ASSAY_TRY(how.finalize());
  return how;
}

core::Result<Descriptor> reduction_description(const std::string& name,
                                               cudnnReduceTensorOp_t operation) {
  Descriptor how = ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, name));
  ASSAY_TRY(
      how.set_value(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, operation));
  ASSAY_TRY(how.set_value(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT));
  ASSAY_TRY(how.finalize());
  return how;
}

}  // namespace

Dimensions packed_strides(const Dimensions& dimensions) {
  const auto [batch, heads, rows, columns] = dimensions;
  static_cast<void>(batch);
  return {heads * rows * columns, rows * columns, columns, 1};
}

TensorId Graph::input(const std::string& name, const TensorLayout& layout) {
  return add(name, layout, Kind::kInput);
}

TensorId Graph::between(const std::string& name, const TensorLayout& layout) {
  return add(name, layout, Kind::kBetween);
}

TensorId Graph::scalar(const std::string& name, float value) {
  return add_scalar(name, CUDNN_DATA_FLOAT, &value);
}

TensorId Graph::scalar(const std::string& name, std::int32_t value) {
  return add_scalar(name, CUDNN_DATA_INT32, &value);
}

TensorId Graph::add_scalar(const std::string& name, cudnnDataType_t type, const void* value) {
  const TensorId id = add(name, {.type = type}, Kind::kScalar);
  Scalar& scalar = scalars_.emplace_back(Scalar{.tensor = id});
  std::memcpy(scalar.bytes.data(), value, scalar.bytes.size());
  return id;
}

TensorId Graph::add(const std::string& name, const TensorLayout& layout, Kind kind) {
  const auto id = static_cast<TensorId>(tensors_.size()) + 1;
  Tensor& added = tensors_.emplace_back(Tensor{.descriptor = {}, .layout = layout});
  if (!failure_.ok()) return id;
  core::Result<Descriptor> made = make_tensor("tensor " + name, layout, kind, id);
  if (made.ok()) {
    added.descriptor = std::move(made).value();
  } else {
    failure_ = made.error();
  }
  return id;
}

core::Result<Descriptor> Graph::make_tensor(const std::string& name,
                                            const TensorLayout& layout,
                                            Kind kind,
                                            TensorId id) {
  Descriptor made = ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_TENSOR_DESCRIPTOR, name));
  ASSAY_TRY(made.set_value(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, layout.type));
  ASSAY_TRY(made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, layout.dimensions.data()));
  ASSAY_TRY(made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, layout.strides.data()));
  ASSAY_TRY(made.set_integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id}));
  ASSAY_TRY(made.set_integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {kByteAlignment}));
  const bool is_virtual = kind == Kind::kBetween;
  const bool by_value = kind == Kind::kScalar;
  ASSAY_TRY(made.set_value(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual));
  ASSAY_TRY(made.set_value(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value));
  ASSAY_TRY(made.finalize());
  return made;
}

void Graph::keep(const core::Status& status) {
  if (failure_.ok() && !status.ok()) failure_ = status;
}

core::Status Graph::add_operation(cudnnBackendDescriptorType_t type,
                                  const std::string& name,
                                  const Attributes& tensors,
                                  std::optional<Description> description) {
  if (!failure_.ok()) return {};  // tensors may be missing
  Descriptor operation = ASSAY_TRY(Descriptor::create(type, name));
  if (description) {
    ASSAY_TRY(operation.set_descriptor(description->attribute, description->descriptor));
    descriptions_.push_back(std::move(description->descriptor));
  }
  for (const auto& [attribute, id] : tensors)
    ASSAY_TRY(operation.set_descriptor(attribute, tensor(id)));
  ASSAY_TRY(operation.finalize());
  operations_.push_back(std::move(operation));
  return {};
}

core::Status Graph::add_matmul(const std::string& name,
                               const std::array<TensorId, 3>& abc,
                               const Lengths& lengths) {
  Attributes tensors = {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, abc[0]},
                        {CUDNN_ATTR_OPERATION_MATMUL_BDESC, abc[1]},
                        {CUDNN_ATTR_OPERATION_MATMUL_CDESC, abc[2]}};
  if (lengths.m) tensors.emplace_back(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, *lengths.m);
  if (lengths.n) tensors.emplace_back(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, *lengths.n);
  if (lengths.k) tensors.emplace_back(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, *lengths.k);
  return add_operation(
      CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "operation " + name, tensors,
      Description{CUDNN_ATTR_OPERATION_MATMUL_DESC, ASSAY_TRY(matmul_description(name))});
}

void Graph::matmul(const std::string& name, TensorId a, TensorId b, TensorId c) {
  matmul(name, a, b, c, Lengths{});
}

void Graph::matmul(
    const std::string& name, TensorId a, TensorId b, TensorId c, const Lengths& lengths) {
  keep(add_matmul(name, {a, b, c}, lengths));
}

core::Status Graph::add_pointwise(const std::string& name, const Pointwise& operation, TensorId y) {
  Attributes tensors = {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, operation.x}};
  if (operation.b) tensors.emplace_back(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *operation.b);
  if (operation.t) tensors.emplace_back(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *operation.t);
  tensors.emplace_back(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  return add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "operation " + name, tensors,
                       Description{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                                   ASSAY_TRY(pointwise_description(name, operation))});
}

TensorId Graph::pointwise(const std::string& name,
                          const Pointwise& operation,
                          cudnnDataType_t type) {
  TensorLayout result = layout(operation.x);
  result.type = type;
  const TensorId y = between(name, result);
  pointwise_to(name, operation, y);
  return y;
}

void Graph::pointwise_to(const std::string& name, const Pointwise& operation, TensorId y) {
  keep(add_pointwise(name, operation, y));
}

core::Status Graph::add_reduction(const std::string& name,
                                  cudnnReduceTensorOp_t how,
                                  TensorId x,
                                  TensorId y) {
  return add_operation(
      CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "operation " + name,
      {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x}, {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y}},
      Description{CUDNN_ATTR_OPERATION_REDUCTION_DESC,
                  ASSAY_TRY(reduction_description(name, how))});
}

void Graph::reduction(const std::string& name, cudnnReduceTensorOp_t how, TensorId x, TensorId y) {
  keep(add_reduction(name, how, x, y));
}

void Graph::paged_load(const std::string& name, const PagedLoad& load) {
  keep(add_operation(CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR, "operation " + name,
                     {{CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC, load.container},
                      {CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, load.page_table},
                      {CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC, load.lengths},
                      {CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC, load.result}},
                     std::nullopt));
}

void Graph::attention(const Attributes& tensors) {
  keep(add_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, "operation attention", tensors,
                     std::nullopt));
}

core::Status Graph::finish(cudnnHandle_t handle) {
  if (!failure_.ok()) return failure_;
  graph_ = ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "graph"));
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor& operation : operations_)
    operations.push_back(operation.get());
  ASSAY_TRY(graph_.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations));
  if (handle != nullptr)
    ASSAY_TRY(graph_.set_value(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle));
  return graph_.finalize();
}

std::map<TensorId, const void*> Graph::scalar_pointers() const {
  std::map<TensorId, const void*> pointers;
  for (const Scalar& scalar : scalars_)
    pointers[scalar.tensor] = scalar.bytes.data();
  return pointers;
}

}  // namespace assay::collect::cudnn
