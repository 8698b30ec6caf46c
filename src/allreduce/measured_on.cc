#include "allreduce/measured_on.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "allreduce/benchmark_csv.h"
#include "allreduce/nccl_csv.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kDateLength = 10;  // of 2026-11-21T15:04:05+0000

// Returns "" where there is no such text.
std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "?" : text;
}

core::Result<Json> read_kept(const fs::path& path) {
  constexpr bool kThrow = false;
  Json kept = Json::parse(ASSAY_TRY(core::read_file(path)), nullptr, kThrow);
  if (kept.is_object() && kept.contains("settings") && kept["settings"].is_object()) return kept;
  return core::Error{
      fmt::format("'{}' does not say on what the times beside it were measured: mend or remove it",
                  path.string())};
}

// Returns what the name of a file of measurements tells, by the names of a .json's settings.
std::map<std::string, int> told_by_name(const std::string& name) {
  constexpr const char* kWorldSize = "TP size";
  constexpr const char* kSmVersion = "SM version";
  if (const auto benchmark = benchmark_file_name(name)) {
    return {{kWorldSize, benchmark->world_size}, {kSmVersion, benchmark->sm_version}};
  }
  if (const auto sweep = nccl_file_name(name)) {
    return {{kWorldSize, sweep->world_size}, {kSmVersion, sweep->sm_version}};
  }
  return {};
}

core::Status check_told(const Json& settings, const fs::path& path, const std::string& csv) {
  for (const auto& [name, told] : told_by_name(csv)) {
    const auto found = settings.find(name);
    if (found == settings.end()) continue;
    const std::string kept = found->is_string() ? found->get<std::string>() : found->dump();
    if (kept == std::to_string(told)) continue;
    return core::Error{
        fmt::format("'{}' says {} {}, and the name of '{}' beside it says {}: mend or remove the "
                    ".json",
                    path.string(), name, kept, csv, told)};
  }
  return {};
}

std::string date_of(const Json& kept) {
  const auto runs = kept.find("runs");
  const bool has_run =
      runs != kept.end() && runs->is_array() && !runs->empty() && runs->front().is_object();
  return has_run ? text_in(runs->front(), "date").substr(0, kDateLength) : std::string();
}

}  // namespace

core::Result<MeasuredOn> measured_on(const fs::path& csv) {
  fs::path path = csv;
  path.replace_extension(".json");
  if (!core::is_regular_file(path)) return MeasuredOn{};
  const Json kept = ASSAY_TRY(read_kept(path));
  const Json& settings = kept["settings"];
  ASSAY_TRY(check_told(settings, path, csv.filename().string()));
  MeasuredOn told{.gpu = text_in(settings, "GPU"), .nccl = text_in(settings, "NCCL")};
  told.text = fmt::format("{}, CUDA {}, NCCL {}, {}", or_unknown(told.gpu),
                          or_unknown(text_in(settings, "CUDA runtime")), or_unknown(told.nccl),
                          or_unknown(date_of(kept)));
  return told;
}

core::Status check_one_gpu(const std::vector<fs::path>& files, std::string_view remedy) {
  std::map<std::string, fs::path> gpus;
  for (const fs::path& file : files) {
    const MeasuredOn told = ASSAY_TRY(measured_on(file));
    if (!told.gpu.empty()) gpus.emplace(told.gpu, file);
  }
  if (gpus.size() < 2) return {};
  const auto& [gpu, file] = *gpus.begin();
  const auto& [other_gpu, other_file] = *gpus.rbegin();
  return core::Error{fmt::format("'{}' was measured on {}, and '{}' on {}: {}", file.string(), gpu,
                                 other_file.string(), other_gpu, remedy)};
}

core::Status check_same_gpu(std::vector<fs::path> files,
                            const std::vector<fs::path>& compared_with) {
  files.insert(files.end(), compared_with.begin(), compared_with.end());
  return check_one_gpu(files, "only times of the same GPU can be compared");
}

core::Result<std::string> provenance_of(const std::vector<fs::path>& files, std::size_t times) {
  ASSAY_TRY(check_one_gpu(files, "keep them in two folders, for a table each"));
  std::vector<std::string> machines;
  std::vector<std::string> names;
  for (const fs::path& file : files) {
    const std::string machine = ASSAY_TRY(measured_on(file)).text;
    const bool is_new = std::find(machines.begin(), machines.end(), machine) == machines.end();
    if (!machine.empty() && is_new) machines.push_back(machine);
    names.push_back(file.filename().string());
  }
  return fmt::format("{}{} in {}", machines.empty() ? "" : core::join(machines, "; ") + ", of ",
                     core::counted(times, "time"), core::join(names, " "));
}

}  // namespace assay::allreduce
