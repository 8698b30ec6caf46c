#include "goal/generate_files.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include "core/files.h"
#include "core/interrupt.h"
#include "goal/compat_v2/compat_v2.h"
#include "goal/job_summary.h"
#include "model/goal_text.h"
#include "model/schedule_notes.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;
using model::Table;

constexpr const char* kName = "output";

// Each rank in a file of its own, and in the whole if there is one. The files have temporary names
// until all ranks are written and proven.
class PartsSink final : public model::RankSink {
 public:
  PartsSink(const fs::path& folder, model::RankSink* whole) : folder_(folder), whole_(whole) {}

  core::Status append(const model::RankImage& rank) override {
    ASSAY_TRY(core::check_interrupt());
    const auto number = static_cast<std::uint32_t>(parts_.size());
    // The constructor is private: make_unique cannot call it.
    parts_.emplace_back(new core::TemporaryFile(core::TemporaryFile::beside(path_of(number))));
    ASSAY_TRY(model::write_goal_text_part(parts_.back()->path(), number, rank));
    return whole_ == nullptr ? core::Status{} : whole_->append(rank);
  }

  core::Status finish(std::vector<fs::path>& written) const {
    for (std::uint32_t rank = 0; rank < parts_.size(); ++rank) {
      const fs::path path = path_of(rank);
      std::error_code error;
      fs::rename(parts_[rank]->path(), path, error);
      if (error) {
        return core::Error{fmt::format("cannot write '{}': {}", path.string(), error.message())};
      }
      written.push_back(path);
    }
    return {};
  }

 private:
  [[nodiscard]] fs::path path_of(std::uint32_t rank) const {
    return folder_ / fmt::format("rank_{}.goal", rank);
  }

  const fs::path& folder_;
  model::RankSink* whole_;
  std::vector<std::unique_ptr<core::TemporaryFile>> parts_;  // by rank
};

using Ranks = std::function<core::Status(model::RankSink&)>;

core::Status write_schedule(const FilesRequest& request,
                            const fs::path& path,
                            std::uint32_t num_ranks,
                            const Ranks& ranks,
                            std::vector<fs::path>& written) {
  if (request.format == ScheduleFormat::kBinary) {
    ASSAY_TRY(model::write_binary_schedule(path, num_ranks, ranks));
    written.push_back(path);
    return {};
  }
  if (request.text_files == TextFiles::kOne) {
    ASSAY_TRY(model::write_goal_text_file(path, num_ranks, ranks));
    written.push_back(path);
    return {};
  }
  const auto with_parts = [&](model::RankSink* whole) -> core::Status {
    PartsSink parts(request.output, whole);
    ASSAY_TRY(ranks(parts));
    return parts.finish(written);
  };
  if (request.text_files == TextFiles::kParts) return with_parts(nullptr);
  ASSAY_TRY(model::write_goal_text_file(
      path, num_ranks, [&](model::RankSink& whole) { return with_parts(&whole); }));
  written.push_back(path);
  return {};
}

core::Result<Generated> generate_v2(const FilesRequest& request,
                                    const model::Job& job,
                                    model::RankSink& sink) {
  CompatOptions options;
  options.streams = request.generate.streams.streams;
  options.threads = request.generate.threads;
  const std::string& layout = request.generate.tags.layout;
  if (layout != "auto") {
    const TagWidths widths = ASSAY_TRY(read_tag_widths(layout));
    if (widths.unit != TagWidths::Unit::kDigits) {
      return core::Error{"the public generator's tags are decimal: --tag-layout decimal:4/5"};
    }
    options.number_digits = widths.id;
    options.name_digits = widths.label;
  }
  return generate_compat_v2(job, request.costs, options, sink);
}

Table schedule_table(const Generated& generated, const FilesRequest& request) {
  const model::TagLayout& tags = generated.notes.tags;
  const bool labelled = tags.label_width > 0;
  std::string layout = fmt::format("{} {} for the number", tags.id_width,
                                   tags.name == "decimal" ? "digits" : "bits");
  layout += labelled ? fmt::format(", {} for the label", tags.label_width) : ", no label";
  Table table{.name = "schedule",
              .title = "What was made",
              .columns = {{.name = "what"}, {.name = "value"}}};
  const auto add = [&](const char* what, const std::string& value) {
    table.add_row({std::string(what), value});
  };
  add("ranks", fmt::format("{}", generated.notes.ranks.size()));
  add("operations of the graph", fmt::format("{}", generated.num_ops));
  if (generated.num_messages > 0) {
    add("messages, each with its receive", fmt::format("{}", generated.num_messages));
  }
  add("tags", layout);
  if (labelled) add("label", fmt::format("{}", fmt::join(tags.label_fields, ", ")));
  add("costs", request.costs.source);
  return table;
}

}  // namespace

core::Result<FilesResult> generate_files(const FilesRequest& request) {
  const model::Job recorded = ASSAY_TRY(
      cut_window(ASSAY_TRY(read_job(request.input, request.input_options)), request.window));
  const model::Job job = ASSAY_TRY(scale(recorded, request.scale));
  ASSAY_TRY(core::make_directories(request.output));

  FilesResult result;
  Generated generated;
  const char* ending = request.format == ScheduleFormat::kBinary ? ".bin" : ".goal";
  const fs::path path = request.output / (std::string(kName) + ending);
  const Ranks ranks = [&](model::RankSink& sink) -> core::Status {
    generated = request.compat == Compat::kV2
                    ? ASSAY_TRY(generate_v2(request, job, sink))
                    : ASSAY_TRY(generate(job, request.costs, request.generate, sink));
    // The new schedule must not be found beside the notes of an old one, whatever ends us now.
    std::error_code error;
    fs::remove(model::notes_path(path), error);
    return {};
  };
  const auto num_ranks = static_cast<std::uint32_t>(job.gpus.size());
  ASSAY_TRY(write_schedule(request, path, num_ranks, ranks, result.written));
  generated.notes.generator = request.generator;
  generated.notes.source = request.input.string();
  ASSAY_TRY(model::write_notes(model::notes_path(path), generated.notes));
  result.written.push_back(model::notes_path(path));

  result.summary.title = "Schedule of " + request.input.string();
  result.summary.tables.push_back(schedule_table(generated, request));
  for (Table& table : describe(recorded).tables) {
    if (table.name != "warnings" && table.name != "gpus") {
      result.summary.tables.push_back(std::move(table));
    }
  }
  result.warnings = job.warnings;
  result.warnings.merge(generated.warnings);
  return result;
}

}  // namespace assay::goal
