// The last stages of `assay goal generate`: the ranks of a planned schedule are made a few at a
// time, proven to match, and written with their notes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/schedule_notes.h"
#include "model/schedule_writer.h"
#include "model/warnings.h"

namespace assay::goal {

// One rank while it is made.
struct RankWork {
  model::RankBuilder graph;
  model::RankImage image;
  std::vector<model::OperationSpan> spans;
  model::Warnings warnings;
  core::Status status;
};

// All that is decided about a schedule before its ranks are made.
struct SchedulePlan {
  model::ScheduleNotes notes;  // without spans, generator and source
  model::Warnings warnings;
  std::uint32_t num_ranks = 0;
  unsigned threads = 0;  // at most this many ranks are in memory at once; 0: one per processor
  // Whether a schedule whose sends and receives do not match is an error.
  bool must_match = true;
  // Adds the graph of a rank to an empty `work.graph`, and its spans and warnings. Called for
  // several ranks at once.
  std::function<core::Status(std::uint32_t rank, RankWork& work)> make_rank;
};

// The facts of a schedule that are known once all of its ranks are made.
struct Generated {
  model::ScheduleNotes notes;  // without generator and source
  model::Warnings warnings;
  std::uint64_t num_ops = 0;
  std::uint64_t num_messages = 0;  // a send and its receive are one message; 0 if not proven
};

// Makes the ranks in their order and appends them to the sink.
core::Result<Generated> make_ranks(const SchedulePlan& plan, model::RankSink& sink);

// kJob: no schedule, but the job of which one can be made (job_file.h).
enum class ScheduleFormat { kText, kBinary, kJob };

// The layout of text: one file, or one file per rank as the public generator's workers write them.
enum class TextFiles { kOne, kParts, kOneAndParts };

struct ScheduleTarget {
  std::filesystem::path folder;  // must exist
  ScheduleFormat format = ScheduleFormat::kText;
  TextFiles text_files = TextFiles::kOne;
  std::string generator;  // the program's name and version, for the notes
};

struct WrittenSchedule {
  Generated schedule;
  std::vector<std::filesystem::path> files;
  std::size_t removed = 0;                     // files of an earlier schedule
  std::optional<std::filesystem::path> whole;  // the file of all ranks, if there is one
};

// Makes the ranks and writes output.goal, output.bin or rank_<N>.goal, and output.notes.json, which
// names `source` as the recording. Files appear only when the schedule is whole and proven; those
// of an earlier schedule, which may have had another form or more ranks, are then removed.
core::Result<WrittenSchedule> write_schedule(const SchedulePlan& plan,
                                             const ScheduleTarget& target,
                                             const std::filesystem::path& source);

}  // namespace assay::goal
