#include "goal/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "goal/circles.h"
#include "goal/compat_v2/compat_v2.h"
#include "goal/job_file.h"
#include "goal/job_size.h"
#include "goal/label.h"
#include "goal/summary.h"

namespace assay::goal {
namespace {

using model::Table;

std::vector<model::ScheduleRank> ranks_of(const model::Job& job) {
  std::vector<model::ScheduleRank> ranks;
  for (const model::JobGpu& gpu : job.gpus) {
    ranks.push_back({gpu.node, gpu.process_id, gpu.device, gpu.clock});
  }
  return ranks;
}

model::ScheduleOperation describe_exchange(const Resolved& resolved,
                                           Parallelism parallelism,
                                           std::size_t i) {
  const Exchange& exchange = resolved.exchanges[i];
  const model::Operation& operation =
      resolved.job->gpus[exchange.gpu].operations[exchange.operation];
  const model::Communicator& communicator = resolved.job->communicators[exchange.communicator];
  const bool pair = exchange.function == model::NcclFunction::kSendRecv;
  return {
      .function = exchange.function,
      .algorithm = operation.algorithm,
      .protocol = operation.protocol,
      .parallelism = std::string(name_of(parallelism)),
      .communicator = communicator.name,
      .sequence = exchange.sequence,
      .bytes = operation.bytes,
      .num_ranks = pair ? 2 : static_cast<std::uint32_t>(communicator.gpus.size()),
      .num_channels = static_cast<std::uint32_t>(resolved.shapes[exchange.shape].cut.parts.size())};
}

model::ScheduleNotes make_notes(const Resolved& resolved, const TagPlan& tags) {
  model::ScheduleNotes notes = notes_of(resolved);
  notes.tags = tags.layout;
  for (std::size_t i = 0; i < notes.operations.size(); ++i)
    notes.operations[i].label = tags.labels[i];
  return notes;
}

core::Result<SchedulePlan> plan_v2(const model::Job& job, const GenerateRequest& request) {
  if (std::any_of(job.gpus.begin(), job.gpus.end(),
                  [](const model::JobGpu& gpu) { return gpu.states_waits; })) {
    return core::Error{
        "--compat v2: the public generator has no graph of jobs that state what operations wait "
        "for"};
  }
  CompatOptions options;
  options.streams = request.options.streams.streams;
  options.threads = request.options.threads;
  const std::string& layout = request.options.tags.layout;
  if (layout != "auto") {
    const TagWidths widths = ASSAY_TRY(read_tag_widths(layout));
    if (widths.unit != TagWidths::Unit::kDigits) {
      return core::Error{"the public generator's tags are decimal: --tag-layout decimal:4/5"};
    }
    options.number_digits = widths.id;
    options.name_digits = widths.label;
  }
  SchedulePlan plan = ASSAY_TRY(plan_compat_v2(job, request.costs, options));
  plan.notes.ranks = ranks_of(job);
  return plan;
}

Table schedule_table(const Generated& generated, const Costs& costs) {
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
  add("made for", generated.notes.made_for);
  add("ranks", fmt::format("{}", generated.notes.ranks.size()));
  add("operations of the graph", fmt::format("{}", generated.num_ops));
  if (generated.num_messages > 0) {
    add("messages, each with its receive", fmt::format("{}", generated.num_messages));
  }
  add("tags", layout);
  if (labelled) add("label", fmt::format("{}", fmt::join(tags.label_fields, ", ")));
  add("costs", costs.source);
  return table;
}

model::Book summarize(const GenerateRequest& request,
                      const model::Job& recorded,
                      const std::vector<NewChoice>& choices,
                      const Generated& generated) {
  model::Book book{.title = "Schedule of " + request.input.string()};
  book.tables.push_back(schedule_table(generated, request.costs));
  if (!choices.empty()) book.tables.push_back(choices_table(choices));
  for (Table& table : summarize_job(recorded).tables) {
    if (table.name != "warnings" && table.name != "gpus") book.tables.push_back(std::move(table));
  }
  return book;
}

core::Result<SchedulePlan> plan_for(const model::Job& job, const GenerateRequest& request) {
  if (request.compat == Compat::kV2) return plan_v2(job, request);
  GenerateOptions options = request.options;
  adapt(request.simulator, options.expand);
  SchedulePlan plan = ASSAY_TRY(plan_schedule(job, request.costs, options));
  plan.notes.made_for = name_of(request.simulator);
  plan.notes.time_unit_ns = options.expand.time_unit_ns;
  return plan;
}

}  // namespace

model::ScheduleNotes notes_of(const Resolved& resolved) {
  model::ScheduleNotes notes;
  notes.nccl_version = resolved.job->nccl_version;
  notes.ranks = ranks_of(*resolved.job);
  const std::vector<Parallelism> parallelism = find_parallelism(resolved);
  for (std::size_t i = 0; i < resolved.exchanges.size(); ++i)
    notes.operations.push_back(describe_exchange(resolved, parallelism[i], i));
  return notes;
}

core::Result<GenerateResult> generate(const GenerateRequest& request) {
  return generate_of(ASSAY_TRY(cut_window(ASSAY_TRY(read_job(request.input, request.input_options)),
                                          request.window)),
                     request);
}

namespace {

// Writes the job instead of a schedule: what is large in a schedule is made while it is simulated.
core::Result<GenerateResult> keep_job(const model::Job& recorded, const GenerateRequest& request) {
  if (request.compat == Compat::kV2 || request.simulator != Simulator::kAssay) {
    return core::Error{"a job is for 'assay simulate': not with --compat or --for"};
  }
  if (request.options.misfits == Misfits::kFail)
    static_cast<void>(ASSAY_TRY(resolve(recorded, Misfits::kFail)));
  ASSAY_TRY(core::make_directories(request.target.folder));
  const std::filesystem::path path = request.target.folder / "output.job.json";
  ASSAY_TRY(write_job_file(path, {.job = recorded,
                                  .scale = request.scale,
                                  .choices = request.choices,
                                  .streams = request.options.streams,
                                  .costs = request.costs}));
  GenerateResult result;
  result.summary = summarize_job(recorded);
  result.warnings = recorded.warnings;
  result.written = {path};
  result.next_command = command_for(request.simulator, path, 0);
  return result;
}

}  // namespace

namespace {

// Returns whether NCCL's model chose algorithms of the schedule: all of a made job, and those of
// communicators that grow with the replicas of a recording.
bool were_chosen(const model::Job& recorded, const GenerateRequest& request) {
  const bool is_made = std::any_of(recorded.gpus.begin(), recorded.gpus.end(),
                                   [](const model::JobGpu& gpu) { return gpu.states_waits; });
  return !request.choices.keep && (is_made || request.scale.replicas > 1);
}

// Error: the disk would be full before a large schedule is written. A small one shows soon whether
// it fits.
core::Status check_room_for(const model::Job& recorded, const GenerateRequest& request) {
  constexpr std::uint64_t kLargeBytes = 1'000'000'000;
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(request.target.folder, unknown);
  if (unknown) return {};
  const JobSize size = ASSAY_TRY(size_of(recorded, request.scale, request.choices, request.costs));
  if (binary_bytes(size.operations) < kLargeBytes) return {};
  const core::Status room = check_room(size, space.available);
  if (!room.ok())
    return room.error().context(fmt::format("cannot write '{}'", request.target.folder.string()));
  return {};
}

}  // namespace

GenerateResult result_of(const WrittenSchedule& written, Simulator simulator) {
  GenerateResult result;
  result.removed = written.removed;
  if (written.whole) {
    result.next_command =
        command_for(simulator, *written.whole, written.schedule.notes.ranks.size());
  }
  result.written = written.files;
  return result;
}

core::Result<GenerateResult> generate_of(const model::Job& recorded,
                                         const GenerateRequest& request) {
  if (request.target.format == ScheduleFormat::kJob) return keep_job(recorded, request);
  model::Job job = ASSAY_TRY(scale(recorded, request.scale));
  const std::vector<NewChoice> choices = choose_algorithms(recorded, request.choices, job);
  ASSAY_TRY(core::make_directories(request.target.folder));
  if (request.compat == Compat::kNone) ASSAY_TRY(check_room_for(recorded, request));
  SchedulePlan plan = ASSAY_TRY(plan_for(job, request));
  if (were_chosen(recorded, request)) plan.notes.nic_gbps = request.choices.nic_gbps;
  const WrittenSchedule written = ASSAY_TRY(write_schedule(plan, request.target, request.input));
  GenerateResult result = result_of(written, request.simulator);
  result.summary = summarize(request, recorded, choices, written.schedule);
  result.warnings = job.warnings;
  result.warnings.merge(written.schedule.warnings);
  return result;
}

core::Result<SchedulePlan> plan_schedule(const model::Job& job,
                                         const Costs& costs,
                                         const GenerateOptions& options) {
  // The expander refers to the exchanges and the tags; all of them live as long as the plan.
  struct Stages {
    Resolved resolved;
    TagPlan tags;
    std::unique_ptr<const Expander> expander;
  };

  const auto stages = std::make_shared<Stages>();
  stages->resolved = ASSAY_TRY(resolve(job, options.misfits));
  TagOptions tag_options = options.tags;
  tag_options.threads = options.threads;
  stages->tags = ASSAY_TRY(plan_tags(stages->resolved, tag_options));
  SchedulePlan plan;
  plan.notes = make_notes(stages->resolved, stages->tags);
  plan.warnings = stages->resolved.warnings;
  plan.num_ranks = static_cast<std::uint32_t>(job.gpus.size());
  plan.threads = options.threads;
  StreamPlan streams = plan_streams(stages->resolved, options.streams, plan.warnings);
  warn_of_circles(stages->resolved, streams, plan.warnings);
  stages->expander = std::make_unique<const Expander>(stages->resolved, stages->tags, costs,
                                                      options.expand, std::move(streams));
  plan.make_rank = [stages](std::uint32_t rank, RankWork& work) -> core::Status {
    work.spans = stages->expander->expand(rank, work.graph, work.warnings);
    return {};
  };
  return plan;
}

}  // namespace assay::goal
