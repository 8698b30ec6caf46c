// A fuzz target: any bytes are read as a trace, plain or gzip, which may not crash, hang or leak.
// The target of analysis_fuzz.cc, which takes ten times as long, also analyses what was read.
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/byte_source.h"
#include "trace/reader/reader.h"

namespace {

// The pieces are so small that they cut events and gzip members. A large buffer would also cost
// more to allocate than the whole rest of a run on a small input.
constexpr std::size_t kPieceBytes = 4096;

std::unique_ptr<assay::core::ByteSource> source_of(std::string_view bytes) {
  auto plain = std::make_unique<assay::core::MemorySource>(bytes, kPieceBytes);
  if (!bytes.starts_with("\x1f\x8b")) return plain;
  return assay::core::inflating_source(std::move(plain), "fuzz.json.gz");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = source_of({reinterpret_cast<const char*>(data), size});
  static_cast<void>(assay::trace::read_trace(*source, "fuzz.json", {}, kPieceBytes));
  return 0;
}
