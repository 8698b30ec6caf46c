// An operation graph of cuDNN, which consists of tensors and the operations between them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/cudnn_library.h"
#include "core/result.h"

namespace assay::collect::cudnn {

// All tensors of attention have four dimensions: batch, head, row, column.
using Dimensions = std::array<std::int64_t, 4>;

// The strides of a tensor without gaps, whose last dimension has stride 1.
Dimensions packed_strides(const Dimensions& dimensions);

struct TensorLayout {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Dimensions dimensions = {1, 1, 1, 1};
  Dimensions strides = {1, 1, 1, 1};
};

// A tensor of the graph that returned it. It is also the tensor's key when the graph is launched.
using TensorId = std::int64_t;

using Attributes = std::vector<std::pair<cudnnBackendAttributeName_t, TensorId>>;

// The graph and all that it refers to. The first error is kept, finish() returns it, and further
// operations do nothing, so that code that builds a graph reads like a formula.
class Graph {
 public:
  // A tensor in device memory: an input or a result of the graph.
  TensorId input(const std::string& name, const TensorLayout& layout);
  // A tensor that only exists within the graph.
  TensorId between(const std::string& name, const TensorLayout& layout);
  // One number, which each launch reads from the host's memory.
  TensorId scalar(const std::string& name, float value);
  TensorId scalar(const std::string& name, std::int32_t value);

  // The parts of a product's m, n and k that count, as int32 tensors [batch, 1, 1, 1].
  struct Lengths {
    std::optional<TensorId> m = {};
    std::optional<TensorId> n = {};
    std::optional<TensorId> k = {};
  };

  void matmul(const std::string& name, TensorId a, TensorId b, TensorId c);
  void matmul(const std::string& name, TensorId a, TensorId b, TensorId c, const Lengths& lengths);

  struct Pointwise {
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
    TensorId x = 0;
    std::optional<TensorId> b = {};
    std::optional<TensorId> t = {};         // for BINARY_SELECT: x where t is true, else b
    std::optional<std::int64_t> axis = {};  // for GEN_INDEX
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  };

  // The result has the dimensions of x and only exists within the graph.
  TensorId pointwise(const std::string& name, const Pointwise& operation, cudnnDataType_t type);
  void pointwise_to(const std::string& name, const Pointwise& operation, TensorId y);

  // Reduces the dimensions that are 1 in y.
  void reduction(const std::string& name, cudnnReduceTensorOp_t how, TensorId x, TensorId y);

  struct PagedLoad {
    TensorId container = 0;   // [pages, heads, page size, columns]
    TensorId page_table = 0;  // int32 [batch, 1, pages of a sequence, 1]
    TensorId lengths = 0;     // int32 [batch, 1, 1, 1]
    TensorId result = 0;
  };

  void paged_load(const std::string& name, const PagedLoad& load);

  // A whole attention as one operation.
  void attention(const Attributes& tensors);

  // Without a handle, the graph is for the device that the plan's maker describes.
  core::Status finish(cudnnHandle_t handle);

  [[nodiscard]] const Descriptor& descriptor() const { return graph_; }

  // The pointers are valid until the graph is destroyed, even if the graph is moved.
  [[nodiscard]] std::map<TensorId, const void*> scalar_pointers() const;

 private:
  enum class Kind : std::uint8_t { kInput, kScalar, kBetween };

  struct Tensor {
    Descriptor descriptor;
    TensorLayout layout;
  };

  struct Scalar {
    TensorId tensor = 0;
    std::array<unsigned char, 4> bytes{};
  };

  struct Description {
    cudnnBackendAttributeName_t attribute;
    Descriptor descriptor;
  };

  TensorId add(const std::string& name, const TensorLayout& layout, Kind kind);
  TensorId add_scalar(const std::string& name, cudnnDataType_t type, const void* value);
  static core::Result<Descriptor> make_tensor(const std::string& name,
                                              const TensorLayout& layout,
                                              Kind kind,
                                              TensorId id);
  core::Status add_operation(cudnnBackendDescriptorType_t type,
                             const std::string& name,
                             const Attributes& tensors,
                             std::optional<Description> description);
  core::Status add_matmul(const std::string& name,
                          const std::array<TensorId, 3>& abc,
                          const Lengths& lengths);
  core::Status add_pointwise(const std::string& name, const Pointwise& operation, TensorId y);
  core::Status add_reduction(const std::string& name,
                             cudnnReduceTensorOp_t how,
                             TensorId x,
                             TensorId y);
  void keep(const core::Status& status);

  [[nodiscard]] const Descriptor& tensor(TensorId id) const {
    return tensors_[static_cast<std::size_t>(id - 1)].descriptor;
  }

  [[nodiscard]] const TensorLayout& layout(TensorId id) const {
    return tensors_[static_cast<std::size_t>(id - 1)].layout;
  }

  // Deques, because their elements never move.
  std::deque<Tensor> tensors_;
  std::deque<Scalar> scalars_;
  std::vector<Descriptor> descriptions_;
  std::vector<Descriptor> operations_;
  Descriptor graph_;
  core::Status failure_;
};

}  // namespace assay::collect::cudnn
