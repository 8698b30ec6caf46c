#include "trace_generator.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <set>

#include "core/byte_source.h"
#include "core/files.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/raw_event.h"

namespace assay::bench {
namespace {

// The time from one repetition to the next; the same on each rank, so that clocks stay aligned.
constexpr std::int64_t kPeriodNs = 100'000'000;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the number after the first `key` in an event; empty if there is none.
std::string_view number_after(std::string_view event, std::string_view key) {
  const std::size_t at = event.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + key.size();
  const std::size_t end = event.find_first_not_of("-.0123456789", begin);
  return event.substr(begin, std::min(end, event.size()) - begin);
}

// Returns whether an event must not be repeated: metadata and the profiler's own span describe the
// whole trace.
bool stays_single(std::string_view event) {
  return contains(event, R"("ph": "M")") || contains(event, R"("ph": "i")") ||
         contains(event, R"("cat": "Trace")");
}

bool is_collective_kernel(std::string_view event) {
  return contains(event, R"("cat": "kernel")") && contains(event, "\"Collective name\"");
}

struct SampleEvents {
  std::vector<std::string> events;
  trace::CutDocument document;
};

core::Result<SampleEvents> read_sample(const std::filesystem::path& path) {
  const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(path));
  SampleEvents sample;
  sample.document = trace::cut_events(*source, [&](const trace::EventBatch& batch) {
    for (const auto& range : batch.events)
      sample.events.emplace_back(batch.text + range.begin, range.end - range.begin);
  });
  if (!sample.document.read_error.empty()) return core::Error{sample.document.read_error};
  return sample;
}

void keep_collectives(std::vector<std::string>& events) {
  constexpr std::string_view kCorrelation = "\"correlation\": ";
  std::set<std::string, std::less<>> correlations;
  for (const std::string& event : events) {
    if (is_collective_kernel(event)) correlations.emplace(number_after(event, kCorrelation));
  }
  std::erase_if(events, [&](const std::string& event) {
    const std::string_view correlation = number_after(event, kCorrelation);
    const bool of_collective = !correlation.empty() && correlations.count(correlation) > 0;
    return !stays_single(event) && !of_collective && !contains(event, "ProfilerStep#");
  });
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

// zlib's "T" mode writes plain text.
core::Status append(gzFile file, std::string_view text, const std::filesystem::path& path) {
  if (gzwrite(file, text.data(), static_cast<unsigned>(text.size())) !=
      static_cast<int>(text.size())) {
    return core::Error{fmt::format("cannot write '{}'", path.string())};
  }
  return {};
}

}  // namespace

core::Result<TraceTemplate> TraceTemplate::load(const std::filesystem::path& sample, Keep keep) {
  SampleEvents read = ASSAY_TRY(read_sample(sample));
  if (keep == Keep::kCollectives) keep_collectives(read.events);
  const std::string_view rest = read.document.rest;
  const std::size_t opening = rest.find('[', rest.find("\"traceEvents\""));
  TraceTemplate result;
  result.head_ = rest.substr(0, opening + 1);
  result.tail_ = rest.substr(opening + 1);
  for (const std::string& event : read.events) {
    if (stays_single(event)) result.head_ += "\n  " + event + ',';
  }
  for (const std::string& event : read.events) {
    if (!stays_single(event)) result.add_event(event);
  }
  if (result.last_ns_ - result.first_ns_ >= kPeriodNs) {
    return core::Error{fmt::format("'{}' is too long to be repeated", sample.string())};
  }
  return result;
}

void TraceTemplate::add_event(std::string_view event) {
  struct Key {
    std::string_view text;
    Counter counter;
  };

  constexpr std::array kKeys{Key{"ProfilerStep#", Counter::kStep},
                             Key{"\"ts\": ", Counter::kTime},
                             Key{"\"id\": ", Counter::kId},
                             Key{"\"External id\": ", Counter::kId},
                             Key{"\"correlation\": ", Counter::kId},
                             Key{"\"Ev Idx\": ", Counter::kId},
                             Key{"\"Sequence number\": ", Counter::kId}};
  pending_ += "\n  ";
  while (!event.empty()) {
    const Key* next = nullptr;
    std::size_t next_at = event.size();
    for (const Key& key : kKeys) {
      const std::size_t at = event.find(key.text);
      if (at >= next_at) continue;
      next = &key;
      next_at = at;
    }
    if (next == nullptr) break;
    const std::string_view number = number_after(event, next->text);
    const std::size_t begin = next_at + next->text.size();
    add_piece(event.substr(0, begin), number, next->counter);
    event.remove_prefix(begin + number.size());
  }
  pending_ += event;
  pending_ += ',';
}

void TraceTemplate::add_piece(std::string_view text, std::string_view number, Counter counter) {
  const bool time = counter == Counter::kTime;
  const std::int64_t value = (time ? trace::nanoseconds(number) : trace::integer(number)).value;
  pending_ += text;
  pieces_.push_back({std::move(pending_), counter, value});
  pending_.clear();
  switch (counter) {
    case Counter::kTime:
      first_ns_ = std::min(first_ns_, value);
      last_ns_ = std::max(last_ns_, value);
      break;
    case Counter::kId:
      last_id_ = std::max(last_id_, value);
      break;
    case Counter::kStep:
      first_step_ = std::min(first_step_, value);
      last_step_ = std::max(last_step_, value);
      break;
  }
}

void TraceTemplate::set_rank(int rank, int world_size) {
  std::string ranks = "[";
  for (int r = 0; r < world_size; ++r)
    ranks += fmt::format("{}{}", r == 0 ? "" : ", ", r);
  ranks += ']';
  const std::string group = fmt::format(R"("Group size": {})", world_size);
  const std::string group_ranks = fmt::format(R"("Process Group Ranks": "{}")", ranks);
  const std::string own = fmt::format(R"("Rank": {})", rank);
  for (Piece& piece : pieces_) {
    replace_all(piece.text, R"("Group size": 2)", group);
    replace_all(piece.text, R"("Process Group Ranks": "[0, 1]")", group_ranks);
    replace_all(piece.text, rank % 2 == 0 ? R"("Rank": 0)" : R"("Rank": 1)", own);
  }
  const std::size_t info = head_.find("\"distributedInfo\"");
  std::string header = head_.substr(info, head_.find('\n', info) - info);
  const std::size_t old_size = header.size();
  replace_all(header, rank % 2 == 0 ? R"("rank": 0)" : R"("rank": 1)",
              fmt::format(R"("rank": {})", rank));
  replace_all(header, R"("world_size": 2)", fmt::format(R"("world_size": {})", world_size));
  replace_all(header, R"("pg_size": 2)", fmt::format(R"("pg_size": {})", world_size));
  replace_all(header, R"("ranks": [0, 1])", fmt::format(R"("ranks": {})", ranks));
  head_.replace(info, old_size, header);
}

std::int64_t TraceTemplate::shifted(const Piece& piece, int index) const {
  switch (piece.counter) {
    case Counter::kTime:
      return piece.value + index * kPeriodNs;
    case Counter::kId:
      return piece.value > 0 ? piece.value + index * (last_id_ + 1) : piece.value;
    case Counter::kStep:
      return piece.value + index * (last_step_ - first_step_ + 1);
  }
  return piece.value;
}

std::string TraceTemplate::repetition(int index) const {
  std::string text;
  text.reserve(bytes() + bytes() / 8);
  std::array<char, 24> digits{};
  for (const Piece& piece : pieces_) {
    text += piece.text;
    const std::int64_t value = shifted(piece, index);
    const bool time = piece.counter == Counter::kTime;
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), time ? value / 1000 : value);
    text.append(digits.data(), end.ptr);
    if (!time) continue;
    const auto decimals = static_cast<int>(value % 1000);
    text += '.';
    for (const int unit : {100, 10, 1})
      text += static_cast<char>('0' + decimals / unit % 10);
  }
  return text + pending_;
}

std::uint64_t TraceTemplate::bytes() const {
  std::uint64_t total = pending_.size();
  for (const Piece& piece : pieces_) {
    constexpr std::uint64_t kTimeDigits = 17;
    constexpr std::uint64_t kIdDigits = 5;
    total += piece.text.size() + (piece.counter == Counter::kTime ? kTimeDigits : kIdDigits);
  }
  return total;
}

core::Status TraceTemplate::write(const std::filesystem::path& path, int repetitions) const {
  ASSAY_TRY(core::make_directories(path.parent_path()));
  const bool compressed = path.extension() == ".gz";
  const std::unique_ptr<gzFile_s, CloseGzip> file(gzopen(path.c_str(), compressed ? "wb1" : "wbT"));
  if (!file) return core::Error{fmt::format("cannot write '{}'", path.string())};
  ASSAY_TRY(append(file.get(), head_, path));
  for (int i = 0; i < repetitions; ++i) {
    std::string text = repetition(i);
    if (i + 1 == repetitions) text.pop_back();  // no comma after the last event
    ASSAY_TRY(append(file.get(), text, path));
  }
  return append(file.get(), tail_, path);
}

}  // namespace assay::bench
