#include "cli/workers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "cli/options.h"
#include "core/files.h"
#include "gpu/devices.h"

namespace assay::cli {

namespace fs = std::filesystem;

core::Result<int> count_gpus() {
  const auto machine =
      gpu::nvidia_reader("libnvidia-ml.so.1")->read(gpu::DeviceReader::Detail::kState);
  if (!machine.ok()) return machine.error();
  const auto present = static_cast<int>(machine.value().devices.size());
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return present;
  const bool none = *visible == '\0' || *visible == '-';
  return none ? 0 : std::min(present, static_cast<int>(split(visible, ',').size()));
}

core::Result<fs::path> named_worker(const fs::path& named) {
  const char* variable = std::getenv(kWorkerVariable);
  const fs::path path = !named.empty() ? named : fs::path(variable == nullptr ? "" : variable);
  if (path.empty()) return path;
  if (core::is_regular_file(path)) return fs::absolute(path);
  return core::Error{fmt::format("no worker: '{}' is not a file", path.string())};
}

std::string own_command_line() {
  auto words = core::read_file("/proc/self/cmdline");
  if (!words.ok()) return "";
  std::string line = std::move(words).value();
  while (!line.empty() && line.back() == '\0')
    line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

}  // namespace assay::cli
