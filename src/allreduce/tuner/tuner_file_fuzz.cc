// A libFuzzer target that reads any bytes as a file of the tuner plugin. No input may crash, hang
// or leak; a bad file has no row and a short reason, and every row of a good one can be found.
#include <cstdint>
#include <string_view>

#include "allreduce/tuner/tuner_file.h"
#include "core/check.h"

namespace {

using namespace assay::allreduce;  // NOLINT(google-build-using-namespace)

void examine_rows(const TunerFile& file) {
  for (const TunerRow& row : file.rows) {
    ASSAY_CHECK(row.min_bytes <= row.max_bytes && row.channels != 0, "a row is sound");
    const TunerCall call{.collective = row.collective,
                         .bytes = row.min_bytes,
                         .nodes = row.nodes,
                         .ranks = row.ranks,
                         .operations = row.operations,
                         .registered = row.registered};
    ASSAY_CHECK(row_for(file.rows, call) != nullptr, "a row matches its own call");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer requires this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const TunerFile file =
      parse_tuner_file(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!file.problem.empty()) {
    ASSAY_CHECK(file.rows.empty() && file.problem.size() < 200, "a bad file says so in a line");
    ASSAY_CHECK(file.problem.find('\n') == std::string::npos, "in one line");
  }
  constexpr std::size_t kRowsToExamine = 100;
  if (file.rows.size() <= kRowsToExamine) examine_rows(file);
  return 0;
}
