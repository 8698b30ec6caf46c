// What each recording thread has for itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::recorder {

class Recorder;

struct ThreadState {
  Recorder* recorder = nullptr;  // whose room this is
  std::byte* room = nullptr;
  std::byte* room_end = nullptr;
  // The last kernel launch that no plan followed yet.
  std::uint32_t launch = 0;
  std::uint32_t launch_communicator = 0;

  ThreadState() = default;
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  ~ThreadState();
};

// Of the calling thread; emptied when the room was another recorder's.
ThreadState& thread_state(Recorder* recorder);

}  // namespace assay::recorder
