#include "goal/input.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "core/files.h"
#include "goal/inputs/input_files.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;

core::Status list_files(const fs::path& path, std::vector<fs::path>& files) {
  if (!core::is_folder(path)) {
    files.push_back(path);
    return {};
  }
  for (const fs::path& name : ASSAY_TRY(core::list_directory(path))) {
    ASSAY_TRY(list_files(path / name, files));
  }
  return {};
}

std::string known_kinds() {
  std::string text;
  for (const InputSpec* spec : core::Registry<InputSpec>::all()) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", spec->name, spec->description);
  }
  return text;
}

struct Found {
  const InputSpec* spec;
  std::vector<fs::path> files;
};

std::vector<Found> sort_by_kind(const std::vector<fs::path>& files) {
  std::vector<Found> found;
  for (const InputSpec* spec : core::Registry<InputSpec>::all()) {
    Found kind{spec, {}};
    std::copy_if(files.begin(), files.end(), std::back_inserter(kind.files), spec->accepts);
    if (!kind.files.empty()) found.push_back(std::move(kind));
  }
  return found;
}

// Takes away the files of kinds that lie beside those of a kind that tells more.
void leave_to_others(std::vector<Found>& found) {
  for (Found& kind : found) {
    const auto other = std::find_if(found.begin(), found.end(), [&](const Found& candidate) {
      return kind.spec->yields_to != nullptr &&
             std::string_view(candidate.spec->name) == kind.spec->yields_to;
    });
    if (other == found.end()) continue;
    std::set<fs::path> folders;
    for (const fs::path& file : other->files)
      folders.insert(file.parent_path());
    std::erase_if(kind.files,
                  [&](const fs::path& file) { return folders.contains(file.parent_path()); });
  }
  std::erase_if(found, [](const Found& kind) { return kind.files.empty(); });
}

core::Result<std::vector<fs::path>> files_in(const fs::path& folder) {
  if (!core::is_folder(folder) && !core::is_regular_file(folder)) {
    std::error_code ignored;
    const char* problem = fs::exists(folder, ignored)
                              ? ": neither a file nor a folder; write what a pipe holds to a file"
                              : ": no such file or folder";
    return core::Error{folder.string() + problem};
  }
  std::vector<fs::path> files;
  ASSAY_TRY(list_files(folder, files));
  return files;
}

core::Error logs_without_use(const fs::path& folder, const std::string& kind) {
  return core::Error{
      fmt::format("{}: NCCL's logs (--nccl-log) add nothing to {}", folder.string(), kind)};
}

bool names_job_file(const fs::path& file) {
  constexpr std::size_t kLookedAtBytes = 64;
  return file.extension() == ".json" && is_job_file(first_bytes(file, kLookedAtBytes));
}

core::Result<std::optional<JobFile>> job_file_among(const std::vector<fs::path>& files) {
  const auto first = std::find_if(files.begin(), files.end(), names_job_file);
  if (first == files.end()) return std::optional<JobFile>();
  const auto second = std::find_if(first + 1, files.end(), names_job_file);
  if (second != files.end()) {
    return core::Error{
        fmt::format("{} and {} are both jobs: name one", first->string(), second->string())};
  }
  return std::optional<JobFile>(ASSAY_TRY(read_job_file(*first)));
}

}  // namespace

core::Result<std::optional<JobFile>> find_job_file(const fs::path& folder) {
  const std::vector<fs::path> files = ASSAY_TRY(files_in(folder));
  if (!sort_by_kind(files).empty()) return std::optional<JobFile>();
  return job_file_among(files);
}

core::Result<model::Job> read_job(const fs::path& folder, const InputOptions& options) {
  const std::vector<fs::path> files = ASSAY_TRY(files_in(folder));
  std::vector<Found> found = sort_by_kind(files);
  leave_to_others(found);
  if (found.empty()) {
    auto file = ASSAY_TRY(job_file_among(files));
    if (file && !options.nccl_logs.empty()) return logs_without_use(folder, "a job's file");
    if (file) return std::move(file->job);
    return core::Error{fmt::format("{}: no recording of NCCL among its {} files; known are {}",
                                   folder.string(), files.size(), known_kinds())};
  }
  if (found.size() > 1) {
    return core::Error{
        fmt::format("{}: recordings of several kinds ({} and {}, for example {} and {}); name a "
                    "folder with one",
                    folder.string(), found[0].spec->name, found[1].spec->name,
                    found[0].files[0].string(), found[1].files[0].string())};
  }
  if (options.gpus_per_node && found[0].spec->names_nodes) {
    return core::Error{
        fmt::format("{}: --gpus-per-node is for traces that do not tell nodes; {} do",
                    folder.string(), found[0].spec->description)};
  }
  if (!options.nccl_logs.empty() && !found[0].spec->reads_logs)
    return logs_without_use(folder, found[0].spec->description);
  return found[0].spec->read(found[0].files, options);
}

}  // namespace assay::goal
