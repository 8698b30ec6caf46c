// Any bytes are an event that can be copied or are refused; a copy is an event again, with the
// values that were put into it.
#include <cstdint>
#include <string>

#include "core/check.h"
#include "trace/fuse/event_text.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using assay::trace::fuse::EventText;
  using assay::trace::fuse::Member;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto event = EventText::scan(text);
  if (!event) return 0;
  const bool has_process = !event->value(Member::kPid).empty();
  if (has_process) event->replace(Member::kPid, "1234");
  std::string copy;
  event->append_to(copy);
  const auto again = EventText::scan(copy);
  ASSAY_CHECK(again.has_value(), "a copied event is none");
  ASSAY_CHECK(!has_process || again->value(Member::kPid) == "1234", "a value was not replaced");
  return 0;
}
