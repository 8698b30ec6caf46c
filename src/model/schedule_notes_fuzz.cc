// A libFuzzer target that reads any bytes as the notes of a schedule; it must never crash, hang or
// leak.
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/schedule_notes.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  static_cast<void>(assay::model::parse_notes(content, "fuzz.notes.json").ok());
  return 0;
}
