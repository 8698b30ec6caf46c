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
