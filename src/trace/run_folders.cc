#include "trace/run_folders.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/files.h"
#include "trace/pipelines/prepare.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

// N of "repeatN", written as the sweep writes it; others ("repeat2.failed", "repeat02") are none.
std::optional<int> repeat_number(const std::string& name) {
  constexpr std::string_view kPrefix = "repeat";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int number = 0;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kPrefix.size(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 1) return std::nullopt;
  return fmt::format("{}{}", kPrefix, number) == name ? std::optional(number) : std::nullopt;
}

std::vector<RunFolder> repeats_in(const fs::path& folder) {
  std::vector<RunFolder> repeats;
  const auto names = core::list_directory(folder);
  if (!names.ok()) return repeats;
  for (const fs::path& name : names.value()) {
    const std::optional<int> number = repeat_number(name.string());
    if (number && core::is_folder(folder / name)) repeats.push_back({*number, folder / name});
  }
  std::sort(repeats.begin(), repeats.end(),
            [](const RunFolder& a, const RunFolder& b) { return a.repeat < b.repeat; });
  return repeats;
}

// Traces or reports of its own.
bool is_run_folder(const fs::path& folder) {
  for (const char* own : {"torch_profiler", kIndividualFolder, kCollectiveFolder})
    if (core::is_folder(folder / own)) return true;
  const auto names = core::list_directory(folder);
  return names.ok() &&
         std::any_of(names.value().begin(), names.value().end(), [&](const fs::path& name) {
           return name.string().starts_with("rank") && core::is_folder(folder / name);
         });
}

}  // namespace

std::vector<RunFolder> find_run_folders(const fs::path& configuration) {
  if (core::is_folder(configuration) && !is_run_folder(configuration)) {
    std::vector<RunFolder> repeats = repeats_in(configuration);
    if (!repeats.empty()) return repeats;
  }
  return {{0, configuration}};
}

core::Result<std::vector<RunFolder>> runs_to_analyze(const fs::path& configuration,
                                                     Compat compat,
                                                     model::Warnings& warnings) {
  std::vector<RunFolder> runs = find_run_folders(configuration);
  if (runs.front().repeat == 0) {
    const std::size_t repeats =
        core::is_folder(configuration) ? repeats_in(configuration).size() : 0;
    if (repeats > 0)
      warnings.add("folder with traces of its own beside repeats", "the repeats are not used",
                   configuration.string(), static_cast<std::int64_t>(repeats));
    return runs;
  }
  if (compat == Compat::kNone) return runs;
  return core::Error{fmt::format("'{}' holds repeats, which --compat tracelens does not know: {}",
                                 configuration.string(), repeats_hint(configuration))};
}

void merge_warnings(const RunFolder& run, const model::Warnings& of_run, model::Warnings& all) {
  const std::string prefix = run.repeat == 0 ? "" : fmt::format("repeat {}: ", run.repeat);
  for (const model::Warning& warning : of_run.all())
    all.add(warning.reason, warning.effect, prefix + warning.example, warning.count);
}

std::string repeats_hint(const fs::path& folder) {
  const RunFolder first = find_run_folders(folder).front();
  return first.repeat == 0 ? ""
                           : fmt::format("name one of them, such as '{}'", first.path.string());
}

}  // namespace assay::trace
