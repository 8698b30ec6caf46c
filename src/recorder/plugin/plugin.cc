// The functions that NCCL calls. Each takes well under a microsecond: the record of an event goes
// into memory when it starts and gets its duration when it stops, and the handle that NCCL
// keeps is the address of the record.
#include <algorithm>
#include <cstdint>
#include <exception>

#include "model/recording.h"
#include "recorder/plugin/kernel_times.h"
#include "recorder/plugin/nccl_abi.h"
#include "recorder/plugin/recorder.h"
#include "recorder/plugin/settings.h"

namespace assay::recorder {
namespace {

namespace rec = model::recording;

// Converts the events of both versions to one form.
struct Incoming {
  std::uint64_t type;
  void* parent;  // for operations: the call of the API
  void* plan;
  const nccl::Details& details;
};

Incoming incoming(const nccl::DescriptorV5& from) {
  void* plan = nullptr;
  if (from.type == rec::kCollBit) plan = from.details.coll.plan;
  if (from.type == rec::kP2pBit) plan = from.details.p2p.plan;
  return {from.type, from.parent, plan, from.details};
}

Incoming incoming(const nccl::DescriptorV4& from) {
  const bool operation = from.type == rec::kCollBit || from.type == rec::kP2pBit;
  return {from.type, operation ? nullptr : from.parent, operation ? from.parent : nullptr,
          from.details};
}

class EventWriter {
 public:
  EventWriter(const CommunicatorContext& context, const Incoming& event)
      : recorder_(*context.recorder), context_(context), event_(event) {}

  // Returns the record of the event; null when it is not recorded.
  void* write() {
    switch (event_.type) {
      case rec::kGroupApiBit:
        return group_api();
      case rec::kCollApiBit:
        return coll_api();
      case rec::kP2pApiBit:
        return p2p_api();
      case rec::kKernelLaunchBit:
        return kernel_launch();
      case rec::kGroupBit:
        return plan();
      case rec::kCollBit:
        return coll();
      case rec::kP2pBit:
        return p2p();
      case rec::kKernelChannelBit:
        return kernel_channel();
      case rec::kProxyOpBit:
        return proxy_op();
      case rec::kProxyStepBit:
        return proxy_step();
      default:
        return nullptr;
    }
  }

 private:
  template <class Record>
  Record begin() const {
    Record record;
    record.event.start_ns = now_ns();
    record.event.communicator = context_.number;
    record.event.parent = recorder_.number_of(event_.parent);
    return record;
  }

  static std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }

  std::uint8_t graph_flag(bool captured) const {
    if (captured) recorder_.see_captured();
    return captured ? rec::kGraphFlag : 0;
  }

  void* group_api() {
    auto record = begin<rec::GroupApi>();
    record.event.head.flags = graph_flag(event_.details.group_api.graph_captured != 0);
    record.depth = event_.details.group_api.depth;
    return recorder_.append(record, rec::Kind::kGroupApi);
  }

  void* coll_api() {
    const nccl::CollApi& from = event_.details.coll_api;
    auto record = begin<rec::CollApi>();
    record.event.head.flags = graph_flag(from.graph_captured);
    record.count = from.count;
    record.stream = address(from.stream);
    record.root = from.root;
    record.function = recorder_.text(from.function);
    record.data_type = recorder_.text(from.data_type);
    return recorder_.append(record, rec::Kind::kCollApi);
  }

  void* p2p_api() {
    const nccl::P2pApi& from = event_.details.p2p_api;
    auto record = begin<rec::P2pApi>();
    record.event.head.flags = graph_flag(from.graph_captured);
    record.count = from.count;
    record.stream = address(from.stream);
    record.function = recorder_.text(from.function);
    record.data_type = recorder_.text(from.data_type);
    return recorder_.append(record, rec::Kind::kP2pApi);
  }

  void* kernel_launch() {
    auto record = begin<rec::KernelLaunch>();
    record.stream = address(event_.details.launch_stream);
    void* written = recorder_.append(record, rec::Kind::kKernelLaunch);
    if (written == nullptr) return nullptr;
    ThreadState* thread = thread_state(&recorder_);  // which has written
    thread->launch = recorder_.number_of(written);
    thread->launch_communicator = context_.number;
    recorder_.count_launch();
    if (const KernelTimes* times = recorder_.kernel_times()) times->begin_launch(thread->launch);
    return written;
  }

  void* plan() {
    auto record = begin<rec::Plan>();
    ThreadState* thread = thread_state(&recorder_);
    if (thread == nullptr) return nullptr;
    const bool launched = thread->launch_communicator == context_.number;
    record.event.parent = launched ? thread->launch : 0;
    if (launched) thread->launch = 0;
    return recorder_.append(record, rec::Kind::kPlan);
  }

  void* coll() {
    const nccl::Coll& from = event_.details.coll;
    auto record = begin<rec::Coll>();
    record.plan = recorder_.number_of(event_.plan);
    record.root = from.root;
    record.sequence = from.sequence;
    record.count = from.count;
    record.send_buffer = address(from.send_buffer);
    record.receive_buffer = address(from.receive_buffer);
    record.function = recorder_.text(from.function);
    record.data_type = recorder_.text(from.data_type);
    record.algorithm = recorder_.text(from.algorithm);
    record.protocol = recorder_.text(from.protocol);
    record.channels = from.channels;
    record.warps = from.warps;
    return recorder_.append(record, rec::Kind::kColl);
  }

  void* p2p() {
    const nccl::P2p& from = event_.details.p2p;
    auto record = begin<rec::P2p>();
    record.plan = recorder_.number_of(event_.plan);
    record.peer = from.peer;
    record.count = from.count;
    record.buffer = address(from.buffer);
    record.function = recorder_.text(from.function);
    record.data_type = recorder_.text(from.data_type);
    record.channels = from.channels;
    return recorder_.append(record, rec::Kind::kP2p);
  }

  void* kernel_channel() {
    auto record = begin<rec::KernelChannel>();
    record.start_timer = event_.details.kernel_channel.timer;
    record.channel = event_.details.kernel_channel.channel;
    return recorder_.append(record, rec::Kind::kKernelChannel);
  }

  void* proxy_op() {
    const nccl::ProxyOp& from = event_.details.proxy_op;
    auto record = begin<rec::ProxyOp>();
    // The address of a parent in another process means nothing here.
    if (from.process_id != recorder_.header().process_id) record.event.parent = 0;
    record.process_id = from.process_id;
    record.peer = from.peer;
    record.steps = from.steps;
    record.chunk_bytes = from.chunk_bytes;
    record.channel = from.channel;
    record.is_send = from.is_send != 0 ? 1 : 0;
    return recorder_.append(record, rec::Kind::kProxyOp);
  }

  void* proxy_step() {
    auto record = begin<rec::ProxyStep>();
    record.step = event_.details.proxy_step;
    return recorder_.append(record, rec::Kind::kProxyStep);
  }

  Recorder& recorder_;
  const CommunicatorContext& context_;
  const Incoming& event_;
};

std::uint32_t duration_since(std::int64_t start_ns) {
  constexpr std::int64_t kLongest = rec::kMaxDuration;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(now_ns() - start_ns, 1, kLongest));
}

// Returns the record behind a handle; null when it is not of this process's recording, or so old
// that its memory was given back.
rec::Event* event_of(const Recorder* recorder, void* handle) {
  if (recorder == nullptr || !recorder->owns(handle)) return nullptr;
  auto* event = static_cast<rec::Event*>(handle);
  return event->head.kind == rec::Kind::kEnd ? nullptr : event;
}

template <class Descriptor>
nccl::Result start_event(void* context, void** event, Descriptor* descriptor) {
  *event = nullptr;
  const auto* communicator = static_cast<const CommunicatorContext*>(context);
  if (communicator == nullptr || communicator->recorder != Recorder::current()) {
    return nccl::kSuccess;
  }
  const Incoming started = incoming(*descriptor);
  try {
    *event = EventWriter(*communicator, started).write();
  } catch (const std::exception&) {
    *event = nullptr;  // there was no memory for a new string
  }
  return nccl::kSuccess;
}

nccl::Result stop_event(void* handle) {
  Recorder* recorder = Recorder::current();
  rec::Event* event = event_of(recorder, handle);
  if (event == nullptr) return nccl::kSuccess;
  __atomic_store_n(&event->head.duration_ns, duration_since(event->start_ns), __ATOMIC_RELAXED);
  recorder->touch(event);
  const KernelTimes* times = recorder->kernel_times();
  if (event->head.kind == rec::Kind::kKernelLaunch && times != nullptr) times->end_launch();
  return nccl::kSuccess;
}

nccl::Result record_event_state(void* handle, int state, nccl::StateArguments* arguments) {
  Recorder* recorder = Recorder::current();
  rec::Event* event = event_of(recorder, handle);
  if (event == nullptr || arguments == nullptr) return nccl::kSuccess;
  if (event->head.kind == rec::Kind::kKernelChannel && state == nccl::kKernelStop) {
    static_cast<rec::KernelChannel*>(handle)->end_timer = arguments->timer;
  } else if (event->head.kind == rec::Kind::kProxyStep) {
    auto* step = static_cast<rec::ProxyStep*>(handle);
    for (std::size_t i = 0; i < rec::kProxyStates; ++i) {
      if (rec::kProxyStepStates.at(i) == state)
        step->state_ns.at(i) = duration_since(event->start_ns);
    }
    step->bytes = std::max<std::uint64_t>(step->bytes, arguments->transferred_bytes);
  }
  recorder->touch(event);
  return nccl::kSuccess;
}

nccl::Result finalize(void* context) {
  const auto* communicator = static_cast<const CommunicatorContext*>(context);
  if (communicator == nullptr || communicator->recorder != Recorder::current()) {
    return nccl::kSuccess;
  }
  Recorder& recorder = *communicator->recorder;
  rec::CommunicatorEnd end;
  end.time_ns = now_ns();
  end.communicator = communicator->number;
  recorder.append(end, rec::Kind::kCommunicatorEnd);
  if (const KernelTimes* times = recorder.kernel_times()) {
    times->record_clock(recorder);
    times->flush();
  }
  recorder.save();
  return nccl::kSuccess;
}

struct NewCommunicator {
  std::uint64_t id;
  const char* name;
  int num_nodes;
  int num_ranks;
  int rank;
};

void begin_communicator(void** context,
                        int* events,
                        const NewCommunicator& from,
                        nccl::Logger logger,
                        std::uint32_t plugin_interface) {
  *context = nullptr;
  *events = 0;
  Recorder* recorder = Recorder::start(logger, plugin_interface);
  if (recorder == nullptr || thread_state(recorder) == nullptr) return;
  rec::Communicator record;
  record.time_ns = now_ns();
  record.id = from.id;
  record.rank = from.rank;
  record.num_ranks = from.num_ranks;
  record.num_nodes = from.num_nodes;
  record.device = current_device();
  try {
    *context = const_cast<CommunicatorContext*>(recorder->add_communicator(record, from.name));
  } catch (const std::exception&) {
    return;
  }
  *events = static_cast<int>(recorder->settings().events);
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
nccl::Result init_v4(void** context,
                     int* events,
                     const char* name,
                     std::uint64_t id,
                     int num_nodes,
                     int num_ranks,
                     int rank,
                     nccl::Logger logger) {
  constexpr std::uint32_t kVersion = 4;
  begin_communicator(context, events, {id, name, num_nodes, num_ranks, rank}, logger, kVersion);
  return nccl::kSuccess;
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
nccl::Result init_v5(void** context,
                     std::uint64_t id,
                     int* events,
                     const char* name,
                     int num_nodes,
                     int num_ranks,
                     int rank,
                     nccl::Logger logger) {
  constexpr std::uint32_t kVersion = 5;
  begin_communicator(context, events, {id, name, num_nodes, num_ranks, rank}, logger, kVersion);
  return nccl::kSuccess;
}

}  // namespace
}  // namespace assay::recorder

#define ASSAY_EXPORT __attribute__((visibility("default")))

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): NCCL looks for these names.
extern ASSAY_EXPORT const assay::recorder::nccl::PluginV4 ncclProfiler_v4;
extern ASSAY_EXPORT const assay::recorder::nccl::PluginV5 ncclProfiler_v5;

const assay::recorder::nccl::PluginV4 ncclProfiler_v4 = {
    "assay",
    assay::recorder::init_v4,
    assay::recorder::start_event<assay::recorder::nccl::DescriptorV4>,
    assay::recorder::stop_event,
    assay::recorder::record_event_state,
    assay::recorder::finalize,
};

const assay::recorder::nccl::PluginV5 ncclProfiler_v5 = {
    "assay",
    assay::recorder::init_v5,
    assay::recorder::start_event<assay::recorder::nccl::DescriptorV5>,
    assay::recorder::stop_event,
    assay::recorder::record_event_state,
    assay::recorder::finalize,
};
// NOLINTEND(readability-identifier-naming)
}
