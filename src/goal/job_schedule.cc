#include "goal/job_schedule.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>
#include <vector>

#include "goal/generate.h"
#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

// Keeps the ranks.
class MemorySink final : public model::RankSink {
 public:
  explicit MemorySink(std::uint64_t most_operations) : most_operations_(most_operations) {}

  core::Status append(const model::RankImage& rank) override {
    std::uint32_t count = 0;  // the first field of a rank
    std::memcpy(&count, rank.bytes.data(), sizeof(count));
    operations_ += count;
    if (operations_ > most_operations_) {
      return core::Error{fmt::format(
          "the job has more than {} operations, of which a network that contends needs "
          "the whole graph: take fewer replicas, or write the schedule with 'assay goal "
          "generate --write bin'",
          most_operations_)};
    }
    images_.push_back(rank);
    return {};
  }

  [[nodiscard]] const std::vector<model::RankImage>& images() const { return images_; }

 private:
  std::uint64_t most_operations_;
  std::uint64_t operations_ = 0;
  std::vector<model::RankImage> images_;
};

}  // namespace

core::Result<JobSchedule> make_job_schedule(const JobFile& file, std::uint64_t most_operations) {
  model::Job job = ASSAY_TRY(scale(file.job, file.scale));
  choose_algorithms(file.job, file.choices, job);
  GenerateOptions options;
  options.streams = file.streams;
  options.threads = 1;
  const SchedulePlan plan = ASSAY_TRY(plan_schedule(job, file.costs, options));
  MemorySink sink(most_operations);
  Generated made = ASSAY_TRY(make_ranks(plan, sink));
  return JobSchedule{.schedule = ASSAY_TRY(model::Schedule::from_bytes(
                         model::binary_schedule(sink.images()), "the job's schedule")),
                     .notes = std::move(made.notes),
                     .warnings = std::move(made.warnings)};
}

}  // namespace assay::goal
