// Records the times of NCCL's kernels by CUPTI, and the launch to which each kernel belongs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "recorder/plugin/cupti.h"

namespace assay::recorder {

class Recorder;

class KernelTimes {
 public:
  // `library` is as for cupti::open. Returns null and a reason when CUPTI cannot be used.
  static std::unique_ptr<KernelTimes> start(const std::string& library, std::string& reason);

  // Call these before and after a launch of NCCL, on the launching thread.
  void begin_launch(std::uint64_t id) const;
  void end_launch() const;

  // Moves completed records into the recording.
  void flush() const;

  // Warns when no records arrive although kernels were launched.
  void look_after(Recorder& recorder);

  void record_clock(Recorder& recorder) const;

  void stop();

 private:
  KernelTimes() = default;
  std::string enable();
  static void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
  static void complete(void* context,
                       std::uint32_t stream,
                       std::uint8_t* buffer,
                       std::size_t bytes,
                       std::size_t valid_bytes);
  void take(Recorder& recorder, const std::uint32_t* record);
  void take_kernel(Recorder& recorder, const cupti::KernelRecord& record);

  cupti::Functions functions_;
  std::atomic<std::uint64_t> buffers_{0};  // number of buffers that came back
  std::uint64_t buffers_then_ = 0;
  std::uint64_t launches_then_ = 0;
  int silent_rounds_ = 0;
  bool taken_over_ = false;
  std::atomic<bool> stopped_{false};
};

}  // namespace assay::recorder
