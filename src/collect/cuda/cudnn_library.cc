#include "collect/cuda/cudnn_library.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>

#include "collect/cuda/library_search.h"

namespace assay::collect::cudnn {
namespace {

constexpr std::size_t kOldest = 90000;

core::Status bind(void* library, Functions& to) {
  ASSAY_TRY(find_function(library, "cudnnGetVersion", to.version));
  ASSAY_TRY(find_function(library, "cudnnGetErrorString", to.error_string));
  ASSAY_TRY(find_function(library, "cudnnGetLastErrorString", to.last_error_string));
  ASSAY_TRY(find_function(library, "cudnnCreate", to.create));
  ASSAY_TRY(find_function(library, "cudnnDestroy", to.destroy));
  ASSAY_TRY(find_function(library, "cudnnSetStream", to.set_stream));
  ASSAY_TRY(find_function(library, "cudnnBackendCreateDescriptor", to.create_descriptor));
  ASSAY_TRY(find_function(library, "cudnnBackendDestroyDescriptor", to.destroy_descriptor));
  ASSAY_TRY(find_function(library, "cudnnBackendFinalize", to.finalize));
  ASSAY_TRY(find_function(library, "cudnnBackendSetAttribute", to.set_attribute));
  ASSAY_TRY(find_function(library, "cudnnBackendGetAttribute", to.get_attribute));
  return find_function(library, "cudnnBackendExecute", to.execute);
}

core::Result<Functions> load() {
  // For trying what is left without it.
  if (std::getenv("ASSAY_NO_CUDNN") != nullptr)
    return core::Error{"cuDNN is switched off by ASSAY_NO_CUDNN"};
  void* library = ASSAY_TRY(open_library({"libcudnn.so.9"}));
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
