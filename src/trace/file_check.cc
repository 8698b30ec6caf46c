#include "trace/file_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "core/byte_source.h"
#include "core/parallel.h"
#include "core/text.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/reader.h"
#include "trace/run.h"

namespace assay::trace {
namespace {

using State = TraceFileCheck::State;

constexpr std::size_t kChunkBytes = std::size_t{1} << 17;
constexpr std::size_t kRanksNamed = 8;

// Returns "12,345" for 12345.
std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string counted_events(std::uint64_t count) {
  return with_commas(count) + (count == 1 ? " event" : " events");
}

// Two events are separated by one comma and white space.
bool is_separator(std::string_view text) {
  std::size_t commas = 0;
  for (const char c : text) {
    if (c == ',') {
      ++commas;
    } else if (std::strchr(" \t\r\n", c) == nullptr) {
      return false;
    }
  }
  return commas == 1;
}

// Counts damage that is cheap to find: zero bytes, which a full disk or a lost host leaves in a
// file, and anything but commas between events.
class EventCheck {
 public:
  void add(const EventBatch& batch) {
    count_ += batch.events.size();
    if (std::memchr(batch.text, 0, batch.size) != nullptr) ++damaged_places_;
    for (std::size_t i = 1; i < batch.events.size(); ++i) {
      const std::size_t begin = batch.events[i - 1].end;
      if (!is_separator({batch.text + begin, batch.events[i].begin - begin})) ++damaged_places_;
    }
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }

  [[nodiscard]] std::uint64_t damaged_places() const { return damaged_places_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t damaged_places_ = 0;
};

std::string damage_in_words(const CutDocument& cut, const EventCheck& events, bool valid_rest) {
  const std::string after = "after " + counted_events(events.count());
  if (!cut.read_error.empty()) return fmt::format("{} ({})", cut.read_error, after);
  if (cut.truncated) return "cut off " + after;
  const auto places = static_cast<std::uint64_t>(cut.misplaced_brackets) + events.damaged_places();
  if (places > 0)
    return fmt::format("not JSON in {} {}", with_commas(places), places == 1 ? "place" : "places");
  return valid_rest ? "" : "not JSON beside its events";
}

void check_content(core::ByteSource& source, TraceFileCheck& file) {
  EventCheck events;
  const CutDocument cut = cut_events(
      source, [&events](const EventBatch& batch) { events.add(batch); }, kChunkBytes);
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
  if (!file.damage.empty()) file.state = State::kDamaged;
}

TraceFileCheck check_file(const RankFile& rank_file) {
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

// Returns "rank 5", "ranks 5 and 7" or "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 56 more".
std::string ranks_in_words(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kRanksNamed); ++i)
    names.push_back(std::to_string(ranks[i]));
  std::string last = names.back();
  if (ranks.size() > kRanksNamed) {
    last = fmt::format("{} more", ranks.size() - kRanksNamed);
  } else {
    names.pop_back();
  }
  if (names.empty()) return "rank " + last;
  return fmt::format("ranks {} and {}", core::join(names, ", "), last);
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

core::Result<TraceCheck> check_traces(const std::filesystem::path& folder, unsigned threads) {
  TraceCheck check;
  const std::vector<RankFile> files = ASSAY_TRY(find_rank_files(folder, check.warnings));
  check.files.resize(files.size());
  core::parallel_for(files.size(), threads,
                     [&](std::size_t i) { check.files[i] = check_file(files[i]); });
  check_ranks(check);
  return check;
}

}  // namespace assay::trace
