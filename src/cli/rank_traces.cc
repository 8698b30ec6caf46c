#include "cli/rank_traces.h"

#include "trace/run.h"

namespace assay::cli {

std::vector<std::filesystem::path> rank_traces(const std::filesystem::path& run) {
  model::Warnings ignored;
  const auto files = trace::find_rank_files(run, ignored);
  std::vector<std::filesystem::path> paths;
  if (!files.ok()) return paths;
  for (const trace::RankFile& file : files.value())
    paths.push_back(file.path);
  return paths;
}

}  // namespace assay::cli
