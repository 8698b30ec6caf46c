#include "cli/workers.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>

#include "cli/options.h"
#include "core/files.h"
#include "core/own_files.h"
#include "gpu/devices.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::vector<int>> gpus_of(const std::string& list) {
  std::vector<int> gpus;
  for (const std::string& word : split(list, ',')) {
    int gpu = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, code] = std::from_chars(word.data(), end, gpu);
    if (code != std::errc() || stop != end || gpu < 0) return std::nullopt;
    gpus.push_back(gpu);
  }
  return gpus;
}

std::string gpus_problem(const std::string& list) {
  const auto gpus = gpus_of(list);
  if (!gpus) return fmt::format("'{}' is not a list of GPU numbers, such as 0,1", list);
  std::set<int> seen;
  for (const int gpu : *gpus) {
    if (!seen.insert(gpu).second) return fmt::format("GPU {} is named twice", gpu);
  }
  return "";
}

}  // namespace

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
  while (line.ends_with('\0'))
    line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

core::Status DeviceArguments::check() const {
  if (kind != DeviceKind::kCpu || gpus.empty()) return {};
  return core::Error{"--gpus and --device cpu exclude each other"};
}

DeviceArguments DeviceArguments::with_default(DeviceKind usual) const {
  DeviceArguments arguments = *this;
  if (kind == DeviceKind::kUsual && gpus.empty()) arguments.kind = usual;
  return arguments;
}

core::Result<std::vector<int>> DeviceArguments::used_gpus() const {
  if (kind == DeviceKind::kCpu || !gpus.empty()) return gpus;
  const auto count = count_gpus();
  if (!count.ok()) return count.error();
  if (count.value() == 0) {
    return core::Error{
        "no NVIDIA GPU is here (see nvidia-smi and CUDA_VISIBLE_DEVICES); --device cpu measures on "
        "the CPU"};
  }
  std::vector<int> all(static_cast<std::size_t>(count.value()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

core::Result<fs::path> DeviceArguments::worker_program() const {
  auto named = ASSAY_TRY(named_worker(worker));
  if (!named.empty()) return named;
  const bool on_cpu = kind == DeviceKind::kCpu;
  const char* needed = on_cpu ? "oneDNN" : "CUDA";
  return core::find_own_program(
      on_cpu ? "assay-cpu-worker" : "assay-worker",
      fmt::format("this build has no {} part: build it where {} is, or name the program with "
                  "--worker",
                  needed, needed));
}

void add_device_options(App& app,
                        DeviceArguments& arguments,
                        const char* usual_device,
                        const char* group) {
  add_choice<DeviceKind>(app, "--device", arguments.kind,
                         {{"cuda", DeviceKind::kCuda}, {"cpu", DeviceKind::kCpu}},
                         "what kernels run on")
      ->default_str(usual_device)
      ->group(group);
  app.add_option(
         "--gpus", [&arguments](const std::string& list) { arguments.gpus = *gpus_of(list); },
         "GPUs to use, by number: a worker on each, and one on all of them for collectives")
      ->type_name("N,N")
      ->default_str("all")
      ->check(gpus_problem)
      ->group(group);
  app.add_option("--worker", arguments.worker,
                 fmt::format("the program that measures; also by {}", kWorkerVariable))
      ->type_name("FILE")
      ->default_str("assay-worker or assay-cpu-worker beside assay")
      ->group(group);
}

}  // namespace assay::cli
