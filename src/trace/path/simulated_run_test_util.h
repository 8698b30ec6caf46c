// Simulates the GPUs and hosts of a run for tests, kernel by kernel, with known dependences. Times
// are microseconds.
//
// A kernel starts when its stream is free, its host has launched it and what it waits for has
// ended. The hosts run ahead of the GPUs unless they are held up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace::path::testing {

// When a kernel or the slowest rank's part of a collective ends.
struct Done {
  std::vector<double> end_us;  // by rank
};

class SimulatedRun {
 public:
  static constexpr int kCompute = 7;
  static constexpr int kNetwork = 20;

  explicit SimulatedRun(int ranks) {
    for (int r = 0; r < ranks; ++r) {
      model::Trace& trace = traces_.emplace_back();
      trace.device_count = ranks;
      trace.world_size = ranks;
      trace.tracks = {{trace.texts.intern("host"), trace.texts.intern("1")}};
      hosts_us_.push_back(0);
      streams_us_.emplace_back();
      step_start_us_.push_back(0);
    }
  }

  [[nodiscard]] int rank_count() const { return static_cast<int>(traces_.size()); }

  void begin_step(std::int64_t number) {
    end_step();
    step_ = number;
    step_start_us_ = hosts_us_;
  }

  // Holds up the launches of a rank.
  void delay_host(int rank, double us) { hosts_us_[index(rank)] += us; }

  // Lets the host of a rank launch nothing before this time.
  void wait_on_host(int rank, double until_us) {
    hosts_us_[index(rank)] = std::max(hosts_us_[index(rank)], until_us);
  }

  // Runs a kernel on every rank; rank r takes us[r], or us[0] where there are fewer.
  Done kernel(const std::string& name,
              const std::vector<double>& us,
              int stream = kCompute,
              const std::vector<Done>& after = {}) {
    Done done;
    for (int r = 0; r < rank_count(); ++r)
      done.end_us.push_back(
          kernel_on(r, name, us[std::min(index(r), us.size() - 1)], stream, after));
    return done;
  }

  // Runs a kernel on one rank and returns when it ends.
  double kernel_on(int rank,
                   const std::string& name,
                   double us,
                   int stream = kCompute,
                   const std::vector<Done>& after = {}) {
    const double start_us = begin(rank, stream, after);
    add_gpu_event(rank, name, stream, start_us, us);
    return start_us + us;
  }

  struct Message {
    std::string name = "allreduce";
    std::int64_t elements = 1 << 20;
    std::uint32_t channels = 16;
    int absent_ranks = 0;     // of its group, without a trace
    bool is_recorded = true;  // else its kernel's name alone is, as in a replayed graph
  };

  // Runs a collective, which all ranks leave `us` after the last one has arrived.
  Done collective(const Message& message,
                  double us,
                  int stream = kNetwork,
                  const std::vector<Done>& after = {}) {
    std::vector<double> starts_us;
    for (int r = 0; r < rank_count(); ++r)
      starts_us.push_back(begin(r, stream, after));
    const double end_us = *std::max_element(starts_us.begin(), starts_us.end()) + us;
    for (int r = 0; r < rank_count(); ++r) {
      const double start_us = starts_us[index(r)];
      model::GpuEvent& event =
          add_gpu_event(r, "ncclDevKernel_" + message.name, stream, start_us, end_us - start_us);
      event.grid = {message.channels, 1, 1};
      if (message.is_recorded) event.collective = add_arguments(r, message);
    }
    return {std::vector<double>(starts_us.size(), end_us)};
  }

  // Runs a kernel of communication on every rank, which waits for no other.
  void kernel_with_message(const std::string& kernel, const Message& message, double us) {
    for (int r = 0; r < rank_count(); ++r) {
      const double start_us = begin(r, kCompute, {});
      add_gpu_event(r, kernel, kCompute, start_us, us).collective = add_arguments(r, message);
    }
  }

  // Sends what a rank has computed so far to another one, which goes on computing when it has all.
  // That takes `us`, from when both have begun; a message that buffers hold lets the sender go on
  // at once.
  void message(int from, int to, double us, bool is_buffered) {
    Done computed;
    for (auto& streams : streams_us_)
      computed.end_us.push_back(streams[kCompute]);
    const double sent_us = begin(from, kNetwork, {computed});
    const double received_us = begin(to, kCompute, {});
    const double end_us = std::max(sent_us, received_us) + us;
    add_end_of_message(from, "send", to, kNetwork, sent_us, is_buffered ? sent_us + us : end_us);
    add_end_of_message(to, "recv", from, kCompute, received_us, end_us);
  }

  // Records that what a rank launches next on `stream` waits for what it has launched on `other`.
  void record_wait(int rank, int stream, int other) {
    const std::int64_t record = add_call(rank, "cudaEventRecord");
    const std::int64_t wait = add_call(rank, "cudaStreamWaitEvent");
    traces_[index(rank)].stream_waits.push_back({.correlation = wait,
                                                 .record_correlation = record,
                                                 .stream = stream,
                                                 .other_stream = other});
  }

  // Makes traces that do not tell how many ranks the job has.
  void leave_out_world_size() {
    for (model::Trace& trace : traces_)
      trace.world_size.reset();
  }

  // Moves a rank's clock ahead, all that it recorded.
  void shift_clock(int rank, double us) { shifts_ns_[rank] = std::llround(us * 1000); }

  // Has a rank's clock gain from time 0 on.
  void drift_clock(int rank, double ppm) { drifts_ppm_[rank] = ppm; }

  // Sets a rank's clock ahead by `us` at some time.
  void jump_clock(int rank, double from_us, double us) { jumps_[rank] = {ns(from_us), ns(us)}; }

  // Returns the analyses as of traces that do not name the other ends of messages.
  const std::vector<RankAnalysis>& ranks_without_peers() {
    for (model::Trace& trace : traces_)
      for (model::CollectiveArgs& args : trace.collectives)
        args.peer_rank = -1;
    return ranks();
  }

  // Returns the analyses. Nothing may be added after it.
  const std::vector<RankAnalysis>& ranks() {
    end_step();
    for (int r = 0; r < rank_count(); ++r) {
      drift(traces_[index(r)], drifts_ppm_[r]);
      jump(traces_[index(r)], jumps_[r]);
      shift(traces_[index(r)], shifts_ns_[r]);
      analyses_.push_back(analyze_rank(traces_[index(r)], {}, r));
    }
    return analyses_;
  }

 private:
  static constexpr std::int64_t kFirstOtherCall = 1'000'000;
  static constexpr double kLaunchUs = 2;   // the host takes for a launch
  static constexpr double kReachesUs = 4;  // from the launch to the GPU

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  static std::int64_t ns(double us) { return std::llround(us * 1000); }

  // Launches a kernel and returns when it starts.
  double begin(int rank, int stream, const std::vector<Done>& after) {
    model::Trace& trace = traces_[index(rank)];
    double& host_us = hosts_us_[index(rank)];
    model::RuntimeCall call;
    call.start_ns = ns(host_us);
    call.duration_ns = ns(kLaunchUs);
    call.correlation = static_cast<std::int64_t>(trace.gpu_events.size());
    call.name = trace.texts.intern("cudaLaunchKernel");
    trace.runtime_calls.push_back(call);
    double start_us = std::max(host_us + kReachesUs, streams_us_[index(rank)][stream]);
    for (const Done& done : after)
      start_us = std::max(start_us, done.end_us[index(rank)]);
    host_us += kLaunchUs;
    return start_us;
  }

  std::int64_t add_call(int rank, const char* name) {
    model::RuntimeCall call;
    call.start_ns = ns(hosts_us_[index(rank)]);
    call.duration_ns = ns(kLaunchUs);
    call.correlation =
        kFirstOtherCall + static_cast<std::int64_t>(traces_[index(rank)].runtime_calls.size());
    call.name = traces_[index(rank)].texts.intern(name);
    traces_[index(rank)].runtime_calls.push_back(call);
    hosts_us_[index(rank)] += kLaunchUs;
    return call.correlation;
  }

  model::GpuEvent& add_gpu_event(
      int rank, const std::string& name, int stream, double start_us, double us) {
    model::Trace& trace = traces_[index(rank)];
    model::GpuEvent event;
    event.start_ns = ns(start_us);
    event.duration_ns = ns(start_us + us) - event.start_ns;
    event.correlation = static_cast<std::int64_t>(trace.gpu_events.size());
    event.name = trace.texts.intern(name);
    event.device = rank;
    event.stream = stream;
    event.grid = {128, 1, 1};
    event.block = {512, 1, 1};
    trace.gpu_events.push_back(event);
    streams_us_[index(rank)][stream] = start_us + us;
    return trace.gpu_events.back();
  }

  void add_end_of_message(
      int rank, const char* name, int peer_rank, int stream, double start_us, double end_us) {
    model::GpuEvent& event =
        add_gpu_event(rank, "ncclDevKernel_SendRecv", stream, start_us, end_us - start_us);
    event.grid = {2, 1, 1};
    event.collective = add_arguments(rank, {.name = name});
    traces_[index(rank)].collectives.back().peer_rank = peer_rank;
  }

  std::int32_t add_arguments(int rank, const Message& message) {
    model::Trace& trace = traces_[index(rank)];
    model::CollectiveArgs args;
    args.name = trace.texts.intern(message.name);
    args.dtype = trace.texts.intern("BFloat16");
    args.group_name = trace.texts.intern("0");
    args.group_size = rank_count() + message.absent_ranks;
    args.in_elements = args.out_elements = message.elements;
    trace.collectives.push_back(args);
    return static_cast<std::int32_t>(trace.collectives.size() - 1);
  }

  void end_step() {
    if (step_ < 0) return;
    for (int r = 0; r < rank_count(); ++r) {
      model::Trace& trace = traces_[index(r)];
      model::Annotation step;
      step.start_ns = ns(step_start_us_[index(r)]);
      step.duration_ns = ns(hosts_us_[index(r)]) - step.start_ns;
      step.name = trace.texts.intern("ProfilerStep#" + std::to_string(step_));
      trace.annotations.push_back(step);
    }
    step_ = -1;
  }

  struct Jump {
    std::int64_t from_ns = 0;
    std::int64_t by_ns = 0;
  };

  static void drift(model::Trace& trace, double ppm) {
    const auto told = [ppm](std::int64_t time_ns) {
      return time_ns + std::llround(ppm * 1e-6 * static_cast<double>(time_ns));
    };
    const auto move = [&told](auto& one) {
      const std::int64_t end_ns = told(one.start_ns + one.duration_ns);
      one.start_ns = told(one.start_ns);
      one.duration_ns = end_ns - one.start_ns;
    };
    std::for_each(trace.gpu_events.begin(), trace.gpu_events.end(), move);
    std::for_each(trace.runtime_calls.begin(), trace.runtime_calls.end(), move);
    std::for_each(trace.annotations.begin(), trace.annotations.end(), move);
  }

  static void jump(model::Trace& trace, const Jump& jump) {
    const auto told = [&jump](std::int64_t time_ns) {
      return time_ns < jump.from_ns ? time_ns : time_ns + jump.by_ns;
    };
    for (auto& event : trace.gpu_events)
      event.start_ns = told(event.start_ns);
    for (auto& call : trace.runtime_calls)
      call.start_ns = told(call.start_ns);
    for (auto& annotation : trace.annotations) {
      const std::int64_t end_ns = told(annotation.start_ns + annotation.duration_ns);
      annotation.start_ns = told(annotation.start_ns);
      annotation.duration_ns = end_ns - annotation.start_ns;
    }
  }

  static void shift(model::Trace& trace, std::int64_t shift_ns) {
    for (auto& event : trace.gpu_events)
      event.start_ns += shift_ns;
    for (auto& call : trace.runtime_calls)
      call.start_ns += shift_ns;
    for (auto& annotation : trace.annotations)
      annotation.start_ns += shift_ns;
  }

  std::deque<model::Trace> traces_;
  std::vector<double> hosts_us_;                   // by rank: when the host is free
  std::vector<std::map<int, double>> streams_us_;  // by rank and stream: when it is free
  std::vector<double> step_start_us_;
  std::map<int, std::int64_t> shifts_ns_;
  std::map<int, Jump> jumps_;
  std::map<int, double> drifts_ppm_;
  std::int64_t step_ = -1;
  std::vector<RankAnalysis> analyses_;
};

}  // namespace assay::trace::path::testing
