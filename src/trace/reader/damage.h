// What is damaged in a trace beside the events that cannot be read: told from the places where the
// events were cut, without parsing them.
#pragma once

#include <cstdint>
#include <string>

#include "trace/reader/event_cutter.h"

namespace assay::trace {

// Counts damage that is cheap to find: zero bytes, which a full disk or a lost host leaves in a
// file, and anything but commas between events.
class EventCheck {
 public:
  void add(const EventBatch& batch);

  [[nodiscard]] std::uint64_t count() const { return count_; }

  [[nodiscard]] std::uint64_t damaged_places() const { return damaged_places_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t damaged_places_ = 0;
};

// Returns "cut off after 12,345 events" and the like; "" when all is whole.
std::string damage_in_words(const CutDocument& cut, const EventCheck& events, bool valid_rest);

}  // namespace assay::trace
