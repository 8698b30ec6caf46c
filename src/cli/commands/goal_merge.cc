#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"
#include "core/counted.h"
#include "core/output_file.h"
#include "goal/merge.h"
#include "model/goal_text.h"
#include "model/schedule_notes.h"
#include "model/schedule_writer.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

enum class Form { kBinary, kText };

const Choices<Form> kForms{{"bin", Form::kBinary}, {"text", Form::kText}};

// Splits "FILE:PLACES" at the last colon, because the name of a file may contain colons.
std::pair<std::string, std::string> parts_of(const std::string& placement) {
  const std::size_t colon = placement.rfind(':');
  if (colon == std::string::npos) return {placement, ""};
  return {placement.substr(0, colon), placement.substr(colon + 1)};
}

std::string placement_problem(const std::string& placement) {
  const auto parts = parts_of(placement);
  if (parts.second.empty())
    return fmt::format("'{}' is not FILE:RANKS, such as job.bin:0-3,8", placement);
  const auto places = goal::parse_places(parts.second);
  return places.ok() ? "" : places.error().message;
}

// Returns "0-3, 8" for 0, 1, 2, 3, 8.
std::string ranges(const std::vector<std::uint32_t>& places) {
  std::string text;
  for (std::size_t i = 0; i < places.size();) {
    std::size_t end = i + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1)
      ++end;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", places[i]);
    if (end > i + 1) text += fmt::format("-{}", places[end - 1]);
    i = end;
  }
  return text;
}

class GoalMerge final : public Command {
 public:
  explicit GoalMerge(App& app) {
    app.add_option("FILE", inputs_, "a job's schedule, binary or text; may be named again")
        ->required();
    app.add_option("-o,--output", output_, "the merged schedule to write")
        ->type_name("FILE")
        ->required();
    app.add_option("--place", placements_,
                   "the ranks that FILE's ranks 0, 1, ... go to, such as job.bin:0-3,8; once for "
                   "each job that is not to go behind all before it")
        ->type_name("FILE:RANKS")
        ->one_value_each()
        ->check(placement_problem);
    add_choice(app, "--write", form_, kForms, "the form of the merged schedule");
    app.add_flag("-q,--quiet", quiet_, "only warnings and errors");
  }

  [[nodiscard]] core::Status check() const override {
    std::vector<std::string> left;
    for (const fs::path& input : inputs_)
      left.push_back(input.string());
    for (const std::string& placement : placements_) {
      const std::string file = parts_of(placement).first;
      const auto found = std::find(left.begin(), left.end(), file);
      if (found == left.end()) {
        return core::Error{
            fmt::format("--place {}: '{}' is not among the files to merge, or placed already",
                        placement, file)};
      }
      left.erase(found);
    }
    return {};
  }

  core::Result<Outcome> run() override {
    ASSAY_TRY(refuse_to_replace(inputs_, output_));
    const goal::Merge merge = ASSAY_TRY(goal::Merge::plan(ASSAY_TRY(read_jobs())));
    const fs::path notes = model::notes_path(output_);
    const auto write = [&](model::RankSink& ranks) -> core::Status {
      ASSAY_TRY(merge.write(ranks));
      // The merged schedule must never lie beside the notes of another one.
      return core::remove_file(notes);
    };
    ASSAY_TRY(form_ == Form::kText
                  ? model::write_goal_text_file(output_, merge.num_ranks(), write)
                  : model::write_binary_schedule(output_, merge.num_ranks(), write));
    ASSAY_TRY(write_notes(merge, notes));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      tell(inputs_[i], merge.placed()[i]);
    return Outcome::kOk;
  }

 private:
  core::Result<std::vector<goal::MergeJob>> read_jobs() const {
    std::vector<std::string> placements = placements_;
    std::vector<goal::MergeJob> jobs;
    for (const fs::path& input : inputs_) {
      auto schedule = ASSAY_TRY(model::read_schedule(input));
      const auto notes = ASSAY_TRY(model::read_notes_beside(input));
      jobs.push_back({.name = input.string(), .schedule = std::move(schedule)});
      if (notes) take_notes(*notes, jobs.back());
      const auto mine =
          std::find_if(placements.begin(), placements.end(), [&](const std::string& placement) {
            return parts_of(placement).first == input.string();
          });
      if (mine == placements.end()) continue;
      jobs.back().places = ASSAY_TRY(goal::parse_places(parts_of(*mine).second));
      placements.erase(mine);
    }
    return jobs;
  }

  // Notes of a merge that knew no nodes have none.
  static void take_notes(const model::ScheduleNotes& notes, goal::MergeJob& job) {
    job.time_unit_ns = notes.time_unit_ns;
    job.made_for = notes.made_for;
    job.nic_gbps = notes.nic_gbps;
    for (const model::ScheduleRank& rank : notes.ranks) {
      if (!rank.node.empty()) job.nodes.push_back(rank.node);
    }
    const std::size_t ranks = job.schedule.ranks().size();
    if (job.nodes.empty() || job.nodes.size() == ranks) return;
    print_warning(fmt::format("{} has {}, but its notes have nodes of {}: they are not kept",
                              job.name, core::counted(ranks, "rank"), job.nodes.size()));
    job.nodes.clear();
  }

  // Writes notes that say on which nodes the ranks are, for which NICs algorithms were chosen, and
  // in which units the schedule counts time.
  static core::Status write_notes(const goal::Merge& merge, const fs::path& path) {
    const auto nodes = merge.nodes();
    if (!nodes.ok()) {
      print_warning(fmt::format("{}: the merged schedule does not say which ranks share a node",
                                nodes.error().message));
    }
    const auto nic_gbps = merge.nic_gbps();
    if (!nic_gbps.ok()) {
      print_warning(fmt::format("{}: the merged schedule names neither", nic_gbps.error().message));
    }
    const bool has_nodes = nodes.ok() && !nodes.value().empty();
    model::ScheduleNotes notes;
    if (nic_gbps.ok()) notes.nic_gbps = nic_gbps.value();
    if (!has_nodes && merge.time_unit_ns() == 1 && notes.nic_gbps == 0) return {};
    notes.generator = program_version();
    notes.source = "several schedules";
    notes.made_for = merge.made_for();
    notes.time_unit_ns = merge.time_unit_ns();
    notes.ranks.resize(merge.num_ranks());
    for (std::size_t rank = 0; has_nodes && rank < notes.ranks.size(); ++rank)
      notes.ranks[rank].node = fmt::format("node{}", nodes.value()[rank]);
    notes.spans.resize(merge.num_ranks());
    return model::write_notes(path, notes);
  }

  static std::string tags_told(const goal::PlacedJob& job) {
    if (!job.tags.empty()) {
      return fmt::format(", its {} numbered anew from {}", core::counted(job.tags.size(), "tag"),
                         job.tag_offset);
    }
    return job.tag_offset > 0 ? fmt::format(", {} added to its tags", job.tag_offset) : "";
  }

  void tell(const fs::path& input, const goal::PlacedJob& job) const {
    if (!quiet_) {
      print_note(
          fmt::format("{}: on ranks {}{}", input.string(), ranges(job.places), tags_told(job)));
    }
    if (job.ambiguous > 0) {
      print_warning(fmt::format(
          "{}: {} any tag on ranks that it shares with another job, and may get that "
          "one's messages",
          input.string(), core::counted(job.ambiguous, "receive takes", "receives take")));
    }
  }

  std::vector<fs::path> inputs_;
  fs::path output_;
  std::vector<std::string> placements_;
  Form form_ = Form::kBinary;
  bool quiet_ = false;
};

const CommandSpec kGoalMerge{
    .name = "goal merge",
    .summary = "put the schedules of several jobs into one, side by side or sharing ranks",
    .description =
        "The merged schedule has every operation of every job. Without --place the ranks of each "
        "FILE come behind those of the files before it, and the jobs share only the network. With "
        "--place FILE:RANKS the first rank of FILE goes to the first of RANKS, and so on; jobs may "
        "be placed on the same ranks. To place several copies of a job, name the file and its "
        "--place as often.\n\n"
        "Where jobs share a rank they run at the same time: each has cpus of its own there (those "
        "of a later job are counted on from the earlier ones'), a later job's tags are moved "
        "beyond the earlier ones', so that no message reaches another job, and the nics are "
        "common. Where that would take tags beyond the last one, those of jobs that share ranks "
        "are numbered anew, without gaps. All jobs start at time 0. Ranks that no job was placed "
        "on stay empty.\n\n"
        "Of the notes (NAME.notes.json) the nodes, the unit of time and the NICs for which NCCL's "
        "algorithms were chosen are kept; where two jobs were made for different NICs, a warning "
        "says so, and none is named. Ranks share a node where a job has them on one; jobs on "
        "different ranks have different nodes, and a rank whose jobs have no notes is a node of "
        "its own. Where jobs that share ranks contradict each other, a warning says so, and "
        "--topology or the network's file of 'assay simulate' has to tell. Jobs with different "
        "units, such as those for loggopsim and for assay, are not merged.",
    .examples =
        "assay goal merge llm.bin hpc.bin -o both.bin\n"
        "assay goal merge llm.bin hpc.bin --place hpc.bin:0-3,8-11 -o shared.bin\n"
        "assay goal merge a.goal a.goal --place a.goal:0,2 --place a.goal:1,3 -o two.goal "
        "--write text\n",
    .make = make_command<GoalMerge>,
};
ASSAY_REGISTER(CommandSpec, kGoalMerge);

}  // namespace
}  // namespace assay::cli
