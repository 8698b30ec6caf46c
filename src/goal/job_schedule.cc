#include "goal/job_schedule.h"

#include <fmt/core.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "goal/generate.h"
#include "goal/job_size.h"
#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

// A schedule of so many takes some 4 GB with its simulation.
constexpr std::uint64_t kMostWholeOperations = 40'000'000;
constexpr double kSimulatedOperationBytes = 100;

// Keeps the ranks.
class MemorySink final : public model::RankSink {
 public:
  core::Status append(const model::RankImage& rank) override {
    images_.push_back(rank);
    return {};
  }

  [[nodiscard]] const std::vector<model::RankImage>& images() const { return images_; }

 private:
  std::vector<model::RankImage> images_;
};

}  // namespace

core::Status check_whole_graph(const JobFile& file) {
  const std::uint64_t operations = ASSAY_TRY(size_of(file)).operations;
  if (operations <= kMostWholeOperations) return {};
  const auto count = static_cast<double>(operations);
  return core::Error{fmt::format(
      "the job has about {} operations; a network that contends needs the whole graph, of which a "
      "study takes up to {}: take fewer replicas or steps, or write the schedule with 'assay goal "
      "generate --write bin' (some {:.3g} GB) and simulate that (some {:.3g} GB of memory)",
      operations, kMostWholeOperations, static_cast<double>(binary_bytes(operations)) / 1e9,
      count * kSimulatedOperationBytes / 1e9)};
}

core::Result<JobSchedule> make_job_schedule(const JobFile& file) {
  ASSAY_TRY(check_whole_graph(file));
  model::Job job = ASSAY_TRY(scale(file.job, file.scale));
  choose_algorithms(file.job, file.choices, job);
  GenerateOptions options;
  options.streams = file.streams;
  options.threads = 1;
  const SchedulePlan plan = ASSAY_TRY(plan_schedule(job, file.costs, options));
  MemorySink sink;
  Generated made = ASSAY_TRY(make_ranks(plan, sink));
  return JobSchedule{.schedule = ASSAY_TRY(model::Schedule::from_bytes(
                         model::binary_schedule(sink.images()), "the job's schedule")),
                     .notes = std::move(made.notes),
                     .warnings = std::move(made.warnings)};
}

}  // namespace assay::goal
