#include "sweep/repeated_traces.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/file_hash.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamedRuns = 4;

struct TraceFile {
  std::size_t run = 0;
  fs::path path;
};

using FilesBySize = std::map<std::uintmax_t, std::vector<TraceFile>>;

// Returns the sets of runs that share a file.
std::set<std::set<std::size_t>> sharing_runs(const FilesBySize& files) {
  std::set<std::set<std::size_t>> sharing;
  for (const auto& [size, alike] : files) {
    std::map<std::uint64_t, std::set<std::size_t>> runs;
    if (alike.size() < 2) continue;
    for (const TraceFile& file : alike)
      if (const auto hash = core::file_hash(file.path); hash.ok())
        runs[hash.value()].insert(file.run);
    for (const auto& [hash, same] : runs)
      if (same.size() > 1) sharing.insert(same);
  }
  return sharing;
}

}  // namespace

std::vector<std::string> repeated_traces(std::span<const RunRecord> records,
                                         const TracesOfRun& traces_of) {
  FilesBySize files;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].status != RunStatus::kOk) continue;
    for (const fs::path& path : traces_of(records[i].folder)) {
      std::error_code code;
      const std::uintmax_t size = fs::file_size(path, code);
      if (!code && size > 0) files[size].push_back({i, path});
    }
  }
  std::vector<std::string> sentences;
  for (const std::set<std::size_t>& runs : sharing_runs(files)) {
    std::vector<std::string> names;
    for (const std::size_t run : runs)
      names.push_back(fmt::format("{} repeat {}", records[run].setting, records[run].repeat));
    const std::size_t more = names.size() - std::min(names.size(), kMostNamedRuns);
    names.resize(names.size() - more);
    if (more > 0) names.push_back(fmt::format("{} more", more));
    sentences.push_back(
        fmt::format("{} runs have a trace of the same bytes ({}): the command wrote no new one, so "
                    "they are one measurement",
                    runs.size(), core::join(names, ", ")));
  }
  return sentences;
}

}  // namespace assay::sweep
