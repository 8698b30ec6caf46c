#include "trace/file_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/byte_source.h"
#include "core/parallel.h"
#include "core/text.h"
#include "trace/lost_ranks.h"
#include "trace/reader/damage.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/reader.h"

namespace assay::trace {
namespace {

using State = TraceFileCheck::State;

constexpr std::size_t kChunkBytes = std::size_t{1} << 17;

// Returns the value of the event's key "cat", with its quotes, or "". Profilers write the key near
// the beginning, so most of the event is not read. A text before it that ends in the same letters
// hides it, which does not matter: one event of all has to be found.
std::string_view first_category(std::string_view event) {
  // A search that began with the key's first quote would stop at every quote, ten times slower.
  constexpr std::string_view kKeyEnd = "cat\"";
  constexpr std::string_view kBetween = " \t\r\n:";
  const std::size_t key = event.find(kKeyEnd);
  if (key == std::string_view::npos || key == 0 || event[key - 1] != '"') return "";
  event.remove_prefix(key + kKeyEnd.size());
  event.remove_prefix(std::min(event.find_first_not_of(kBetween), event.size()));
  const std::size_t end = event.find('"', 1);
  return end == std::string_view::npos ? "" : event.substr(0, end + 1);
}

bool has_gpu_work(const EventBatch& batch) {
  return std::any_of(batch.events.begin(), batch.events.end(), [&](const EventBatch::Range& range) {
    const auto category = first_category({batch.text + range.begin, range.end - range.begin});
    return category == "\"kernel\"" || category == "\"gpu_memcpy\"" || category == "\"gpu_memset\"";
  });
}

void check_content(core::ByteSource& source, TraceFileCheck& file) {
  EventCheck events;
  bool gpu_work = false;
  const auto check_batch = [&](const EventBatch& batch) {
    events.add(batch);
    gpu_work = gpu_work || has_gpu_work(batch);
  };
  const CutDocument cut = cut_events(source, check_batch, kChunkBytes);
  const core::Status readable = check_content(cut, file.path.string());
  if (!readable.ok()) {
    file.state = State::kUnreadable;
    file.damage = readable.error().message;
    return;
  }
  const DocumentFacts facts = read_document(cut.rest);
  file.event_count = events.count();
  if (facts.rank) file.rank = facts.rank;
  file.world_size = facts.world_size;
  file.damage = damage_in_words(cut, events, facts.valid);
  if (!file.damage.empty()) {
    file.state = State::kDamaged;
  } else if (!gpu_work) {
    file.state = State::kNoGpuWork;
    file.damage = file.event_count == 0 ? "no events" : "no GPU work";
  }
}

// A file whose rank is unknown may belong to any rank, so no rank is then reported as missing.
void check_ranks(TraceCheck& check) {
  std::map<int, int> files_of_rank;
  int world = 0;
  for (const TraceFileCheck& file : check.files) {
    if (!file.rank) continue;
    ++files_of_rank[*file.rank];
    world = std::max(world, *file.rank + 1);
    check.world_size = std::max(check.world_size, file.world_size.value_or(0));
  }
  for (const auto& [rank, files] : files_of_rank)
    if (files > 1) check.ranks_given_twice.push_back(rank);
  const bool all_known =
      std::all_of(check.files.begin(), check.files.end(),
                  [](const TraceFileCheck& file) { return file.rank.has_value(); });
  for (int rank = 0; all_known && rank < std::max(world, check.world_size); ++rank)
    if (files_of_rank.count(rank) == 0) check.missing_ranks.push_back(rank);
}

}  // namespace

std::uint64_t TraceCheck::event_count() const {
  std::uint64_t count = 0;
  for (const TraceFileCheck& file : files)
    count += file.event_count;
  return count;
}

std::string TraceCheck::problem() const {
  std::vector<std::string> problems;
  for (const TraceFileCheck& file : files) {
    if (file.state == State::kWhole) continue;
    const std::string name =
        file.rank ? fmt::format("rank {}", *file.rank) : file.path.filename().string();
    problems.push_back(name + ": " + file.damage);
  }
  if (!missing_ranks.empty()) {
    const std::string total = world_size > 0 ? fmt::format(" of {}", world_size) : "";
    problems.push_back(ranks_in_words(missing_ranks) + total + " missing");
  }
  if (!ranks_given_twice.empty())
    problems.push_back(ranks_in_words(ranks_given_twice) + " given twice");
  return core::join(problems, "; ");
}

TraceFileCheck check_trace(const RankFile& rank_file) {
  TraceFileCheck file{.path = rank_file.path, .rank = rank_file.rank};
  auto source = core::open_bytes(file.path);
  if (source.ok()) {
    check_content(*source.value(), file);
  } else {
    file.state = State::kUnreadable;
    file.damage = source.error().message;
  }
  return file;
}

core::Result<TraceCheck> check_traces(const std::filesystem::path& folder, unsigned threads) {
  TraceCheck check;
  const std::vector<RankFile> files = ASSAY_TRY(find_rank_files(folder, check.warnings));
  check.files.resize(files.size());
  core::parallel_for(files.size(), threads,
                     [&](std::size_t i) { check.files[i] = check_trace(files[i]); });
  check_ranks(check);
  return check;
}

}  // namespace assay::trace
