// A fuzz target: any bytes that can be read as a trace are analysed and reported on, which may not
// crash, hang or leak.
#include <cstdint>
#include <span>

#include "core/byte_source.h"
#include "trace/collectives/report.h"
#include "trace/reader/reader.h"
#include "trace/sheet.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  // Allocating a large buffer would take longer than the rest of a run.
  constexpr std::size_t kPieceBytes = 4096;
  core::MemorySource source({reinterpret_cast<const char*>(data), size}, kPieceBytes);
  const auto read = trace::read_trace(source, "fuzz.json", {}, kPieceBytes);
  if (!read.ok()) return 0;
  // The size of an input decides its mode and its report, so that a run makes one report of the
  // four.
  trace::Options options;
  options.compat = size % 2 == 0 ? trace::Compat::kNone : trace::Compat::kTraceLens;
  options.include_unlinked = true;
  const auto rank = trace::analyze_rank(read.value(), options, 0);
  if (size / 2 % 2 == 0) {
    trace::individual_report(rank);
  } else {
    trace::collective_report({&rank, 1});
  }
  return 0;
}
