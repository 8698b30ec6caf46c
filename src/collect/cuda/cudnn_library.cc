#include "collect/cuda/cudnn_library.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>

#include "core/shared_library.h"

namespace assay::collect::cudnn {
namespace {

constexpr std::size_t kOldest = 90000;

core::Status bind(const core::SharedLibrary& library, Functions& to) {
  ASSAY_TRY(library.require("cudnnGetVersion", to.version));
  ASSAY_TRY(library.require("cudnnGetErrorString", to.error_string));
  ASSAY_TRY(library.require("cudnnGetLastErrorString", to.last_error_string));
  ASSAY_TRY(library.require("cudnnCreate", to.create));
  ASSAY_TRY(library.require("cudnnDestroy", to.destroy));
  ASSAY_TRY(library.require("cudnnSetStream", to.set_stream));
  ASSAY_TRY(library.require("cudnnBackendCreateDescriptor", to.create_descriptor));
  ASSAY_TRY(library.require("cudnnBackendDestroyDescriptor", to.destroy_descriptor));
  ASSAY_TRY(library.require("cudnnBackendFinalize", to.finalize));
  ASSAY_TRY(library.require("cudnnBackendSetAttribute", to.set_attribute));
  ASSAY_TRY(library.require("cudnnBackendGetAttribute", to.get_attribute));
  return library.require("cudnnBackendExecute", to.execute);
}

core::Result<Functions> load() {
  // This lets developers test how the worker behaves without cuDNN.
  if (std::getenv("ASSAY_NO_CUDNN") != nullptr)
    return core::Error{"cuDNN is switched off by ASSAY_NO_CUDNN"};
  const core::SharedLibrary library = ASSAY_TRY(core::open_library({"libcudnn.so.9"}));
  Functions loaded;
  ASSAY_TRY(bind(library, loaded));
  const std::size_t found = loaded.version();
  if (found < kOldest) return core::Error{fmt::format("cuDNN {} is older than 9.0", found)};
  return loaded;
}

}  // namespace

const core::Result<Functions>& functions() {
  static const core::Result<Functions> loaded = load();
  return loaded;
}

int version() {
  return functions().ok() ? static_cast<int>(functions().value().version()) : 0;
}

std::string version_text() {
  const int number = version();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

core::Status status(cudnnStatus_t code, const std::string& doing) {
  if (code == CUDNN_STATUS_SUCCESS) return {};
  const Functions& cudnn = functions().value();
  std::array<char, 1024> reason{};
  cudnn.last_error_string(reason.data(), reason.size());
  reason.back() = '\0';
  std::string text = fmt::format("{}: {}", doing, cudnn.error_string(code));
  if (reason.front() != '\0') text += fmt::format(" ({})", reason.data());
  return core::Error{text};
}

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
