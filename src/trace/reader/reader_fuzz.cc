// libFuzzer target: any bytes are a trace, and no analysis of it may crash, hang or leak.
// Corpus: the bundled traces and small documents; see tests/fuzz.
#include <cstdint>
#include <string_view>

#include "core/memory_source.h"
#include "trace/reader/reader.h"
#include "trace/sheet.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  core::MemorySource source({reinterpret_cast<const char*>(data), size}, 4096);
  const auto read = trace::read_trace(source, "fuzz.json");
  if (!read.ok()) return 0;
  for (const trace::Compat compat : {trace::Compat::kNone, trace::Compat::kTraceLens}) {
    trace::Options options;
    options.compat = compat;
    options.include_unlinked = true;
    const auto rank = trace::analyze_rank(read.value(), options, 0);
    trace::individual_report(rank);
  }
  return 0;
}
