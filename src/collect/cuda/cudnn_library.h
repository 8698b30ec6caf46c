// The functions and descriptors of cuDNN's backend interface.
#pragma once

#include <cuda_runtime.h>
#include <cudnn_graph.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::collect::cudnn {

struct Functions {
  decltype(cudnnGetVersion)* version = nullptr;
  decltype(cudnnGetErrorString)* error_string = nullptr;
  decltype(cudnnGetLastErrorString)* last_error_string = nullptr;
  decltype(cudnnCreate)* create = nullptr;
  decltype(cudnnDestroy)* destroy = nullptr;
  decltype(cudnnSetStream)* set_stream = nullptr;
  decltype(cudnnBackendCreateDescriptor)* create_descriptor = nullptr;
  decltype(cudnnBackendDestroyDescriptor)* destroy_descriptor = nullptr;
  decltype(cudnnBackendFinalize)* finalize = nullptr;
  decltype(cudnnBackendSetAttribute)* set_attribute = nullptr;
  decltype(cudnnBackendGetAttribute)* get_attribute = nullptr;
  decltype(cudnnBackendExecute)* execute = nullptr;
};

// A process opens the library once. Fails if it is missing or older than 9.0.
const core::Result<Functions>& functions();

// Returns 91400 for 9.14.0, and 0 without the library.
int version();

// Returns a text like "9.14.0".
std::string version_text();

// The message of an error contains the call, the code, and the cause that the library itself
// reports.
core::Status status(cudnnStatus_t code, const std::string& doing);

// A descriptor of the backend interface, which its owner destroys.
class Descriptor {
 public:
  // `name` is for messages, for example "matmul Q K^T".
  static core::Result<Descriptor> create(cudnnBackendDescriptorType_t type, std::string name);

  Descriptor() = default;

  Descriptor(Descriptor&& other) noexcept { *this = std::move(other); }

  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(name_, other.name_);
    return *this;
  }

  ~Descriptor();

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return descriptor_; }

  [[nodiscard]] const std::string& name() const { return name_; }

  // Errors name the descriptor and the attribute.
  core::Status set(cudnnBackendAttributeName_t attribute,
                   cudnnBackendAttributeType_t type,
                   std::int64_t count,
                   const void* values);
  core::Status set_integers(cudnnBackendAttributeName_t attribute,
                            const std::vector<std::int64_t>& values);
  core::Status set_descriptors(cudnnBackendAttributeName_t attribute,
                               const std::vector<cudnnBackendDescriptor_t>& values);
  core::Status set_descriptor(cudnnBackendAttributeName_t attribute, const Descriptor& value);

  // Sets one value of an enumeration, a truth value or a handle.
  template <class Value>
  core::Status set_value(cudnnBackendAttributeName_t attribute,
                         cudnnBackendAttributeType_t type,
                         const Value& value) {
    return set(attribute, type, 1, &value);
  }

  core::Status finalize();

  [[nodiscard]] core::Result<std::int64_t> integer(cudnnBackendAttributeName_t attribute) const;
  [[nodiscard]] core::Result<std::string> text(cudnnBackendAttributeName_t attribute) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  std::string name_;
};

}  // namespace assay::collect::cudnn
