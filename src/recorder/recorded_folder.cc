#include "recorder/recorded_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/files.h"
#include "model/recording_file.h"

namespace assay::recorder {
namespace {

namespace fs = std::filesystem;
namespace rec = model::recording;

core::Result<std::vector<fs::path>> recordings_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    if (rec::is_recording(folder / name)) files.push_back(folder / name);
  }
  return files;
}

// The recorder holds a lock for as long as its process lives: only dead processes' files are cut.
void cut(const fs::path& path, std::uint64_t used_bytes) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  // What cannot be cut stays as it is: it is only larger than it need be.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 ||
      ::ftruncate(descriptor, static_cast<off_t>(used_bytes)) != 0) {
    ::close(descriptor);
    return;
  }
  ::close(descriptor);
}

std::uint64_t used_bytes(const rec::File& file) {
  const std::uint64_t last = file.records().empty() ? 0 : file.records().back().number() * 8ULL;
  return (last / rec::kBlockBytes + 1) * rec::kBlockBytes;
}

void count(const fs::path& path, const rec::File& file, Recorded& recorded) {
  ++recorded.processes;
  for (const rec::RecordView& record : file.records()) {
    const rec::Kind kind = record.kind();
    if (kind == rec::Kind::kColl || kind == rec::Kind::kP2p) ++recorded.operations;
    if (kind == rec::Kind::kKernel) ++recorded.kernels;
  }
  cut(path, used_bytes(file));
  std::error_code error;
  recorded.size_bytes += fs::file_size(path, error);
}

}  // namespace

core::Status check_unused(const fs::path& folder) {
  if (!core::is_folder(folder)) {
    std::error_code error;
    if (!fs::exists(folder, error)) return {};
    return core::Error{folder.string() + " is no folder"};
  }
  const auto files = ASSAY_TRY(recordings_in(folder));
  if (files.empty()) return {};
  return core::Error{fmt::format("{} holds a recording already ({}): name another folder with -o",
                                 folder.string(), files.front().filename().string())};
}

core::Result<Recorded> count_recorded(const fs::path& folder) {
  Recorded recorded;
  std::map<std::string, int> notes;
  for (const fs::path& path : ASSAY_TRY(recordings_in(folder))) {
    const rec::File file = ASSAY_TRY(rec::File::read(path));
    if (file.empty()) continue;
    count(path, file, recorded);
    for (const rec::RecordView& record : file.records()) {
      if (record.kind() != rec::Kind::kNote) continue;
      ++notes[std::string(record.text<rec::Note>(record.as<rec::Note>().length))];
    }
    if (file.header().stopped > 1) ++notes["recording ended before the process did"];
  }
  for (const auto& [note, processes] : notes)
    recorded.warnings.push_back(fmt::format("{} ({} processes)", note, processes));
  return recorded;
}

}  // namespace assay::recorder
