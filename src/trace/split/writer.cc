#include "trace/split/writer.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/event_parser.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

// The members of the document that PyTorch and Kineto write.
constexpr std::array<std::string_view, 19> kKeptMembers{"schemaVersion",
                                                        "deviceProperties",
                                                        "distributedInfo",
                                                        "displayTimeUnit",
                                                        "baseTimeNanoseconds",
                                                        "traceName",
                                                        "trace_id",
                                                        "record_shapes",
                                                        "with_flops",
                                                        "with_modules",
                                                        "with_stack",
                                                        "profile_memory",
                                                        "cupti_version",
                                                        "cuda_runtime_version",
                                                        "cuda_driver_version",
                                                        "roctracer_version",
                                                        "rocprofiler-sdk_version",
                                                        "hip_runtime_version",
                                                        "hip_driver_version"};

// Returns ", "key": value" for each member to keep.
std::string kept_members(const std::string& rest) {
  const auto document = nlohmann::ordered_json::parse(rest, nullptr, /*allow_exceptions=*/false);
  std::string text;
  if (!document.is_object()) return text;
  for (const auto& [key, value] : document.items()) {
    if (std::find(kKeptMembers.begin(), kKeptMembers.end(), key) == kKeptMembers.end()) continue;
    text +=
        fmt::format(",\n  {}: {}", nlohmann::json(key).dump(),
                    value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  return text;
}

// A file that is open only while something is added, since a trace may have thousands of steps.
class GrowingFile {
 public:
  explicit GrowingFile(fs::path path) : path_(std::move(path)) {}

  core::Status add(std::string_view text) {
    waiting_ += text;
    constexpr std::size_t kEnough = 64 * 1024;
    return waiting_.size() < kEnough ? core::Status{} : flush();
  }

  core::Status flush() {
    errno = 0;
    std::ofstream file(path_, std::ios::binary | std::ios::app);
    file.write(waiting_.data(), static_cast<std::streamsize>(waiting_.size()));
    file.close();
    waiting_.clear();
    if (file) return {};
    return core::Error{
        fmt::format("cannot write '{}': {}", path_.parent_path().string(), std::strerror(errno))};
  }

 private:
  fs::path path_;
  std::string waiting_;
};

class PieceWriter {
 public:
  PieceWriter(const SplitPlan& plan, const fs::path& folder) : plan_(plan) {
    for (std::size_t i = 0; i < plan.pieces().size(); ++i)
      files_.emplace_back(folder / std::to_string(i));
    events_.resize(files_.size());
  }

  void add(const RawEvent& event, std::uint32_t uid, std::string_view text) {
    const SplitPlan::Target target = plan_.target_of(event, uid);
    using Kind = SplitPlan::Target::Kind;
    if (target.kind == Kind::kOne) add_to(target.piece, text);
    if (target.kind != Kind::kAll) return;
    for (std::size_t piece = 0; piece < files_.size(); ++piece)
      add_to(piece, text);
  }

  core::Status finish(const std::string& members) {
    for (std::size_t piece = 0; piece < files_.size(); ++piece) {
      keep(files_[piece].add(events_[piece] == 0 ? "{\n  \"traceEvents\": [" : ""));
      keep(files_[piece].add("\n]" + members + "\n}\n"));
      keep(files_[piece].flush());
    }
    return status_;
  }

  [[nodiscard]] const std::vector<std::uint64_t>& events() const { return events_; }

  [[nodiscard]] const core::Status& status() const { return status_; }

 private:
  void add_to(std::size_t piece, std::string_view text) {
    if (!status_.ok()) return;
    keep(files_[piece].add(events_[piece]++ == 0 ? "{\n  \"traceEvents\": [\n" : ",\n"));
    keep(files_[piece].add(text));
  }

  void keep(const core::Status& status) {
    if (status_.ok() && !status.ok()) status_ = status;
  }

  const SplitPlan& plan_;
  std::vector<GrowingFile> files_;
  std::vector<std::uint64_t> events_;
  core::Status status_;
};

// A device or a FIFO gets the content of the whole file; any other name gets the file.
core::Status place(const fs::path& whole, const fs::path& path) {
  std::error_code error;
  const bool other = fs::exists(path, error) && !core::is_regular_file(path);
  if (!other) return core::place_file(whole, path, core::Durability::kUnsynced);
  return core::write_file(path, ASSAY_TRY(core::read_file(whole)), core::Durability::kUnsynced);
}

}  // namespace

std::vector<fs::path> piece_paths(const SplitPlan& plan,
                                  const fs::path& folder,
                                  const std::string& stem) {
  std::vector<fs::path> paths;
  for (const Piece& piece : plan.pieces())
    paths.push_back(folder / fmt::format("{}.{}.json", stem, piece.name));
  return paths;
}

core::Result<std::vector<WrittenPiece>> write_pieces(core::ByteSource& source,
                                                     const std::string& name,
                                                     const SplitPlan& plan,
                                                     const fs::path& folder,
                                                     const std::string& stem) {
  const core::TemporaryFolder temporary =
      ASSAY_TRY(core::TemporaryFolder::beside(folder / "output"));
  PieceWriter writer(plan, temporary.path());
  // The reader has counted them already.
  model::Warnings ignored;
  EventParser parser([&writer](const RawEvent& event, std::uint32_t uid,
                               std::string_view text) { writer.add(event, uid, text); },
                     ignored);
  const CutDocument cut =
      cut_events(source, [&parser](const EventBatch& batch) { parser.parse(batch); });
  ASSAY_TRY(check_content(cut, name));
  ASSAY_TRY(writer.finish(kept_members(cut.rest)));
  ASSAY_TRY(core::check_interrupt());
  std::vector<WrittenPiece> written;
  for (const fs::path& path : piece_paths(plan, folder, stem)) {
    const fs::path whole = temporary.path() / std::to_string(written.size());
    ASSAY_TRY(place(whole, path));
    written.push_back({path, writer.events()[written.size()]});
  }
  return written;
}

}  // namespace assay::trace
