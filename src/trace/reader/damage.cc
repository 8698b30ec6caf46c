#include "trace/reader/damage.h"

#include <fmt/core.h>

#include <cstring>
#include <string_view>

namespace assay::trace {
namespace {

// Returns "12,345" for 12345.
std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string counted_events(std::uint64_t count) {
  return with_commas(count) + (count == 1 ? " event" : " events");
}

// Two events are separated by one comma and white space.
bool is_separator(std::string_view text) {
  std::size_t commas = 0;
  for (const char c : text) {
    if (c == ',') {
      ++commas;
    } else if (std::strchr(" \t\r\n", c) == nullptr) {
      return false;
    }
  }
  return commas == 1;
}

}  // namespace

void EventCheck::add(const EventBatch& batch) {
  count_ += batch.events.size();
  if (std::memchr(batch.text, 0, batch.size) != nullptr) ++damaged_places_;
  for (std::size_t i = 1; i < batch.events.size(); ++i) {
    const std::size_t begin = batch.events[i - 1].end;
    if (!is_separator({batch.text + begin, batch.events[i].begin - begin})) ++damaged_places_;
  }
}

std::string damage_in_words(const CutDocument& cut, const EventCheck& events, bool valid_rest) {
  const std::string after = "after " + counted_events(events.count());
  if (!cut.read_error.empty()) return fmt::format("{} ({})", cut.read_error, after);
  if (cut.truncated) return "cut off " + after;
  const auto places = static_cast<std::uint64_t>(cut.misplaced_brackets) + events.damaged_places();
  if (places > 0)
    return fmt::format("not JSON in {} {}", with_commas(places), places == 1 ? "place" : "places");
  return valid_rest ? "" : "not JSON beside its events";
}

}  // namespace assay::trace
