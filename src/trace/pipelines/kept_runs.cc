#include "trace/pipelines/kept_runs.h"

#include <utility>

#include "trace/pipelines/packed_part.h"

namespace assay::trace {
namespace {

std::vector<std::filesystem::path> paths_of(std::span<const RankFile> files) {
  std::vector<std::filesystem::path> paths;
  for (const RankFile& file : files)
    paths.push_back(file.path);
  return paths;
}

}  // namespace

core::Result<std::vector<RunFolder>> runs_to_read(const std::filesystem::path& configuration,
                                                  const Request& request,
                                                  model::Warnings& warnings) {
  std::vector<RunFolder> runs =
      ASSAY_TRY(runs_to_analyze(configuration, request.options.compat, warnings));
  if (request.kept != nullptr)
    std::erase_if(runs,
                  [&](const RunFolder& run) { return request.kept->left_out.count(run.path) > 0; });
  return runs;
}

void keep_parts(std::span<const RankFile> files, const ReadParts& parts, KeptRuns& kept) {
  std::vector<std::string> packed;
  for (const auto& part : parts) {
    core::Packer packer;
    pack(part->value(), packer);
    packed.push_back(packer.take());
  }
  kept.parts[paths_of(files)] = std::move(packed);
}

std::optional<ReadParts> kept_parts(std::span<const RankFile> files, const KeptRuns& kept) {
  const auto run = kept.parts.find(paths_of(files));
  if (run == kept.parts.end()) return std::nullopt;
  ReadParts parts;
  for (const std::string& packed : run->second) {
    core::Unpacker unpacker(packed);
    parts.emplace_back(unpack_part(unpacker));
  }
  return parts;
}

}  // namespace assay::trace
