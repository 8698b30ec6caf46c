#include "collect/cuda/cudnn_library.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>

#include "collect/cuda/library_search.h"

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
  // For trying what is left without it.
  if (std::getenv("ASSAY_NO_CUDNN") != nullptr)
    return core::Error{"cuDNN is switched off by ASSAY_NO_CUDNN"};
  const core::SharedLibrary library = ASSAY_TRY(open_library({"libcudnn.so.9"}));
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

}  // namespace assay::collect::cudnn
