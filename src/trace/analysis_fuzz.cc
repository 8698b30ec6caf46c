// A fuzz target: any bytes that can be read as a trace are analysed and reported on, which may not
// crash, hang or leak. Its corpus is that of the reader (trace/reader/reader_fuzz.cc).
#include <cstdint>
#include <span>

#include "core/byte_source.h"
#include "trace/collectives/report.h"
#include "trace/reader/reader.h"
#include "trace/sheet.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  constexpr std::size_t kPieceBytes =
      4096;  // a large buffer would cost more than the rest of a run
  core::MemorySource source({reinterpret_cast<const char*>(data), size}, kPieceBytes);
  const auto read = trace::read_trace(source, "fuzz.json", {}, kPieceBytes);
  if (!read.ok()) return 0;
  // Each input is analysed in one mode only, which doubles the number of runs.
  trace::Options options;
  options.compat = size % 2 == 0 ? trace::Compat::kNone : trace::Compat::kTraceLens;
  options.include_unlinked = true;
  const auto rank = trace::analyze_rank(read.value(), options, 0);
  trace::individual_report(rank);
  trace::collective_report({&rank, 1});
  return 0;
}
