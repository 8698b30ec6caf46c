#include "goal/expand.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/counted.h"
#include "goal/reshape_job.h"
#include "model/launch_schedule.h"

namespace assay::goal {
namespace {

constexpr std::size_t kMostSlots = 8;

}  // namespace

std::uint64_t in_units(double duration_ns, const ExpandOptions& options) {
  return static_cast<std::uint64_t>(std::llround(duration_ns / options.time_unit_ns));
}

std::uint8_t MessageForm::nic() const {
  const bool apart = in_node_ && options_.intra_node == IntraNode::kMessages;
  return apart ? model::kNodeNic : model::kNetworkNic;
}

Expander::Expander(const Resolved& resolved,
                   const TagPlan& tags,
                   const Costs& costs,
                   const ExpandOptions& options,
                   StreamPlan plan)
    : resolved_(resolved),
      tags_(tags),
      costs_(costs),
      options_(options),
      plan_(std::move(plan)),
      clock_start_ns_(clock_starts(*resolved.job)) {}

class Expander::OneGpu {
 public:
  OneGpu(const Expander& all,
         std::uint32_t gpu,
         model::RankBuilder& builder,
         model::Warnings& warnings)
      : all_(all),
        resolved_(all.resolved_),
        options_(all.options_),
        gpu_(gpu),
        builder_(builder),
        warnings_(warnings),
        book_(resolved_, gpu, all.tags_) {}

  std::vector<model::OperationSpan> run() {
    const std::int64_t start_ns = all_.clock_start_ns_[job_gpu().clock];
    const GpuTimeline timeline = make_timeline(resolved_, gpu_, all_.plan_, start_ns, warnings_);
    // The CPU of the GPU's link comes after those of the channels.
    num_cpus_ = one_cpu() ? 1 : std::clamp(timeline.num_cpus, 1U, model::kMostCpu);
    if (timeline.num_cpus > num_cpus_ && !one_cpu()) {
      warnings_.add("more channels of streams than a schedule has CPUs",
                    "shared " + core::counted(num_cpus_, "CPU"),
                    fmt::format("rank {}: {}", gpu_, timeline.num_cpus));
    }
    std::vector<std::uint32_t> done;  // by launch
    for (const TimedLaunch& launch : timeline.launches)
      done.push_back(expand_launch(launch, done));
    if (timeline.tail_ns > 0 && !done.empty()) {
      const std::uint32_t tail = calc(static_cast<double>(timeline.tail_ns), {});
      for (const std::uint32_t last : timeline.last)
        builder_.require_finish(tail, done[last]);
    }
    return std::move(spans_);
  }

 private:
  struct Lane {
    std::uint32_t last = 0;  // the work that was added last
    std::uint32_t slices = 0;
    std::uint32_t received = 0;
    std::array<std::uint32_t, kMostSlots> buffers = {};
  };

  const model::JobGpu& job_gpu() const { return resolved_.job->gpus[gpu_]; }

  bool one_cpu() const { return options_.cpus == CpuUse::kOne; }

  std::uint32_t calc(double duration_ns, const model::Place& place) {
    return builder_.calc(in_units(duration_ns, options_), place);
  }

  // Returns how many channels work at once in a launch: operations of a group may share one.
  double channels_of(const TimedLaunch& timed) const {
    std::set<unsigned> cpus;
    for (std::uint32_t i = 0; i < timed.launch.num_calls; ++i) {
      const Call& call = resolved_.gpus[gpu_].calls[timed.launch.first_call + i];
      const Part part = part_of(resolved_, gpu_, call);
      for (const model::ChannelPart& channel : part.shape->cut.parts)
        cpus.insert(timed.cpus.of(part.operation->function, channel.channel));
    }
    return static_cast<double>(std::max<std::size_t>(cpus.size(), 1));
  }

  std::uint8_t cpu(std::uint32_t index) const {
    return static_cast<std::uint8_t>(index % num_cpus_);
  }

  // Returns the operation that ends the launch.
  std::uint32_t expand_launch(const TimedLaunch& timed, const std::vector<std::uint32_t>& done) {
    message_cpu_ = cpu(timed.message_cpu);
    const model::Place place{cpu(timed.cpus.first), 0};
    const std::uint64_t launch = launch_ns(resolved_, gpu_, timed.launch, all_.costs_);
    const std::uint32_t start = calc(static_cast<double>(timed.gap_ns + launch), place);
    for (const std::uint32_t before : timed.after)
      builder_.require_finish(start, done[before]);
    ends_.clear();
    sharers_ = one_cpu() ? channels_of(timed) : 1;
    for (std::uint32_t i = 0; i < timed.launch.num_calls; ++i) {
      expand_call(timed.launch.first_call + i, timed.cpus, start);
    }
    if (ends_.empty()) return start;
    const std::uint32_t end = builder_.calc(0, place);
    for (const std::uint32_t last : ends_)
      builder_.require_finish(end, last);
    return end;
  }

  void expand_call(std::uint32_t index, const ChannelCpus& cpus, std::uint32_t join) {
    const Call& call = resolved_.gpus[gpu_].calls[index];
    part_ = part_of(resolved_, gpu_, call);
    entries_ = &book_.entries(index);
    const std::uint32_t first_op = builder_.size();
    for (const model::ChannelPart& channel : part_.shape->cut.parts) {
      lower_channel(part_, channel, primitives_);
      expand_channel(cpu(cpus.of(part_.operation->function, channel.channel)), join);
    }
    // The times of a job that states what operations wait for are no measurements.
    const bool is_measured = !job_gpu().states_waits;
    spans_.push_back({call.exchange, first_op, builder_.size() - first_op,
                      is_measured ? part_.operation->start_ns : 0,
                      is_measured ? part_.operation->end_ns : 0});
  }

  void expand_channel(std::uint8_t channel_cpu, std::uint32_t join) {
    std::array<Lane, kMostLanes> lanes;
    std::array<std::size_t, kMostLanes> last_sends = {};
    for (Lane& lane : lanes)
      lane.last = join;
    for (const Step& step : primitives_.steps()) {
      Lane& lane = lanes[step.lane];
      bool first = true;
      for_each_slice(part_, step, [&](std::uint64_t count) {
        expand_slice({step, count, std::exchange(first, false)}, lane, join, channel_cpu);
        last_sends[step.lane] = step.num_to;
      });
    }
    for (std::size_t i = 0; i < kMostLanes; ++i) {
      if (lanes[i].slices == 0) continue;
      // The last sends of the lane were added right after its last work.
      for (std::uint32_t k = 0; k <= last_sends[i]; ++k)
        ends_.push_back(lanes[i].last + k);
    }
  }

  struct Slice {
    const Step& step;
    std::uint64_t count;
    bool first;  // of the step
  };

  std::uint64_t work_ns(const Slice& slice, std::uint64_t bytes, std::uint64_t draw) const {
    const model::NcclProtocol protocol = part_.shape->protocol;
    if (slice.step.is_free) return 0;
    if (slice.first) return all_.costs_.duration_ns(protocol, slice.step, bytes, draw);
    return all_.costs_.following_ns(protocol, slice.step, part_.shape->cut.slices_wait, bytes,
                                    draw);
  }

  void expand_slice(const Slice& slice, Lane& lane, std::uint32_t join, std::uint8_t channel_cpu) {
    const Step& step = slice.step;
    const std::uint64_t bytes = slice.count * part_.shape->cut.element_bytes;
    const std::uint64_t wire = wire_bytes(part_.shape->protocol, bytes);
    const std::uint32_t slots = std::min<std::uint32_t>(part_.shape->cut.slots, kMostSlots);
    const std::uint32_t free = lane.received < slots ? join : lane.buffers[lane.received % slots];
    std::array<std::uint32_t, kMostPeers> arrived = {};
    for (std::uint8_t i = 0; i < step.num_from; ++i) {
      arrived[i] = receive(step.from[i], wire, free);
    }
    const std::uint64_t draw = std::uint64_t{gpu_} << 32 | builder_.size();
    const std::uint32_t work =
        calc(static_cast<double>(work_ns(slice, bytes, draw)) / sharers_, {channel_cpu, 0});
    builder_.require_finish(work, lane.last);
    for (std::uint8_t i = 0; i < step.num_from; ++i)
      builder_.require_finish(work, arrived[i]);
    for (std::uint8_t i = 0; i < step.num_to; ++i)
      send(step.to[i], wire, work);
    if (step.num_from > 0) lane.buffers[lane.received++ % slots] = work;
    lane.last = work;
    ++lane.slices;
  }

  TagBook::Entry& entry(std::uint32_t peer) const {
    for (TagBook::Entry& entry : *entries_) {
      if (entry.peer == peer) return entry;
    }
    ASSAY_CHECK(false, "a message to a peer that was not counted");
  }

  bool in_node(std::uint32_t peer) const {
    return resolved_.job->gpus[peer].node == job_gpu().node;
  }

  MessageForm form(std::uint32_t peer) const { return {options_, in_node(peer)}; }

  std::uint32_t receive(std::int32_t from, std::uint64_t wire, std::uint32_t after) {
    const std::uint32_t peer = part_.gpu(from);
    const std::uint32_t tag = all_.tags_.tag(part_.exchange, entry(peer).next_receive++);
    const MessageForm message = form(peer);
    const std::uint32_t op =
        builder_.receive(message.bytes(wire), peer, tag, {message_cpu_, message.nic()});
    builder_.require_finish(op, after);
    if (!message.as_calc()) return op;
    const auto link_cpu = static_cast<std::uint8_t>(one_cpu() ? 0 : num_cpus_);
    const std::uint32_t transfer = calc(message.transfer_ns(wire), {link_cpu, 0});
    builder_.require_finish(transfer, op);
    return transfer;
  }

  void send(std::int32_t to, std::uint64_t wire, std::uint32_t after) {
    const std::uint32_t peer = part_.gpu(to);
    const std::uint32_t tag = all_.tags_.tag(part_.exchange, entry(peer).next_send++);
    const MessageForm message = form(peer);
    const std::uint32_t op =
        builder_.send(message.bytes(wire), peer, tag, {message_cpu_, message.nic()});
    builder_.require_finish(op, after);
  }

  const Expander& all_;
  const Resolved& resolved_;
  const ExpandOptions& options_;
  std::uint32_t gpu_;
  model::RankBuilder& builder_;
  model::Warnings& warnings_;
  TagBook book_;
  unsigned num_cpus_ = 1;
  std::uint8_t message_cpu_ = 0;
  double sharers_ = 1;  // channels among which the CPU's time is divided
  Primitives primitives_;
  Part part_;
  std::vector<TagBook::Entry>* entries_ = nullptr;
  std::vector<std::uint32_t> ends_;
  std::vector<model::OperationSpan> spans_;
};

std::vector<model::OperationSpan> Expander::expand(std::uint32_t gpu,
                                                   model::RankBuilder& builder,
                                                   model::Warnings& warnings) const {
  return OneGpu(*this, gpu, builder, warnings).run();
}

}  // namespace assay::goal
