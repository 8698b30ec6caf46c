// A descriptor of cuDNN's backend interface, destroyed with its owner.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/cudnn_library.h"
#include "core/result.h"

namespace assay::collect::cudnn {

class Descriptor {
 public:
  // `name` is what messages call it: "matmul Q K^T".
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

  // Of one value of an enumeration, a truth value or a handle.
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
