// Recordings of libassay_recorder.so: one file a process, with NCCL's logs beside them for the
// rings and trees.
#include <fmt/core.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/parallel.h"
#include "goal/input.h"
#include "goal/inputs/nccl_log_files.h"
#include "goal/inputs/process_recording.h"
#include "goal/inputs/recorded_operations.h"
#include "model/recording_file.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;
namespace rec = model::recording;

struct ReadFile {
  std::vector<ProcessRecording> recordings;
  std::string boot;
  std::int32_t nccl_version = 0;
  bool empty = false;
};

core::Result<ReadFile> read_file(const fs::path& path) {
  const rec::File file = ASSAY_TRY(rec::File::read(path));
  ReadFile read;
  read.recordings = recordings_of(sort_records(file, path.string()));
  read.boot = rec::text_of(file.header().boot) + "/" + rec::text_of(file.header().host);
  read.nccl_version = file.header().nccl_version;
  read.empty = read.recordings.empty();
  return read;
}

core::Result<std::vector<ReadFile>> read_files(const std::vector<fs::path>& files,
                                               unsigned threads) {
  std::vector<std::optional<core::Result<ReadFile>>> results(files.size());
  core::parallel_for(files.size(), threads,
                     [&](std::size_t i) { results[i].emplace(read_file(files[i])); });
  std::vector<ReadFile> read;
  for (auto& result : results) {
    if (!result->ok()) return result->error();
    read.push_back(std::move(*result).value());
  }
  return read;
}

// 22809 is "2.28.9".
std::string version_text(std::int32_t version) {
  constexpr std::int32_t kMajor = 10000;
  constexpr std::int32_t kMinor = 100;
  if (version <= 0) return "";
  return fmt::format("{}.{}.{}", version / kMajor, version % kMajor / kMinor, version % kMinor);
}

core::Status check_ranks(const std::vector<ProcessRecording>& recordings) {
  std::map<std::pair<std::string, std::int32_t>, const ProcessRecording*> claimed;
  for (const ProcessRecording& recording : recordings) {
    for (const CommunicatorView& view : recording.communicators) {
      const auto [found, added] = claimed.emplace(std::pair(view.name, view.rank), &recording);
      if (added || found->second == &recording) continue;
      return core::Error{
          fmt::format("{} and {} are both rank {} of communicator {}: keep one of them",
                      found->second->file, recording.file, view.rank, view.name)};
    }
  }
  return {};
}

core::Result<model::Job> read_recordings(const std::vector<fs::path>& files,
                                         const InputOptions& options) {
  std::vector<ReadFile> read = ASSAY_TRY(read_files(files, options.threads));
  std::vector<ProcessRecording> recordings;
  std::map<std::string, std::uint32_t> clocks;
  model::Warnings warnings;
  std::int32_t nccl_version = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(clocks.size());
    const std::uint32_t clock = clocks.emplace(read[i].boot, number).first->second;
    nccl_version = std::max(nccl_version, read[i].nccl_version);
    if (read[i].empty) {
      warnings.add("recordings of processes that began no communicator", "left out",
                   files[i].string());
    }
    for (ProcessRecording& recording : read[i].recordings) {
      recording.gpu.clock = clock;
      recordings.push_back(std::move(recording));
    }
  }
  if (recordings.empty()) {
    return core::Error{fmt::format("{}: no process of this recording began a communicator",
                                   files.front().parent_path().string())};
  }
  ASSAY_TRY(check_ranks(recordings));
  model::Job job = join_processes(std::move(recordings));
  job.nccl_version = version_text(nccl_version);
  job.warnings.merge(warnings);
  ASSAY_TRY(add_logged_topology(files, options, job));
  return job;
}

const InputSpec kRecording{
    .name = "recording",
    .description = "files of assay's recorder, assay_<host>_<process>.rec",
    .accepts = rec::is_recording,
    .read = read_recordings,
};
ASSAY_REGISTER(InputSpec, kRecording);

}  // namespace
}  // namespace assay::goal
