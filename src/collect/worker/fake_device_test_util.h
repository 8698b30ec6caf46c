// A device for tests, whose works take the times that a script says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/kernels/device.h"

namespace assay::collect {

struct FakeDeviceScript {
  std::function<double(std::int64_t sample)> time_ms = [](std::int64_t) { return 1.0; };
  double around_ms = 0;  // what the events add to a sample
  // The part of the members' time that a sequence of kernels takes.
  double sequence_part = 1;
  bool captures = true;
  Accuracy accuracy = {};
  std::vector<OtherKernel> others = {};
  std::string unsupported = {};  // the reason why make() refuses, if not empty
  std::string fails = {};        // the error of sampling, if not empty
  bool is_lost = false;
};

class FakeWork final : public Work {
 public:
  explicit FakeWork(const FakeDeviceScript& script) : script_(script) {}

  core::Status launch() override { return {}; }

  [[nodiscard]] std::string kernel_source() const override { return "fake"; }

  [[nodiscard]] std::vector<OtherKernel> others() const override { return script_.others; }

  core::Result<Accuracy> check() override { return script_.accuracy; }

 private:
  const FakeDeviceScript& script_;
};

class FakeSequence final : public Work {
 public:
  FakeSequence(const FakeDeviceScript& script, std::size_t count) : script_(script) {
    for (std::size_t i = 0; i < count; ++i)
      works_.push_back(std::make_unique<FakeWork>(script));
  }

  core::Status launch() override { return {}; }

  [[nodiscard]] std::string kernel_source() const override { return "fake+fakes"; }

  [[nodiscard]] std::vector<Work*> members() override {
    std::vector<Work*> members;
    for (const auto& work : works_)
      members.push_back(work.get());
    return members;
  }

  core::Result<Accuracy> check() override { return script_.accuracy; }

 private:
  const FakeDeviceScript& script_;
  std::vector<std::unique_ptr<FakeWork>> works_;
};

class FakeStopwatch final : public Stopwatch {
 public:
  FakeStopwatch(const FakeDeviceScript& script,
                double factor,
                std::int64_t launches,
                std::int64_t& sample)
      : script_(script),
        factor_(factor),
        around_ms_(script.around_ms / static_cast<double>(launches)),
        sample_(sample) {}

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    if (!script_.fails.empty()) return core::Error{script_.fails};
    std::vector<double> times_ms;
    for (std::int64_t i = 0; i < count; ++i)
      times_ms.push_back(factor_ * script_.time_ms(sample_++) + around_ms_);
    return times_ms;
  }

 private:
  const FakeDeviceScript& script_;
  double factor_;
  double around_ms_;  // share of one launch
  std::int64_t& sample_;
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(FakeDeviceScript script) : script_(std::move(script)) {
    facts_.kind = "fake";
    facts_.name = "Fake 1";
    facts_.version = "1.0";
    facts_.sm_version = 90;
    facts_.memory_bytes = std::int64_t{1} << 40;
  }

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }

  void expect(const KernelSpec& spec) override { expected.push_back(spec); }

  core::Result<MadeWork> make(const KernelSpec& spec, model::L2State /*l2*/) override {
    specs.push_back(spec);
    if (!script_.unsupported.empty()) return MadeWork(Unsupported{script_.unsupported});
    return MadeWork(std::make_unique<FakeWork>(script_));
  }

  core::Result<MadeWork> make_sequence(const std::vector<KernelSpec>& kernels,
                                       model::L2State /*l2*/) override {
    specs.insert(specs.end(), kernels.begin(), kernels.end());
    if (!script_.unsupported.empty()) return MadeWork(Unsupported{script_.unsupported});
    return MadeWork(std::make_unique<FakeSequence>(script_, kernels.size()));
  }

  core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& work,
                                                     const StopwatchRequest& request) override {
    if (request.launch == model::Launch::kGraph && !script_.captures) {
      return core::Error{"cannot be captured"};
    }
    requests.push_back(request);
    const std::size_t members = work.members().size();
    const double factor = members == 0 ? 1 : static_cast<double>(members) * script_.sequence_part;
    return std::unique_ptr<Stopwatch>(
        std::make_unique<FakeStopwatch>(script_, factor, request.launches_per_sample, sample_));
  }

  core::Status finish() override { return {}; }

  [[nodiscard]] bool is_lost() const override { return script_.is_lost; }

  std::vector<KernelSpec> specs;
  std::vector<KernelSpec> expected;
  std::vector<StopwatchRequest> requests;

 private:
  FakeDeviceScript script_;
  DeviceFacts facts_;
  std::int64_t sample_ = 0;
};

}  // namespace assay::collect
