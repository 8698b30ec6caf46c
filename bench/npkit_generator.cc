#include "npkit_generator.h"

#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "core/output_file.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

// A linear time in nanoseconds over the number of bytes.
struct Line {
  double latency_ns;
  double ns_per_byte;
};

struct Summary {
  Line copy;
  Line reduce;
  std::int64_t most_bytes;
  int measurements;       // number per size
  int most_measurements;  // number for the largest size
};

std::string measurements(const Line& line, const Summary& summary) {
  constexpr double kSpread = 0.02;
  constexpr int kDistinct = 7;
  std::string text;
  for (std::int64_t bytes = 4; bytes <= summary.most_bytes; bytes *= 2) {
    const double mean_ns = line.latency_ns + line.ns_per_byte * static_cast<double>(bytes);
    const bool last = bytes == summary.most_bytes;
    text += fmt::format("{}\"{}\": [", text.empty() ? "" : ", ", bytes);
    for (int i = 0; i < (last ? summary.most_measurements : summary.measurements); ++i) {
      const int offset = i % kDistinct - kDistinct / 2;
      const double factor = 1 + kSpread * offset;
      text += fmt::format("{}{:.1f}", i == 0 ? "" : ", ", mean_ns * factor);
    }
    text += ']';
  }
  return text;
}

core::Status write_summary(const fs::path& path, const Summary& summary) {
  return core::write_file(path, fmt::format("{{\"NPKIT_EVENT_GPU_DIRECT_RECV_COPY_SEND\": {{{}}},\n"
                                            "\"NPKIT_EVENT_GPU_RECV_REDUCE_SEND\": {{{}}}}}\n",
                                            measurements(summary.copy, summary),
                                            measurements(summary.reduce, summary)));
}

}  // namespace

core::Status write_npkit_summaries(const fs::path& simple, const fs::path& ll) {
  ASSAY_TRY(write_summary(simple, {.copy = {2300, 0.034},
                                   .reduce = {2400, 0.025},
                                   .most_bytes = 1 << 20,
                                   .measurements = 350,
                                   .most_measurements = 1000}));
  return write_summary(ll, {.copy = {105, 0.011},
                            .reduce = {176, 0.026},
                            .most_bytes = 32 << 10,
                            .measurements = 300,
                            .most_measurements = 33'000});
}

}  // namespace assay::bench
