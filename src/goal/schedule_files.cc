#include "goal/schedule_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "core/parallel.h"
#include "goal/proof.h"
#include "model/goal_text.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBinaryName = "output.bin";
constexpr const char* kTextName = "output.goal";

using MakeRanks = std::function<core::Status(model::RankSink&)>;

void make_rank(const SchedulePlan& plan, std::uint32_t rank, RankWork& work) {
  work.spans.clear();
  work.status = plan.make_rank(rank, work);
}

// Makes the ranks in batches; each batch is appended in the order of the ranks.
core::Status append_ranks(const SchedulePlan& plan, Generated& generated, model::RankSink& sink) {
  const unsigned threads =
      plan.threads > 0 ? plan.threads : std::max(std::thread::hardware_concurrency(), 1U);
  std::vector<RankWork> batch(std::min<std::size_t>(threads, plan.num_ranks));
  std::vector<std::uint32_t> num_ops(batch.size());
  for (std::size_t first = 0; first < plan.num_ranks; first += batch.size()) {
    ASSAY_TRY(core::check_interrupt());
    const std::size_t count = std::min(batch.size(), plan.num_ranks - first);
    core::parallel_for(count, threads, [&](std::size_t i) {
      RankWork& work = batch[i];
      make_rank(plan, static_cast<std::uint32_t>(first + i), work);
      num_ops[i] = work.graph.size();
      work.image = work.graph.finish(std::move(work.image));
    });
    for (std::size_t i = 0; i < count; ++i) {
      ASSAY_TRY(batch[i].status);
      ASSAY_TRY(sink.append(batch[i].image));
      generated.num_ops += num_ops[i];
      generated.notes.spans.push_back(std::move(batch[i].spans));
    }
  }
  for (const RankWork& work : batch)
    generated.warnings.merge(work.warnings);
  return {};
}

// Writes each rank to a file of its own and passes it on to the whole, if there is one. The files
// lie in a temporary folder until all ranks are written and proven.
class PartsSink final : public model::RankSink {
 public:
  PartsSink(const fs::path& temporary, const fs::path& folder, model::RankSink* whole)
      : temporary_(temporary), folder_(folder), whole_(whole) {}

  core::Status append(const model::RankImage& rank) override {
    ASSAY_TRY(core::check_interrupt());
    ASSAY_TRY(model::write_goal_text_part(temporary_ / name_of(ranks_), ranks_, rank));
    ++ranks_;
    return whole_ == nullptr ? core::Status{} : whole_->append(rank);
  }

  core::Status finish(std::vector<fs::path>& written) const {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const fs::path path = folder_ / name_of(rank);
      ASSAY_TRY(core::place_file(temporary_ / name_of(rank), path, core::Durability::kUnsynced));
      written.push_back(path);
    }
    return {};
  }

 private:
  static std::string name_of(std::uint32_t rank) { return fmt::format("rank_{}.goal", rank); }

  const fs::path& temporary_;
  const fs::path& folder_;
  model::RankSink* whole_;
  std::uint32_t ranks_ = 0;
};

core::Status write_ranks(const ScheduleTarget& target,
                         const fs::path& path,
                         std::uint32_t num_ranks,
                         const MakeRanks& ranks,
                         std::vector<fs::path>& written) {
  if (target.format == ScheduleFormat::kBinary) {
    ASSAY_TRY(model::write_binary_schedule(path, num_ranks, ranks));
    written.push_back(path);
    return {};
  }
  if (target.text_files == TextFiles::kOne) {
    ASSAY_TRY(model::write_goal_text_file(path, num_ranks, ranks));
    written.push_back(path);
    return {};
  }
  const auto with_parts = [&](model::RankSink* whole) -> core::Status {
    const core::TemporaryFolder temporary =
        ASSAY_TRY(core::TemporaryFolder::beside(target.folder / "rank_0.goal"));
    PartsSink parts(temporary.path(), target.folder, whole);
    ASSAY_TRY(ranks(parts));
    return parts.finish(written);
  };
  if (target.text_files == TextFiles::kParts) return with_parts(nullptr);
  ASSAY_TRY(model::write_goal_text_file(
      path, num_ranks, [&](model::RankSink& whole) { return with_parts(&whole); }));
  written.push_back(path);
  return {};
}

// Returns whether this is the name of a rank's file: "rank_12.goal".
bool is_rank_file(std::string_view name) {
  constexpr std::string_view kBefore = "rank_";
  constexpr std::string_view kAfter = ".goal";
  if (name.size() <= kBefore.size() + kAfter.size()) return false;
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return false;
  const std::string_view number =
      name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
  return number.find_first_not_of("0123456789") == std::string_view::npos;
}

// Removes the files of schedules that were not written now, and returns their number: the new notes
// are not theirs.
core::Result<std::size_t> remove_stale(const fs::path& folder,
                                       const std::vector<fs::path>& written) {
  const std::set<fs::path> now(written.begin(), written.end());
  std::size_t removed = 0;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    const bool of_schedule =
        name == kBinaryName || name == kTextName || is_rank_file(name.string());
    if (!of_schedule || now.count(folder / name) > 0) continue;
    ASSAY_TRY(core::remove_file(folder / name));
    ++removed;
  }
  return removed;
}

}  // namespace

core::Result<Generated> make_ranks(const SchedulePlan& plan, model::RankSink& sink) {
  Generated generated{.notes = plan.notes, .warnings = plan.warnings};
  if (!plan.must_match) {
    ASSAY_TRY(append_ranks(plan, generated, sink));
    return generated;
  }
  Proof proof(sink);
  ASSAY_TRY(append_ranks(plan, generated, proof));
  ASSAY_TRY(proof.finish());
  generated.num_messages = proof.messages();
  return generated;
}

core::Result<WrittenSchedule> write_schedule(const SchedulePlan& plan,
                                             const ScheduleTarget& target,
                                             const fs::path& source) {
  WrittenSchedule written;
  const char* name = target.format == ScheduleFormat::kBinary ? kBinaryName : kTextName;
  const fs::path path = target.folder / name;
  const fs::path notes_path = model::notes_path(path);
  std::optional<core::FileLock> lock;  // until all files have their names
  const MakeRanks ranks = [&](model::RankSink& sink) -> core::Status {
    written.schedule = ASSAY_TRY(make_ranks(plan, sink));
    // The new schedule must never lie beside the notes of an old one, even if we are killed now.
    lock.emplace(ASSAY_TRY(core::FileLock::acquire_folder(target.folder)));
    return core::remove_file(notes_path);
  };
  ASSAY_TRY(write_ranks(target, path, plan.num_ranks, ranks, written.files));
  written.removed = ASSAY_TRY(remove_stale(target.folder, written.files));
  if (target.format == ScheduleFormat::kBinary || target.text_files != TextFiles::kParts) {
    written.whole = path;
  }
  model::ScheduleNotes& notes = written.schedule.notes;
  notes.generator = target.generator;
  notes.source = source.string();
  ASSAY_TRY(model::write_notes(notes_path, notes));
  written.files.push_back(notes_path);
  return written;
}

}  // namespace assay::goal
