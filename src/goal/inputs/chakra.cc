// Execution traces of Chakra, one file a rank: NAME.0.et, NAME.1.et, … with the ranks of groups in
// comm_group.json beside them, or in PyTorch's metadata.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "core/counted.h"
#include "core/files.h"
#include "goal/chakra/read_traces.h"
#include "goal/input.h"
#include "goal/inputs/input_files.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;

bool is_execution_trace(const fs::path& file) {
  return file.extension() == ".et";
}

// The number before ".et".
std::optional<std::uint32_t> rank_in_name(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::string digits = stem.substr(stem.rfind('.') + 1);
  std::uint32_t rank = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, rank);
  if (error != std::errc() || at != end) return std::nullopt;
  return rank;
}

core::Result<RankTrace> read_trace(const fs::path& file) {
  const core::MappedFile mapped = ASSAY_TRY(core::MappedFile::open(file));
  return RankTrace{.file = file.string(),
                   .nodes = ASSAY_TRY(parse_execution_trace(mapped.bytes(), file.string()))};
}

core::Result<std::vector<fs::path>> by_rank(const std::vector<fs::path>& files) {
  std::map<std::uint32_t, fs::path> ranks;
  for (const fs::path& file : files) {
    const std::optional<std::uint32_t> rank = rank_in_name(file);
    if (!rank)
      return core::Error{file.string() + ": no rank in its name; it should be NAME.RANK.et"};
    const auto [known, is_new] = ranks.emplace(*rank, file);
    if (!is_new) {
      return core::Error{fmt::format("{} and {} are both of rank {}", known->second.string(),
                                     file.string(), *rank)};
    }
  }
  if (ranks.rbegin()->first + std::size_t{1} != ranks.size()) {
    return core::Error{fmt::format("the traces of {} are there, up to rank {}: some are missing",
                                   core::counted(ranks.size(), "rank"), ranks.rbegin()->first)};
  }
  std::vector<fs::path> sorted;
  for (const auto& [rank, file] : ranks)
    sorted.push_back(file);
  return sorted;
}

core::Result<RankGroups> read_groups(const fs::path& folder, const RankTrace& first) {
  const fs::path file = folder / "comm_group.json";
  if (!core::is_regular_file(file)) return groups_in_metadata(first.nodes);
  return parse_rank_groups(ASSAY_TRY(core::read_file(file)), file.string());
}

core::Result<model::Job> read_chakra(const std::vector<fs::path>& files,
                                     const InputOptions& options) {
  const std::vector<fs::path> sorted = ASSAY_TRY(by_rank(files));
  const std::vector<RankTrace> traces = ASSAY_TRY(read_all(sorted, options.threads, read_trace));
  const RankGroups groups = ASSAY_TRY(read_groups(sorted.front().parent_path(), traces.front()));
  return job_of_traces(traces, groups, options.gpus_per_node.value_or(kDefaultGpusPerNode));
}

const InputSpec kChakra{.name = "chakra",
                        .description = "execution traces of Chakra",
                        .accepts = is_execution_trace,
                        .read = read_chakra,
                        .names_nodes = false,
                        .reads_logs = false};
ASSAY_REGISTER(InputSpec, kChakra);

}  // namespace
}  // namespace assay::goal
