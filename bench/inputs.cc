#include "inputs.h"

#include <fmt/core.h>
#include <stdlib.h>

#include "child_process.h"
#include "core/files.h"
#include "trace/pipelines.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 8;
constexpr int kRepetitionsOf8Mb = 2;          // of a sample of 3.7 MB
constexpr int kRepetitionsOf9000Calls = 188;  // of a sample of 48 collectives

constexpr const char* kUsualSample = "ctas_default";

fs::path sample_trace(const std::string& configuration, int rank) {
  return fs::path(ASSAY_SOURCE_DIR) / "samples" / "traces-2gpu" / configuration / "torch_profiler" /
         fmt::format("rank{}", rank % 2) / "trace.json.gz";
}

// Runs in its own process, so that generating does not count in the measured processes.
core::Status make(const Work& work) {
  static_cast<void>(ASSAY_TRY(measure_work(work)));
  return {};
}

}  // namespace

Inputs::~Inputs() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

core::Result<fs::path> Inputs::folder() {
  if (folder_.empty()) {
    std::string name = fs::temp_directory_path() / "assay_bench_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return core::Error{"cannot make " + name};
    folder_ = name;
  }
  return folder_;
}

core::Result<fs::path> Inputs::scratch() {
  const fs::path path = ASSAY_TRY(folder()) / "written";
  std::error_code ignored;
  fs::remove_all(path, ignored);
  return path;
}

core::Result<fs::path> Inputs::make_trace(const std::string& name, int size_mb) {
  const fs::path path = ASSAY_TRY(folder()) / name;
  if (fs::exists(path)) return path;
  ASSAY_TRY(make([&]() -> core::Result<double> {
    const TraceTemplate repeated =
        ASSAY_TRY(TraceTemplate::load(sample_trace(kUsualSample, 0), Keep::kAllEvents));
    const std::uint64_t wanted_bytes = std::uint64_t{1'000'000} * static_cast<unsigned>(size_mb);
    const auto repetitions = static_cast<int>(wanted_bytes / repeated.bytes()) + 1;
    ASSAY_TRY(repeated.write(path, repetitions));
    return 0.0;
  }));
  return path;
}

core::Result<fs::path> Inputs::trace(int size_mb) {
  return make_trace(fmt::format("rank0_{}mb.json", size_mb), size_mb);
}

core::Result<fs::path> Inputs::compressed_trace(int size_mb) {
  return make_trace(fmt::format("rank0_{}mb.json.gz", size_mb), size_mb);
}

core::Result<fs::path> Inputs::make_ranks(const std::string& name,
                                          const std::string& sample,
                                          Keep keep,
                                          int repetitions) {
  const fs::path configuration = ASSAY_TRY(folder()) / name / sample;
  if (fs::exists(configuration)) return configuration;
  ASSAY_TRY(make([&]() -> core::Result<double> {
    for (int rank = 0; rank < kRanks; ++rank) {
      TraceTemplate repeated = ASSAY_TRY(TraceTemplate::load(sample_trace(sample, rank), keep));
      repeated.set_rank(rank, kRanks);
      const fs::path folder = configuration / "torch_profiler" / fmt::format("rank{}", rank);
      ASSAY_TRY(repeated.write(folder / "trace.json", repetitions));
    }
    return 0.0;
  }));
  return configuration;
}

core::Result<fs::path> Inputs::eight_ranks(const std::string& sample) {
  return make_ranks("eight_ranks", sample, Keep::kAllEvents, kRepetitionsOf8Mb);
}

core::Result<fs::path> Inputs::analyzed_ranks(const std::string& sample) {
  const fs::path configuration = ASSAY_TRY(eight_ranks(sample));
  if (fs::exists(configuration / trace::kAnalysisFolder)) return configuration;
  static_cast<void>(ASSAY_TRY(
      measure_program({ASSAY_PROGRAM, "trace", "analyze", configuration.string(), "--quiet"})));
  return configuration;
}

core::Result<fs::path> Inputs::many_collectives(const std::string& sample) {
  return make_ranks("many_collectives", sample, Keep::kCollectives, kRepetitionsOf9000Calls);
}

}  // namespace assay::bench
