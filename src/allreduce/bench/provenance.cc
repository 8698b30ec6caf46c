#include "allreduce/bench/provenance.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "core/text.h"

namespace assay::allreduce {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool is_of_interest(std::string_view name) {
  return starts_with(name, "NCCL_") || starts_with(name, "CUDA_");
}

// Which GPUs and versions there are is a fact of the worker's; a log costs nothing that is timed.
bool changes_measurements(std::string_view name) {
  constexpr std::array<std::string_view, 6> kHarmless = {
      "CUDA_VISIBLE_DEVICES", "CUDA_HOME",   "CUDA_PATH", "CUDA_ROOT",
      "CUDA_VERSION",         "NCCL_VERSION"};
  return std::find(kHarmless.begin(), kHarmless.end(), name) == kHarmless.end() &&
         !starts_with(name, "NCCL_DEBUG");
}

void add_variables(Provenance& provenance) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::size_t sign = variable.find('=');
    if (sign == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, sign);
    if (!is_of_interest(name)) continue;
    auto& kept = changes_measurements(name) ? provenance.settings : provenance.run;
    kept[fmt::format("variable {}", name)] = variable.substr(sign + 1);
  }
}

std::string gpus_text(const std::vector<int>& gpus) {
  std::vector<std::string> words;
  words.reserve(gpus.size());
  for (const int gpu : gpus)
    words.push_back(std::to_string(gpu));
  return words.empty() ? "first" : core::join(words, ",");
}

}  // namespace

Provenance provenance_of(const BenchmarkOptions& options,
                         int world_size,
                         const WorkerHello& hello) {
  Provenance provenance;
  auto& settings = provenance.settings;
  for (const auto& [name, value] : hello.facts)
    settings[name] = value;
  settings["SM version"] = std::to_string(hello.sm_version);
  settings["TP size"] = std::to_string(world_size);
  settings["made by"] = options.program;
  settings["shapes"] = options.shapes == Shapes::kGrid ? "grid" : "held out";
  settings["--tie"] = fmt::format("{}", options.tie);
  settings["--min-samples"] = std::to_string(options.min_samples);
  settings["--max-samples"] = std::to_string(options.max_samples);
  settings["--memory-limit"] = std::to_string(options.memory_limit_bytes);
  settings["--table"] = options.table.string();
  add_variables(provenance);
  provenance.run["date"] =
      fmt::format("{:%Y-%m-%dT%H:%M:%S%z}", fmt::localtime(std::time(nullptr)));
  provenance.run["command line"] = options.command_line;
  provenance.run["GPUs"] = gpus_text(options.gpus);
  provenance.run["seed"] = std::to_string(options.seed);
  provenance.run["deadline (s)"] =
      fmt::format("{}", std::chrono::duration<double>(options.deadline).count());
  return provenance;
}

}  // namespace assay::allreduce
