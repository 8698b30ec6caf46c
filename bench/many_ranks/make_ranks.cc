// Makes the traces of a run of very many ranks, to measure with:
//
//   make_ranks FOLDER RANKS REPETITIONS [all|collectives]
//
// FOLDER then has torch_profiler/rank0 and on, each with a trace of its own. 380 repetitions of
// the bundled step make 1.4 GB of JSON a rank, 100 MB compressed.
#include <fmt/core.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "core/parallel.h"
#include "trace_generator.h"

namespace {

namespace fs = std::filesystem;
using assay::bench::Keep;
using assay::bench::TraceTemplate;

assay::core::Status make_rank(
    const fs::path& folder, int rank, int ranks, int repetitions, Keep keep) {
  const fs::path sample = fs::path(ASSAY_SOURCE_DIR) / "samples" / "traces-2gpu" / "ctas_default" /
                          "torch_profiler" / fmt::format("rank{}", rank % 2) / "trace.json.gz";
  TraceTemplate repeated = ASSAY_TRY(TraceTemplate::load(sample, keep));
  repeated.set_rank(rank, ranks);
  return repeated.write(folder / "torch_profiler" / fmt::format("rank{}", rank) / "trace.json.gz",
                        repetitions);
}

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int main(int count, char** arguments) {
  const int ranks = count > 3 ? number(arguments[2]) : 0;
  const int repetitions = count > 3 ? number(arguments[3]) : 0;
  if (ranks < 1 || repetitions < 1) {
    std::fputs("usage: make_ranks FOLDER RANKS REPETITIONS [all|collectives]\n", stderr);
    return 2;
  }
  const bool collectives = count > 4 && std::string_view(arguments[4]) == "collectives";
  const Keep keep = collectives ? Keep::kCollectives : Keep::kAllEvents;
  bool failed = false;
  assay::core::parallel_for(static_cast<std::size_t>(ranks), 0, [&](std::size_t rank) {
    const auto made = make_rank(arguments[1], static_cast<int>(rank), ranks, repetitions, keep);
    if (made.ok()) return;
    std::fprintf(stderr, "make_ranks: %s\n", made.error().message.c_str());
    failed = true;
  });
  return failed ? 1 : 0;
}
