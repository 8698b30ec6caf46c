#include "recorder/plugin/kernel_times.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <string_view>

#include "model/recording.h"
#include "recorder/plugin/cupti.h"
#include "recorder/plugin/kernel_name.h"
#include "recorder/plugin/recorder.h"

namespace assay::recorder {
namespace {

namespace rec = model::recording;

// Buffers are small because only full ones come back while kernels run, and a killed process loses
// the rest.
constexpr std::size_t kBufferBytes = 32 * 1024;
constexpr std::size_t kBufferAlignment = 8;

constexpr int kSilentRounds = 50;  // calls of look_after(), about 10 s

void add(std::uint64_t& counter, std::uint64_t count) {
  __atomic_fetch_add(&counter, count, __ATOMIC_RELAXED);
}

}  // namespace

std::unique_ptr<KernelTimes> KernelTimes::start(const std::string& library, std::string& reason) {
  std::unique_ptr<KernelTimes> times(new KernelTimes());
  if (!cupti::open(library, times->functions_, reason)) return nullptr;
  reason = times->enable();
  if (!reason.empty()) return nullptr;
  return times;
}

std::string KernelTimes::enable() {
  cupti::Result result = functions_.register_callbacks(request, complete);
  for (const std::uint32_t kind : {cupti::kExternalCorrelationKind, cupti::kConcurrentKernelKind}) {
    if (result == cupti::kSuccess) result = functions_.enable(kind);
  }
  // External ids come with records of API calls, and NCCL launches by the driver API. Asking for
  // its launch calls alone (cuptiActivityEnableDriverApi) yields no ids with CUDA 13.0.
  if (result == cupti::kSuccess) result = functions_.enable(cupti::kDriverKind);
  if (result == cupti::kSuccess) return "";
  if (result == cupti::kMultipleSubscribers) return "another profiler uses CUPTI";
  const char* text = nullptr;
  if (functions_.result_text != nullptr) functions_.result_text(result, &text);
  return std::string("CUPTI says ") + (text != nullptr ? text : std::to_string(result));
}

void KernelTimes::begin_launch(std::uint64_t id) const {
  functions_.push_correlation(cupti::kOurCorrelation, id);
}

void KernelTimes::end_launch() const {
  std::uint64_t id = 0;
  functions_.pop_correlation(cupti::kOurCorrelation, &id);
}

void KernelTimes::flush() const {
  if (!stopped_) functions_.flush_all(0);
}

void KernelTimes::look_after(Recorder& recorder) {
  const std::uint64_t launches = recorder.launches();
  const std::uint64_t buffers = buffers_.load(std::memory_order_relaxed);
  const bool silent = launches > launches_then_ && buffers == buffers_then_;
  silent_rounds_ = silent ? silent_rounds_ + 1 : 0;
  if (buffers != buffers_then_ || launches == launches_then_) launches_then_ = launches;
  buffers_then_ = buffers;
  if (silent_rounds_ > kSilentRounds && !taken_over_) {
    taken_over_ = true;
    recorder.note("kernel times stay away: did another profiler take CUPTI over?");
  }
}

void KernelTimes::record_clock(Recorder& recorder) const {
  if (stopped_) return;
  rec::Clock clock;
  const std::int64_t before = now_ns();
  if (functions_.timestamp(&clock.cupti_ns) != cupti::kSuccess) return;
  clock.time_ns = before + (now_ns() - before) / 2;
  recorder.append(clock, rec::Kind::kClock);
}

void KernelTimes::stop() {
  if (stopped_.exchange(true)) return;
  functions_.disable(cupti::kConcurrentKernelKind);
  functions_.disable(cupti::kExternalCorrelationKind);
  functions_.disable(cupti::kDriverKind);
}

void KernelTimes::request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void KernelTimes::complete(void* context,
                           std::uint32_t stream,
                           std::uint8_t* buffer,
                           std::size_t bytes,
                           std::size_t valid_bytes) {
  Recorder* recorder = Recorder::current();
  KernelTimes* self = recorder == nullptr ? nullptr : recorder->records_of_cupti();
  if (self != nullptr) {
    self->buffers_.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t* record = nullptr;
    while (self->functions_.next_record(buffer, valid_bytes, &record) == cupti::kSuccess)
      self->take(*recorder, record);
    std::size_t dropped = 0;
    self->functions_.dropped_records(context, stream, &dropped);
    if (dropped > 0) add(recorder->header().dropped_kernels, dropped);
  }
  // Buffers of another size belong to another profiler, before or after a takeover.
  if (bytes == kBufferBytes) std::free(buffer);
}

void KernelTimes::take(Recorder& recorder, const std::uint32_t* record) {
  constexpr std::uint32_t kSerialKernel = 3;  // CUPTI_ACTIVITY_KIND_KERNEL
  if (*record == cupti::kConcurrentKernelKind || *record == kSerialKernel) {
    cupti::KernelRecord kernel;
    std::memcpy(&kernel, record, sizeof kernel);
    take_kernel(recorder, kernel);
  } else if (*record == cupti::kExternalCorrelationKind) {
    cupti::CorrelationRecord correlation{};
    std::memcpy(&correlation, record, sizeof correlation);
    if (correlation.external_kind != cupti::kOurCorrelation) return;
    rec::Correlation to;
    to.head.duration_ns = correlation.correlation;
    to.launch = static_cast<std::uint32_t>(correlation.external_id);
    recorder.append(to, rec::Kind::kCorrelation);
  }
}

void KernelTimes::take_kernel(Recorder& recorder, const cupti::KernelRecord& record) {
  const std::string_view name = kernel_name(record.name);
  if (!name.starts_with("nccl")) {
    add(recorder.header().other_kernels, 1);
    return;
  }
  add(recorder.header().nccl_kernels, 1);
  if (record.start_ns == 0 || record.end_ns < record.start_ns) return;  // it did not finish
  rec::Kernel to;
  to.head.flags = record.graph_node != 0 ? rec::kGraphFlag : std::uint8_t{0};
  to.head.duration_ns = record.correlation;
  to.start_ns = record.start_ns;
  to.end_ns = record.end_ns;
  try {
    to.name = recorder.copied_text(name);
  } catch (const std::exception&) {
    to.name = 0;
  }
  to.stream = record.stream;
  to.grid = record.grid[0];
  to.device = static_cast<std::int32_t>(record.device);
  to.graph_node = record.graph_node;
  recorder.append(to, rec::Kind::kKernel);
}

}  // namespace assay::recorder
