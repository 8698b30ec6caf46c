#include "collect/worker/run_case.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "collect/worker/energy_meter.h"
#include "collect/worker/measure.h"
#include "collect/worker/protocol.h"
#include "core/statistics.h"
#include "gpu/devices.h"

namespace assay::collect {
namespace {

using Clock = std::chrono::steady_clock;

// Between launches for the power, the device waits for the host after each batch.
constexpr double kPowerBatchMs = 50;
// A counter that has not moved by then does not move.
constexpr double kPowerPatienceSeconds = 1;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The outcome of a case.
using Stop = std::variant<CaseDone, CaseSkipped, CaseError>;

template <class T>
using Step = std::variant<T, Stop>;

struct Timed {
  model::Timing timing;
  model::Conditions conditions;
  std::string kernel_source;
  std::vector<OtherKernel> others;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
};

model::Timing timing_of(const std::vector<double>& samples_ms) {
  const core::Interval interval = core::median_interval(samples_ms, core::kMedianTail);
  model::Timing timing;
  timing.median_ms = core::median(samples_ms);
  timing.mean_ms = core::mean(samples_ms);
  timing.p10_ms = core::quantile(samples_ms, 0.1);
  timing.p90_ms = core::quantile(samples_ms, 0.9);
  timing.low_ms = interval.low;
  timing.high_ms = interval.high;
  timing.samples_ms = samples_ms;
  return timing;
}

// The timing of several works one after the other, each measured by itself. Its samples are the
// sums of as many samples as all have; the ends of the interval are sums, too, which is wider than
// the interval of the sum.
void add_timing(model::Timing& sum, const model::Timing& one) {
  sum.median_ms += one.median_ms;
  sum.mean_ms += one.mean_ms;
  sum.p10_ms += one.p10_ms;
  sum.p90_ms += one.p90_ms;
  sum.low_ms += one.low_ms;
  sum.high_ms += one.high_ms;
  sum.samples_ms.resize(std::min(sum.samples_ms.size(), one.samples_ms.size()));
  for (std::size_t i = 0; i < sum.samples_ms.size(); ++i)
    sum.samples_ms[i] += one.samples_ms[i];
  if (one.launch == model::Launch::kEager) sum.launch = one.launch;
}

// The conditions are those of the first but for the flags, which any raises. Precondition: there is
// at least one.
Timed sum_of(const std::vector<Timed>& each) {
  Timed sum = each.front();
  sum.timing.launches_per_sample = 1;
  for (std::size_t i = 1; i < each.size(); ++i) {
    const Timed& one = each[i];
    add_timing(sum.timing, one.timing);
    sum.conditions.throttled = sum.conditions.throttled || one.conditions.throttled;
    sum.conditions.drifting = sum.conditions.drifting || one.conditions.drifting;
    sum.conditions.sm_mhz_after = one.conditions.sm_mhz_after;
    sum.conditions.memory_mhz_after = one.conditions.memory_mhz_after;
  }
  return sum;
}

// The largest error that is accepted, in units of the deviation that the data type allows.
constexpr double kWorstAccuracy = 1;

// On an H200, a power cap is lifted within 40 ms after the load that caused it.
constexpr std::chrono::milliseconds kRestStep{5};
constexpr int kMostRestSteps = 20;

class Runner {
 public:
  Runner(const CaseRun& run, const CaseRequest& request) : run_(run), request_(request) {}

  Stop operator()() {
    const core::Result<Case> parsed = parse_case(request_.operator_name, request_.case_json);
    if (!parsed.ok()) return error("MeasurementError", parsed.error());
    const Case& point = parsed.value();
    if (point.op().skip) {
      if (const auto reason = point.op().skip(point, run_.device.facts())) return skip(*reason);
    }
    for (const Part& part : point.op().parts(point)) {
      if (std::optional<Stop> stop = run_part(part)) return *stop;
    }
    return CaseDone{.id = request_.id, .times = times_};
  }

 private:
  std::optional<Stop> run_part(const Part& part) {
    if (!part.then.empty()) return run_sequence(part);
    Step<Timed> measured = time_kernel(part.kernel);
    if (auto* stop = std::get_if<Stop>(&measured)) return *stop;
    Timed& timed = std::get<Timed>(measured);
    double latency_ms = timed.timing.median_ms;
    if (part.less) {
      Step<Timed> other = time_kernel(*part.less);
      if (auto* stop = std::get_if<Stop>(&other)) return *stop;
      latency_ms = std::max(0.0, latency_ms - std::get<Timed>(other).timing.median_ms);
    }
    if (!part.less) say_others(part, timed);
    say_row(part, std::move(timed), latency_ms);
    return std::nullopt;
  }

  // Times the kernels in one graph, then each by itself: the same works, at about the same clocks.
  std::optional<Stop> run_sequence(const Part& part) {
    std::vector<KernelSpec> kernels = {part.kernel};
    kernels.insert(kernels.end(), part.then.begin(), part.then.end());
    const Clock::time_point start = Clock::now();
    const core::Result<MadeWork> made = run_.device.make_sequence(kernels, request_.options.l2);
    times_.prepare_ms += milliseconds_since(start);
    Step<Timed> step = time_made(made);
    if (auto* stop = std::get_if<Stop>(&step)) return *stop;
    Timed& together = std::get<Timed>(step);
    std::vector<Timed> each;
    for (Work* member : std::get<std::unique_ptr<Work>>(made.value())->members()) {
      core::Result<Timed> timed = time_until_steady(*member);
      if (!timed.ok()) return device_error(timed.error());
      each.push_back(std::move(timed).value());
    }
    Part sum = part;
    sum.op_name += kSumEnding;
    Timed summed = sum_of(each);
    summed.kernel_source = together.kernel_source;
    const double together_ms = together.timing.median_ms;
    const double summed_ms = summed.timing.median_ms;
    say_row(part, std::move(together), together_ms);
    say_row(sum, std::move(summed), summed_ms);
    return std::nullopt;
  }

  // Keeps the times of kernels that were slower in a table of their own, so that whoever asks the
  // table finds the fastest.
  void say_others(const Part& part, const Timed& chosen) {
    Part others = part;
    others.table += model::kOthersEnding;
    for (const OtherKernel& other : chosen.others) {
      Timed timed;
      timed.timing = timing_of(other.samples_ms);
      timed.kernel_source = other.kernel_source;
      timed.timing.l2 = chosen.timing.l2;
      const double latency_ms = timed.timing.median_ms;
      say_row(others, std::move(timed), latency_ms);
    }
  }

  void say_row(const Part& part, Timed timed, double latency_ms) {
    const DeviceFacts& facts = run_.device.facts();
    const auto library = facts.more.find(part.version_of);
    run_.say(CaseRow{
        .id = request_.id,
        .measurement = {
            .row = {.table = part.table,
                    .framework = facts.framework,
                    .version = library == facts.more.end() ? facts.version : library->second,
                    .device = facts.name,
                    .op_name = part.op_name,
                    .kernel_source = std::move(timed.kernel_source),
                    .key = part.key,
                    .latency_ms = latency_ms,
                    .power_watts = timed.power_watts,
                    .power_limit_watts = timed.power_limit_watts},
            .timing = std::move(timed.timing),
            .conditions = std::move(timed.conditions)}});
  }

  Step<Timed> time_kernel(const KernelSpec& spec) {
    const Clock::time_point start = Clock::now();
    const core::Result<MadeWork> made = run_.device.make(spec, request_.options.l2);
    times_.prepare_ms += milliseconds_since(start);
    return time_made(made);
  }

  Step<Timed> time_made(const core::Result<MadeWork>& made) {
    if (!made.ok()) return device_error(made.error());
    if (const auto* unsupported = std::get_if<Unsupported>(&made.value())) {
      return skip(unsupported->reason);
    }
    Work& work = *std::get<std::unique_ptr<Work>>(made.value());
    if (request_.check) {
      if (std::optional<Stop> stop = check(work)) return *stop;
    }
    run_.say(CaseDoing{request_.id, "time"});
    core::Result<Timed> timed = time_until_steady(work);
    if (!timed.ok()) return device_error(timed.error());
    timed.value().kernel_source = work.kernel_source();
    timed.value().others = work.others();
    if (request_.measure_power) {
      if (const core::Status added = add_power(work, timed.value()); !added.ok())
        return device_error(added.error());
    }
    return std::move(timed).value();
  }

  std::optional<Stop> check(Work& work) {
    run_.say(CaseDoing{request_.id, "check"});
    const Clock::time_point start = Clock::now();
    const core::Result<Accuracy> accuracy = work.check();
    times_.check_ms += milliseconds_since(start);
    if (!accuracy.ok()) return device_error(accuracy.error());
    if (accuracy.value().worst <= kWorstAccuracy) return std::nullopt;
    return error("WrongResult",
                 core::Error{fmt::format("{} is wrong: {} ({:.3g} times the deviation allowed)",
                                         work.kernel_source(), accuracy.value().where,
                                         accuracy.value().worst)});
  }

  core::Result<Timed> time_until_steady(Work& work) {
    Timed timed = ASSAY_TRY(time_once(work));
    const auto is_off = [](const Timed& tried) {
      return tried.conditions.throttled || tried.conditions.drifting;
    };
    if (is_off(timed) && !is_by_own_power(timed.conditions)) {
      Timed again = ASSAY_TRY(time_once(work));
      // If both are off, the one with less spread is kept, with its flag.
      const auto spread = [](const Timed& tried) {
        return tried.timing.p90_ms - tried.timing.p10_ms;
      };
      if (!is_off(again) || spread(again) < spread(timed)) timed = std::move(again);
    }
    return timed;
  }

  // A kernel that draws more power than the device may slows the clock each time anew.
  static bool is_by_own_power(const model::Conditions& conditions) {
    const std::vector<std::string>& reasons = conditions.slowdowns;
    return conditions.throttled && reasons.size() == 1 && reasons.front() == gpu::kPowerCap;
  }

  core::Result<Timed> time_once(Work& work) {
    const DeviceState before = ASSAY_TRY(rested_state());
    Measured measured = ASSAY_TRY(measure(run_.device, work, request_.options));
    times_.kernels_ms += measured.kernels_ms;
    Timed timed;
    timed.conditions = conditions(before, ASSAY_TRY(state()), measured.timing);
    timed.timing = std::move(measured.timing);
    return timed;
  }

  // The state after a rest, which the device needs if earlier kernels were too much for it.
  core::Result<DeviceState> rested_state() {
    const Clock::time_point start = Clock::now();
    DeviceState now = ASSAY_TRY(state());
    for (int step = 0; step < kMostRestSteps && is_slowed(now); ++step) {
      std::this_thread::sleep_for(kRestStep);
      now = ASSAY_TRY(state());
    }
    times_.rest_ms += milliseconds_since(start);
    return now;
  }

  core::Result<std::unique_ptr<Stopwatch>> stopwatch_like(Work& work, const model::Timing& timing) {
    return run_.device.stopwatch(
        work, {.launch = timing.launch, .launches_per_sample = timing.launches_per_sample});
  }

  core::Status add_power(Work& work, Timed& timed) {
    if (run_.sensors == nullptr) return {};
    const std::unique_ptr<Stopwatch> watch = ASSAY_TRY(stopwatch_like(work, timed.timing));
    const auto per_sample = static_cast<double>(timed.timing.launches_per_sample);
    const auto samples = static_cast<std::int64_t>(
        std::clamp(kPowerBatchMs / (timed.timing.median_ms * per_sample), 1.0, 64.0));
    double launches = 0;
    const Clock::time_point start = Clock::now();
    const auto seconds = [&] { return milliseconds_since(start) / 1000; };
    EnergyMeter meter(*run_.sensors);
    while (meter.seconds() < request_.power_seconds && !meter.has_failed() &&
           seconds() < request_.power_seconds + kPowerPatienceSeconds) {
      times_.kernels_ms += core::sum(ASSAY_TRY(watch->sample(samples))) * per_sample;
      launches += static_cast<double>(samples) * per_sample;
    }
    const double took = seconds();
    timed.power_watts = ASSAY_TRY(meter.watts());
    timed.power_limit_watts = ASSAY_TRY(state()).power_limit_watts;
    if (timed.power_watts) timed.conditions.energy_joules = *timed.power_watts * took / launches;
    return {};
  }

  core::Result<DeviceState> state() {
    DeviceState now;
    if (run_.sensors != nullptr) now = ASSAY_TRY(run_.sensors->read());
    if (const std::optional<ClockSeen> clock = ASSAY_TRY(run_.device.clock())) {
      now.sm_mhz = std::llround(clock->now_mhz);
      now.most_sm_mhz = std::llround(clock->highest_mhz);
      now.is_counted = true;
    }
    return now;
  }

  [[nodiscard]] Stop skip(std::string reason) const {
    return CaseSkipped{request_.id, std::move(reason)};
  }

  [[nodiscard]] Stop error(const char* error_class, const core::Error& why) const {
    return CaseError{.id = request_.id,
                     .error_class = error_class,
                     .message = why.message,
                     .lost = run_.device.is_lost()};
  }

  [[nodiscard]] Stop device_error(const core::Error& why) const {
    const bool memory = why.message.find("out of memory") != std::string::npos;
    return error(memory ? "OutOfMemory" : "DeviceError", why);
  }

  const CaseRun& run_;
  const CaseRequest& request_;
  CaseTimes times_;
};

core::Result<model::PerfValue> value_of(const nlohmann::json& value) {
  if (value.is_number_integer()) return model::PerfValue(value.get<std::int64_t>());
  if (value.is_number()) return model::PerfValue(value.get<double>());
  if (value.is_string()) return model::PerfValue(value.get<std::string>());
  return core::Error{"neither a number nor a name: " + value.dump()};
}

// Keeps standard output for the protocol alone: what libraries print goes to standard error.
int take_standard_output() {
  const int ours = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return ours;
}

class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  void write(const WorkerMessage& message) {
    const std::string line = message_line(message) + "\n";
    for (std::size_t done = 0; done < line.size() && is_read_;) {
      const ssize_t wrote = ::write(descriptor_, line.data() + done, line.size() - done);
      if (wrote > 0) {
        done += static_cast<std::size_t>(wrote);
      } else if (errno != EINTR) {
        is_read_ = false;
      }
    }
  }

  // Returns false when nobody is left to read.
  [[nodiscard]] bool is_read() const { return is_read_; }

 private:
  int descriptor_;
  bool is_read_ = true;
};

}  // namespace

core::Result<Case> parse_case(const std::string& operator_name, const std::string& case_json) {
  const Operator* op = find_operator(operator_name);
  if (op == nullptr) return core::Error{"no operator is called '" + operator_name + "'"};
  const auto columns = nlohmann::json::parse(case_json, nullptr, false);
  if (!columns.is_object()) return core::Error{"a case is an object of columns: " + case_json};
  std::vector<model::PerfValue> values;
  for (const Axis& axis : op->axes) {
    const auto found = columns.find(axis.column);
    if (found == columns.end()) {
      return core::Error{fmt::format("{}: column '{}' is missing", operator_name, axis.column)};
    }
    AxisOverride given{.column = axis.column, .values = {ASSAY_TRY(value_of(*found))}};
    ASSAY_TRY(check_override(*op, given));
    values.push_back(std::move(given.values.front()));
  }
  if (columns.size() != values.size()) {
    return core::Error{
        fmt::format("{} has {} columns: {}", operator_name, values.size(), case_json)};
  }
  return Case(*op, std::move(values));
}

void expect_soon(Device& device, const CaseRequest& request) {
  for (const SoonCase& soon : request.soon) {
    const core::Result<Case> parsed = parse_case(soon.operator_name, soon.case_json);
    if (!parsed.ok()) continue;
    const Case& point = parsed.value();
    if (point.op().skip && point.op().skip(point, device.facts())) continue;
    for (const Part& part : point.op().parts(point)) {
      device.expect(part.kernel);
      for (const KernelSpec& kernel : part.then)
        device.expect(kernel);
    }
  }
}

void run_case(const CaseRun& run, const CaseRequest& request) {
  std::visit([&](auto&& stop) { run.say(std::forward<decltype(stop)>(stop)); },
             Runner(run, request)());
}

int run_worker(const std::function<core::Result<WorkerDevice>()>& open) {
  ::signal(SIGPIPE, SIG_IGN);
  Lines lines(take_standard_output());
  const core::Result<WorkerDevice> opened = open();
  if (!opened.ok()) {
    lines.write(WorkerFatal{opened.error().message});
    return 1;
  }
  Device& device = *opened.value().device;
  lines.write(WorkerHello{device.facts()});
  const CaseRun run{.device = device,
                    .sensors = opened.value().sensors.get(),
                    .say = [&](const WorkerMessage& message) { lines.write(message); }};
  for (std::string line; lines.is_read() && std::getline(std::cin, line);) {
    const core::Result<CaseRequest> request = parse_request(line);
    if (!request.ok()) {
      lines.write(WorkerFatal{request.error().message});
      return 1;
    }
    expect_soon(device, request.value());
    run_case(run, request.value());
    if (device.is_lost()) return 1;
  }
  return lines.is_read() ? 0 : 1;
}

}  // namespace assay::collect
