#include "allreduce/plot/source.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "allreduce/benchmark_csv.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

core::Result<std::set<Launch>> launches_in(const fs::path& folder, std::optional<int> sm_version) {
  std::set<Launch> launches;
  for (const fs::path& entry : ASSAY_TRY(core::list_directory(folder))) {
    const auto name = benchmark_file_name(entry.filename().string());
    if (name && (!sm_version || name->sm_version == *sm_version)) launches.insert(name->launch);
  }
  return launches;
}

struct Files {
  int sm_version = 0;
  std::vector<fs::path> paths;
};

core::Result<Files> files_of(const PlotRequest& request) {
  std::set<Launch> launches = ASSAY_TRY(launches_in(request.data_dir, request.sm_version));
  if (launches.empty()) launches.insert(Launch::kGraph);  // for the message
  Files files;
  for (const Launch launch : launches) {
    const auto found = ASSAY_TRY(find_benchmarks(request.data_dir, request.sm_version, launch));
    if (files.sm_version != 0 && files.sm_version != found.sm_version) {
      return core::Error{fmt::format("'{}' mixes benchmark files of SM {} and {}; name one of them",
                                     request.data_dir.string(), files.sm_version,
                                     found.sm_version)};
    }
    files.sm_version = found.sm_version;
    files.paths.insert(files.paths.end(), found.files.begin(), found.files.end());
  }
  return files;
}

bool is_wanted(const PlotRequest& request, Fusion fusion) {
  const auto& wanted = request.fusions;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), fusion) != wanted.end();
}

core::Status check_fusions(const PlotRequest& request, const std::set<Fusion>& measured) {
  for (const Fusion fusion : request.fusions) {
    if (measured.count(fusion) > 0) continue;
    std::vector<std::string> names;
    names.reserve(measured.size());
    for (const Fusion one : measured)
      names.emplace_back(name_of(one));
    return core::Error{fmt::format("no times of the fusion {} in '{}'; there are times of {}",
                                   name_of(fusion), request.data_dir.string(),
                                   core::join(names, ", "))};
  }
  return {};
}

}  // namespace

core::Result<std::vector<Source>> read_sources(const PlotRequest& request,
                                               model::Warnings& warnings) {
  const Files files = ASSAY_TRY(files_of(request));
  std::vector<Source> sources;
  std::set<Fusion> measured;
  for (const fs::path& path : files.paths) {
    Benchmark benchmark{.sm_version = files.sm_version, .measurements = {}, .warnings = {}};
    benchmark.measurements = ASSAY_TRY(read_benchmark_csv(path, &warnings));
    Source source{.name = path.stem().string(), .grids = {}};
    for (const Fusion fusion : fusions_of(benchmark)) {
      measured.insert(fusion);
      if (!is_wanted(request, fusion)) continue;
      auto grid = grid_of(benchmark, fusion);
      if (!grid.ok()) return grid.error().context(path.string());
      source.grids.push_back(std::move(grid).value());
    }
    if (fusions_of(benchmark).empty()) {
      warnings.add("benchmark file without any time", "no figures", path.string());
    }
    if (!source.grids.empty()) sources.push_back(std::move(source));
  }
  if (measured.empty()) {
    return core::Error{
        fmt::format("no times in the benchmark files of '{}'", request.data_dir.string())};
  }
  if (auto checked = check_fusions(request, measured); !checked.ok()) return checked.error();
  return sources;
}

}  // namespace assay::allreduce
