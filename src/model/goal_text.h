// GOAL schedules as text, as the public converter reads them:
//
//   num_ranks 2
//   rank 0 {
//   l0: calc 500 cpu 0
//   l1: send 1024b to 1 tag 7 cpu 0 nic 0
//   l1 requires l0
//   }
//   rank 1 {
//   l0: recv 1024b from 0 tag 7 cpu 0 nic 0
//   }
//
// "A requires B": A starts after B has ended; "A irequires B": after B has started. Labels belong
// to a rank and may be left out; tag, cpu and nic default to 0; -1 is any tag or any sender.
// Sizes are bytes, calculations nanoseconds. "// …" and "/* … */" may stand between lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/files.h"
#include "core/result.h"
#include "model/schedule.h"
#include "model/schedule_writer.h"

namespace assay::model {

// The first bytes of a job's file (goal/job_file.h), which people take for a schedule.
inline constexpr std::string_view kJobFileStart = "{\"assay_job\"";

// A schedule whose head has been read, so that num_ranks is known. Errors name file and line and
// say what was expected. Text that the public converter would accept and misread is also an error,
// such as a label defined twice, a tag of more than 32 bits or a cpu above 254.
class GoalText {
 public:
  static core::Result<GoalText> open(const std::filesystem::path& path);

  // `name` stands for the file in messages.
  static core::Result<GoalText> from_file(core::MappedFile file, std::string name);
  static core::Result<GoalText> from_text(std::string text, std::string name);

  [[nodiscard]] std::uint32_t num_ranks() const { return num_ranks_; }

  // Passes one rank after another to the sink. Needs the memory of one rank in addition to what the
  // sink keeps.
  core::Status read(RankSink& ranks);

 private:
  explicit GoalText(std::string name) : name_(std::move(name)) {}

  core::Status read_head();

  [[nodiscard]] std::string_view text() const { return file_ ? file_->bytes() : text_; }

  std::string name_;
  std::optional<core::MappedFile> file_;
  std::string text_;  // used instead of a file
  std::uint32_t num_ranks_ = 0;
  std::size_t head_bytes_ = 0;
};

// Receives one piece of text after another; an error stops the writing.
using WriteText = std::function<core::Status(std::string_view)>;

// Writes labels l0, l1, … and each dependency as soon as both labels are defined. Reading the text
// gives the same graph, with every list of dependents in the same order.
core::Status write_goal_text(std::uint32_t num_ranks,
                             const std::function<core::Status(RankSink&)>& ranks,
                             const WriteText& write);
core::Status write_goal_text(const Schedule& schedule, const WriteText& write);

// Writes the text to a file, which appears under its name only when everything has succeeded.
core::Status write_goal_text_file(const std::filesystem::path& path,
                                  std::uint32_t num_ranks,
                                  const std::function<core::Status(RankSink&)>& ranks);
core::Status write_goal_text_file(const std::filesystem::path& path, const Schedule& schedule);

// Writes one rank alone, without num_ranks. A num_ranks line followed by such parts makes a
// schedule.
core::Status write_goal_text_part(const std::filesystem::path& path,
                                  std::uint32_t rank,
                                  const RankImage& image);

// Reads a schedule in either form: maps a binary file, or converts a text in memory. The first
// bytes tell the two apart.
core::Result<Schedule> read_schedule(const std::filesystem::path& path);

// Converts the text to binary bytes in memory; `name` stands for the file in messages.
core::Result<Schedule> convert(GoalText& text, std::string_view name);

}  // namespace assay::model
