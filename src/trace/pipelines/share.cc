#include "trace/pipelines/share.h"

#include <fmt/core.h>

#include <atomic>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "report/book.h"
#include "trace/pipelines/prepare.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

core::Result<RankPart> read_part(const RankFile& file,
                                 std::size_t position,
                                 const ShareWork& work,
                                 const OnProgress& on_progress) {
  ASSAY_TRY(core::check_interrupt());
  Reading reading = reading_of(work.options);
  reading.damage = work.damage;
  const RankTrace rank = ASSAY_TRY(read_rank(file, position, reading, on_progress));
  return part_of(analyze_rank(rank.trace, work.options, rank.rank), work.keep);
}

}  // namespace

std::vector<std::size_t> share_of(std::size_t files, const core::ProcessGroup* processes) {
  const auto step = static_cast<std::size_t>(processes == nullptr ? 1 : processes->size());
  const auto first = static_cast<std::size_t>(processes == nullptr ? 0 : processes->rank());
  std::vector<std::size_t> positions;
  for (std::size_t i = first; i < files; i += step)
    positions.push_back(i);
  return positions;
}

unsigned threads_of(const Request& request) {
  return request.processes != nullptr && request.threads == 0 ? 1 : request.threads;
}

void read_share(std::span<const RankFile> files,
                std::span<const std::size_t> positions,
                const ShareWork& work,
                core::Progress& progress,
                ReadParts& parts) {
  std::atomic<bool> ends = false;
  const auto on_progress = [&](std::uint64_t bytes) { progress.advance(bytes); };
  for (const std::size_t position : positions)
    progress.add_total(total_bytes(files.subspan(position, 1)));
  core::parallel_for(positions.size(), work.threads, [&](std::size_t i) {
    if (work.processes != nullptr && work.processes->has_message(0)) ends = true;
    if (ends) return;
    const std::size_t position = positions[i];
    parts[position].emplace(read_part(files[position], position, work, on_progress));
  });
}

core::Result<std::vector<fs::path>> write_individual_report(const model::Book& book,
                                                            int rank,
                                                            const Request& request,
                                                            const fs::path& folder,
                                                            ReportNames names) {
  ASSAY_TRY(core::check_interrupt());
  if (names == ReportNames::kDocumented)
    return write_book(book, folder / fmt::format("rank{}_individual_report", rank), request.output);
  const fs::path path = folder / fmt::format("perf_rank{}.xlsx", rank);
  ASSAY_TRY(report::write_xlsx(book, path));
  return std::vector<fs::path>{path};
}

}  // namespace assay::trace
