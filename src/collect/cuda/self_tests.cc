#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "collect/cuda/command.h"
#include "collect/cuda/device.h"
#include "collect/cuda/self_test_shapes.h"
#include "collect/cuda/work.h"
#include "core/statistics.h"

namespace assay::collect {
namespace {

struct Tally {
  int right = 0;
  int wrong = 0;
  int failed = 0;
  int unsupported = 0;
};

struct Outcome {
  Accuracy eager;
  Accuracy graph;
  double time_us = 0;
  double eager_us = 0;
  std::string kernel_source;
  std::int64_t copies = 1;
};

core::Result<double> median_us(Device& device, Work& work, model::Launch launch) {
  const auto probe = ASSAY_TRY(device.stopwatch(work, {.launch = launch}));
  const double once_ms = core::minimum(ASSAY_TRY(probe->sample(3)));
  const auto launches = std::clamp<std::int64_t>(static_cast<std::int64_t>(0.5 / once_ms), 1, 512);
  const auto watch =
      ASSAY_TRY(device.stopwatch(work, {.launch = launch, .launches_per_sample = launches}));
  return core::median(ASSAY_TRY(watch->sample(10))) * 1e3;
}

// The output of a graph is checked, too, because a graph may keep arguments that were only right
// when it was captured.
core::Result<Accuracy> check_graph(Device& device, CudaWork& work) {
  ASSAY_TRY(work.spoil());
  const auto watch = ASSAY_TRY(device.stopwatch(work, {}));
  ASSAY_TRY(work.spoil());
  ASSAY_TRY(watch->sample(1));
  return work.compare();
}

core::Result<Outcome> try_work(Device& device, CudaWork& work) {
  Outcome outcome;
  outcome.kernel_source = work.kernel_source();
  outcome.copies = work.copies();
  outcome.eager = ASSAY_TRY(work.check());
  outcome.graph = ASSAY_TRY(check_graph(device, work));
  outcome.time_us = ASSAY_TRY(median_us(device, work, model::Launch::kGraph));
  outcome.eager_us = ASSAY_TRY(median_us(device, work, model::Launch::kEager));
  return outcome;
}

void print_outcome(const SelfTestShape& shape,
                   const Outcome& outcome,
                   double setup_ms,
                   Tally& tally) {
  const Accuracy both = worse(outcome.eager, outcome.graph);
  const bool right = both.worst <= 1 && both.compared > 0;
  ++(right ? tally.right : tally.wrong);
  const double bandwidth_gbps = shape.bytes / (outcome.time_us * 1e3);
  const double teraflops = shape.flops / (outcome.time_us * 1e6);
  fmt::print(
      "{} {:<58} {:<22} worst {:8.3f} of {:4}  {:10.2f} us (eager {:10.2f})  {:7.0f} GB/s "
      "{:6.1f} TFLOP/s  copies {:3} setup {:6.2f} ms\n",
      right ? "ok   " : "WRONG", shape.name, outcome.kernel_source, both.worst, both.compared,
      outcome.time_us, outcome.eager_us, bandwidth_gbps, teraflops, outcome.copies, setup_ms);
  if (right) return;
  fmt::print("      launched: {:.3f}, {}\n      as a graph: {:.3f}, {}\n", outcome.eager.worst,
             outcome.eager.where, outcome.graph.worst, outcome.graph.where);
}

void print_error(const SelfTestShape& shape, const core::Error& error, Tally& tally) {
  ++tally.failed;
  fmt::print("ERROR {:<58} {}\n", shape.name, error.message);
}

void try_shape(Device& device, const SelfTestShape& shape, Tally& tally) {
  const auto begin = std::chrono::steady_clock::now();
  const auto made = device.make(shape.spec, shape.l2);
  const std::chrono::duration<double, std::milli> setup = std::chrono::steady_clock::now() - begin;
  if (!made.ok()) return print_error(shape, made.error(), tally);
  if (const auto* unsupported = std::get_if<Unsupported>(&made.value())) {
    ++tally.unsupported;
    fmt::print("none  {:<58} {}\n", shape.name, unsupported->reason);
    return;
  }
  auto& work = static_cast<CudaWork&>(*std::get<std::unique_ptr<Work>>(made.value()));
  const auto outcome = try_work(device, work);
  if (!outcome.ok()) return print_error(shape, outcome.error(), tally);
  print_outcome(shape, outcome.value(), setup.count(), tally);
}

}  // namespace

int run_self_test(const std::vector<int>& gpus) {
  const auto device = CudaDevice::open(gpus);
  if (!device.ok()) {
    fmt::print(stderr, "assay-worker collect: {}\n", device.error().message);
    return 1;
  }
  const DeviceFacts& facts = device.value()->facts();
  fmt::print("{} sm {} L2 {} MiB free {} MiB\n", facts.name, facts.sm_version, facts.l2_bytes >> 20,
             facts.memory_bytes >> 20);
  for (const auto& [name, value] : facts.more)
    fmt::print("{}: {}\n", name, value);
  if (const auto clock = device.value()->clock(); clock.ok() && clock.value()) {
    fmt::print("SM clock: {:.0f} MHz\n", clock.value()->now_mhz);
  }
  Tally tally;
  for (const SelfTestShape& shape : self_test_shapes()) {
    try_shape(*device.value(), shape, tally);
    std::fflush(stdout);
    if (!device.value()->is_lost()) continue;
    fmt::print("the GPU is lost to this process; the shapes that remain were not tried\n");
    ++tally.failed;
    break;
  }
  fmt::print("{} right, {} wrong, {} failed, {} not supported\n", tally.right, tally.wrong,
             tally.failed, tally.unsupported);
  return tally.wrong + tally.failed > 0 || tally.right == 0 ? 1 : 0;
}

}  // namespace assay::collect
