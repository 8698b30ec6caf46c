// libFuzzer target: any bytes are a trace, plain or gzip, and no analysis of it may crash, hang or
// leak. Corpus: the bundled traces and the small documents of tests/fuzz/corpus.
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/byte_source.h"
#include "trace/collectives/report.h"
#include "trace/reader/reader.h"
#include "trace/sheet.h"

namespace {

// Small pieces, so that events and gzip members are cut by them.
constexpr std::size_t kPieceBytes = 4096;

std::unique_ptr<assay::core::ByteSource> source_of(std::string_view bytes) {
  auto plain = std::make_unique<assay::core::MemorySource>(bytes, kPieceBytes);
  if (!bytes.starts_with("\x1f\x8b")) return plain;
  return assay::core::inflating_source(std::move(plain), "fuzz.json.gz");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const auto source = source_of({reinterpret_cast<const char*>(data), size});
  const auto read = trace::read_trace(*source, "fuzz.json");
  if (!read.ok()) return 0;
  for (const trace::Compat compat : {trace::Compat::kNone, trace::Compat::kTraceLens}) {
    trace::Options options;
    options.compat = compat;
    options.include_unlinked = true;
    const auto rank = trace::analyze_rank(read.value(), options, 0);
    trace::individual_report(rank);
    trace::collective_report({&rank, 1});
  }
  return 0;
}
