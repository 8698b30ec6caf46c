#include "goal/generate.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "goal/proof.h"

namespace assay::goal {
namespace {

std::vector<model::ScheduleRank> ranks_of(const model::Job& job) {
  std::vector<model::ScheduleRank> ranks;
  for (const model::JobGpu& gpu : job.gpus) {
    ranks.push_back({gpu.node, gpu.process_id, gpu.device, gpu.clock});
  }
  return ranks;
}

model::ScheduleOperation describe(const Resolved& resolved,
                                  const Exchange& exchange,
                                  Parallelism parallelism,
                                  std::uint32_t label) {
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
      .num_channels = static_cast<std::uint32_t>(resolved.shapes[exchange.shape].cut.parts.size()),
      .label = label};
}

std::uint32_t num_ops(const model::RankImage& rank) {
  model::PackedIndex first;
  std::copy_n(rank.bytes.data(), sizeof(first), reinterpret_cast<char*>(&first));
  return first.value;
}

// One GPU's result; a batch of them is made at once.
struct Expanded {
  model::RankBuilder builder;
  model::RankImage image;
  std::vector<model::OperationSpan> spans;
  model::Warnings warnings;
};

core::Status expand_all(const Expander& expander,
                        std::size_t num_gpus,
                        unsigned threads,
                        Generated& generated,
                        model::RankSink& sink) {
  const unsigned wanted = threads > 0 ? threads : std::max(std::thread::hardware_concurrency(), 1U);
  std::vector<Expanded> batch(std::min<std::size_t>(wanted, num_gpus));
  for (std::size_t first = 0; first < num_gpus; first += batch.size()) {
    ASSAY_TRY(core::check_interrupt());
    const std::size_t count = std::min(batch.size(), num_gpus - first);
    core::parallel_for(count, wanted, [&](std::size_t i) {
      batch[i].spans = expander.expand(static_cast<std::uint32_t>(first + i), batch[i].builder,
                                       batch[i].warnings);
      batch[i].image = batch[i].builder.finish(std::move(batch[i].image));
    });
    for (std::size_t i = 0; i < count; ++i) {
      ASSAY_TRY(sink.append(batch[i].image));
      generated.num_ops += num_ops(batch[i].image);
      generated.notes.spans.push_back(std::move(batch[i].spans));
    }
  }
  for (const Expanded& expanded : batch)
    generated.warnings.merge(expanded.warnings);
  return {};
}

}  // namespace

core::Result<Generated> generate(const model::Job& job,
                                 const Costs& costs,
                                 const GenerateOptions& options,
                                 model::RankSink& sink) {
  const Resolved resolved = ASSAY_TRY(resolve(job, options.misfits));
  const std::vector<Parallelism> parallelism = find_parallelism(resolved);
  TagOptions tag_options = options.tags;
  tag_options.threads = options.threads;
  const TagPlan tags = ASSAY_TRY(plan_tags(resolved, parallelism, tag_options));

  Generated generated;
  generated.warnings = resolved.warnings;
  generated.notes.nccl_version = job.nccl_version;
  generated.notes.ranks = ranks_of(job);
  generated.notes.tags = tags.layout;
  for (std::size_t i = 0; i < resolved.exchanges.size(); ++i) {
    generated.notes.operations.push_back(
        describe(resolved, resolved.exchanges[i], parallelism[i], tags.labels[i]));
  }
  StreamPlan plan = plan_streams(resolved, options.streams, generated.warnings);
  const Expander expander(resolved, tags, costs, options.expand, std::move(plan));
  Proof proof(sink);
  ASSAY_TRY(expand_all(expander, job.gpus.size(), options.threads, generated, proof));
  ASSAY_TRY(proof.finish());
  generated.num_messages = proof.messages();
  return generated;
}

}  // namespace assay::goal
