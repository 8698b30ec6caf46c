// What was read of runs, as packed parts, so that a command that first analyses runs and then
// compares them reads each trace once.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trace/pipelines.h"
#include "trace/pipelines/rank_part.h"
#include "trace/pipelines/share.h"
#include "trace/run.h"

namespace assay::trace {

struct KeptRuns {
  Keep keep;  // what later requests ask for; never the individual reports
  // kDescribe: a damaged file is an error. Otherwise a run with one is read again.
  FileDamage damage = FileDamage::kDescribe;
  std::map<std::vector<std::filesystem::path>, std::vector<std::string>> parts = {};  // by file
  std::set<std::filesystem::path> left_out = {};  // repeats that could not be analysed
};

// Returns runs_to_analyze() without the repeats that an earlier request left out.
core::Result<std::vector<RunFolder>> runs_to_read(const std::filesystem::path& configuration,
                                                  const Request& request,
                                                  model::Warnings& warnings);

// The parts must all have been read.
void keep_parts(std::span<const RankFile> files, const ReadParts& parts, KeptRuns& kept);

// Returns the parts of a run of which the same files were kept.
std::optional<ReadParts> kept_parts(std::span<const RankFile> files, const KeptRuns& kept);

}  // namespace assay::trace
