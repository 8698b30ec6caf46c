#include "cli/device_options.h"

#include <fmt/core.h>

#include <charconv>
#include <numeric>
#include <optional>
#include <set>

#include "cli/options.h"
#include "cli/workers.h"
#include "core/line_process.h"

namespace assay::cli {
namespace {

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

core::Status DeviceArguments::check() const {
  if (kind != DeviceKind::kCpu || gpus.empty()) return {};
  return core::Error{"--gpus and --device cpu exclude each other"};
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

core::Result<std::filesystem::path> DeviceArguments::worker_program() const {
  auto named = ASSAY_TRY(named_worker(worker));
  if (!named.empty()) return named;
  const bool on_cpu = kind == DeviceKind::kCpu;
  auto own = core::find_own_program(on_cpu ? "assay-cpu-worker" : "assay-worker");
  if (own.ok()) return own;
  const char* needed = on_cpu ? "oneDNN" : "CUDA";
  return core::Error{fmt::format(
      "{}; this build has no {} part: build it where {} is, or name the program with --worker",
      own.error().message, needed, needed)};
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
