// Builds a run of several ranks for tests, in a few lines and without trace files.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace::collectives::testing {

// One communication kernel. `collective` is empty when no metadata was recorded.
struct Call {
  double start_us = 0;
  double duration_us = 0;
  std::string collective = "allreduce";
  std::int64_t in_elements = 1024;
  std::int64_t out_elements = 1024;
  std::string dtype = "Float";
  std::string group = "0";
  std::string ranks = "[0, 1]";
  int group_size = 2;
  std::string in_split = "[]";
  std::uint32_t channels = 16;
  bool counted = true;
  std::string kernel = "ncclDevKernel_Generic";
  int stream = 7;
  int peer_rank = -1;
};

class TestRun {
 public:
  explicit TestRun(int rank_count, Compat compat = Compat::kNone, int devices_per_node = 8) {
    for (int r = 0; r < rank_count; ++r) {
      model::Trace& trace = traces_.emplace_back();
      trace.device_count = devices_per_node;
      RankAnalysis& rank = ranks_.emplace_back();
      rank.trace = &trace;
      rank.rank = r;
      rank.options.compat = compat;
    }
  }

  TestRun& add(int rank, const Call& call) {
    model::Trace& trace = traces_[static_cast<std::size_t>(rank)];
    RankAnalysis& analysis = ranks_[static_cast<std::size_t>(rank)];
    model::GpuEvent event;
    event.start_ns = std::llround(call.start_us * 1000);
    event.duration_ns = std::llround(call.duration_us * 1000);
    event.correlation = static_cast<std::int64_t>(trace.gpu_events.size());
    event.name = trace.texts.intern(call.kernel);
    event.stream = call.stream;
    event.grid = {call.channels, 1, 1};
    event.block = {512, 1, 1};
    if (!call.collective.empty()) {
      event.collective = static_cast<std::int32_t>(trace.collectives.size());
      trace.collectives.push_back(arguments(trace, call));
    }
    trace.gpu_events.push_back(event);
    analysis.gpu_intervals.emplace_back();
    analysis.gpu_work.push_back(GpuWork::kCommunication);
    analysis.counted.push_back(call.counted);
    return *this;
  }

  // Adds a call on each of the ranks, which starts `late_us` later on each further one and ends at
  // the same time on all.
  TestRun& add_to(const std::vector<int>& ranks, Call call, double late_us = 0) {
    for (const int rank : ranks) {
      add(rank, call);
      call.start_us += late_us;
      call.duration_us -= late_us;
    }
    return *this;
  }

  // Moves a rank's clock ahead.
  void shift_clock(int rank, double offset_us) {
    for (auto& event : traces_[static_cast<std::size_t>(rank)].gpu_events)
      event.start_ns += std::llround(offset_us * 1000);
  }

  struct Drift {
    double offset_us = 0;
    double drift_ppm = 0;
  };

  // Has a rank's clock ahead by an offset at time 0, and gain from then on.
  void drift_clock(int rank, const Drift& drift) {
    const auto told = [&drift](std::int64_t time_ns) {
      return time_ns + std::llround(drift.offset_us * 1000 +
                                    drift.drift_ppm * 1e-6 * static_cast<double>(time_ns));
    };
    for (auto& event : traces_[static_cast<std::size_t>(rank)].gpu_events) {
      const std::int64_t end_ns = told(event.start_ns + event.duration_ns);
      event.start_ns = told(event.start_ns);
      event.duration_ns = end_ns - event.start_ns;
    }
  }

  void use_device(int rank, int device) {
    for (auto& event : traces_[static_cast<std::size_t>(rank)].gpu_events)
      event.device = device;
  }

  // Returns the analyses. In compat mode their times are rounded as in the public tool.
  const std::vector<RankAnalysis>& ranks() {
    for (RankAnalysis& rank : ranks_) {
      rank.time = TimeScale(*rank.trace, rank.options.compat);
      for (std::size_t i = 0; i < rank.gpu_intervals.size(); ++i) {
        const model::GpuEvent& event = rank.trace->gpu_events[i];
        rank.gpu_intervals[i] = rank.time.interval(event.start_ns, event.duration_ns);
      }
    }
    return ranks_;
  }

 private:
  static model::CollectiveArgs arguments(model::Trace& trace, const Call& call) {
    model::CollectiveArgs args;
    args.name = trace.texts.intern(call.collective);
    args.dtype = trace.texts.intern(call.dtype);
    args.group_name = trace.texts.intern(call.group);
    args.group_ranks = trace.texts.intern(call.ranks);
    args.in_split = trace.texts.intern(call.in_split);
    args.out_split = trace.texts.intern("[]");
    args.in_elements = call.in_elements;
    args.out_elements = call.out_elements;
    args.group_size = call.group_size;
    args.peer_rank = call.peer_rank;
    return args;
  }

  std::deque<model::Trace> traces_;
  std::vector<RankAnalysis> ranks_;
};

}  // namespace assay::trace::collectives::testing
