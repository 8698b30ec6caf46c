// NVML, opened while the program runs.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "core/shared_library.h"
#include "gpu/nvml_abi.h"

namespace assay::gpu::nvml {

class Library {
 public:
  // Null when there is no library or no driver below it. An error when it refuses to start, such
  // as after an update of the driver without a reboot.
  static core::Result<std::unique_ptr<Library>> open(const std::string& name);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // How many are open in this process. NVML does not survive fork(): who forks a process that will
  // use it must not have it open.
  static int open_count();

  [[nodiscard]] const Functions& functions() const { return functions_; }

  [[nodiscard]] std::string error_text(Return code) const;

 private:
  explicit Library(core::SharedLibrary library);

  core::SharedLibrary library_;
  Functions functions_;
  bool initialised_ = false;
};

}  // namespace assay::gpu::nvml
