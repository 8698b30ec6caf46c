#include "collect/cuda/cudnn_descriptor.h"

#include <fmt/core.h>

namespace assay::collect::cudnn {

core::Result<Descriptor> Descriptor::create(cudnnBackendDescriptorType_t type, std::string name) {
  if (!functions().ok()) return functions().error();
  Descriptor made;
  made.name_ = std::move(name);
  ASSAY_TRY(
      status(functions().value().create_descriptor(type, &made.descriptor_),
             fmt::format("creating {} (descriptor type {})", made.name_, static_cast<int>(type))));
  return made;
}

Descriptor::~Descriptor() {
  if (descriptor_ != nullptr) functions().value().destroy_descriptor(descriptor_);
}

core::Status Descriptor::set(cudnnBackendAttributeName_t attribute,
                             cudnnBackendAttributeType_t type,
                             std::int64_t count,
                             const void* values) {
  return status(functions().value().set_attribute(descriptor_, attribute, type, count, values),
                fmt::format("attribute {} of {}", static_cast<int>(attribute), name_));
}

core::Status Descriptor::set_integers(cudnnBackendAttributeName_t attribute,
                                      const std::vector<std::int64_t>& values) {
  return set(attribute, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

core::Status Descriptor::set_descriptors(cudnnBackendAttributeName_t attribute,
                                         const std::vector<cudnnBackendDescriptor_t>& values) {
  return set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(values.size()),
             values.data());
}

core::Status Descriptor::set_descriptor(cudnnBackendAttributeName_t attribute,
                                        const Descriptor& value) {
  return set_descriptors(attribute, {value.get()});
}

core::Status Descriptor::finalize() {
  return status(functions().value().finalize(descriptor_), "finalising " + name_);
}

core::Result<std::int64_t> Descriptor::integer(cudnnBackendAttributeName_t attribute) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  ASSAY_TRY(status(functions().value().get_attribute(descriptor_, attribute, CUDNN_TYPE_INT64, 1,
                                                     &count, &value),
                   fmt::format("reading attribute {} of {}", static_cast<int>(attribute), name_)));
  return value;
}

core::Result<std::string> Descriptor::text(cudnnBackendAttributeName_t attribute) const {
  const std::string reading =
      fmt::format("reading attribute {} of {}", static_cast<int>(attribute), name_);
  const auto get = [&](std::int64_t room, std::int64_t& size, void* to) {
    return status(
        functions().value().get_attribute(descriptor_, attribute, CUDNN_TYPE_CHAR, room, &size, to),
        reading);
  };
  std::int64_t size = 0;
  ASSAY_TRY(get(0, size, nullptr));
  std::string text(static_cast<std::size_t>(size), '\0');
  ASSAY_TRY(get(size, size, text.data()));
  return text;
}

}  // namespace assay::collect::cudnn
