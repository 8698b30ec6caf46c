// A fuzz target that takes any bytes for the part of a rank that another process sent. Unpacking
// may not crash, hang or leak, and what was unpacked must survive being packed again.
#include <cstdint>
#include <string>

#include "core/check.h"
#include "trace/pipelines/packed_part.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  core::Unpacker unpacker({reinterpret_cast<const char*>(data), size});
  const auto part = trace::unpack_part(unpacker);
  if (!part.ok()) return 0;
  core::Packer packer;
  trace::pack(part.value(), packer);
  const std::string bytes = packer.take();
  core::Unpacker again(bytes);
  ASSAY_CHECK(trace::unpack_part(again).ok() && again.done(), "a packed part can be unpacked");
  return 0;
}
