// A fuzz target that reads any bytes as the JSON twin of a report. Neither reading it nor comparing
// it with itself may crash, hang or leak, and what was read must survive being written again.
#include <cstdint>
#include <string>

#include "core/check.h"
#include "report/book.h"
#include "trace/compare/compare.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

// One file can be the twin of both an individual and a collective report.
trace::Configuration configuration_of(const model::Book& book, const char* label) {
  trace::Configuration configuration;
  configuration.label = label;
  if (book.find("gpu_timeline") != nullptr) configuration.ranks.push_back({0, book});
  configuration.collectives = book;
  return configuration;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto book = report::parse_json({reinterpret_cast<const char*>(data), size});
  if (!book.ok()) return 0;
  ASSAY_CHECK(report::parse_json(report::json(book.value())).ok(), "a written report can be read");
  const trace::Configuration baseline = configuration_of(book.value(), "baseline");
  const trace::Configuration test = configuration_of(book.value(), "test");
  // Each input is compared in only one mode, which doubles the number of inputs per second.
  const trace::Compat compat = size % 2 == 0 ? trace::Compat::kNone : trace::Compat::kTraceLens;
  static_cast<void>(trace::compare({baseline, test, {.compat = compat}}));
  return 0;
}
