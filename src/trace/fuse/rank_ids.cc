#include "trace/fuse/rank_ids.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "core/text.h"
#include "trace/reader/raw_event.h"

namespace assay::trace::fuse {
namespace {

// Ids below this are made unique by adding a multiple of it. All stay below 2^53, which is what a
// JavaScript number holds exactly.
constexpr std::int64_t kIdsPerRank = std::int64_t{1} << 32;
// Threads with a text for a number; real thread ids are below 2^22 or, of CUPTI, have 10 digits.
constexpr std::int64_t kFirstNamedThread = std::int64_t{1} << 40;

std::string without_quotes(std::string_view spelt) {
  std::string scratch;
  return std::string(unquoted(spelt, scratch));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string metadata_event(std::string_view what, int process, std::string_view args) {
  return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":0,"args":{{{}}}}})", what, process,
                     args);
}

}  // namespace

int RankIds::process(std::string_view spelt) {
  const std::string text = without_quotes(spelt);
  const int first = kProcessesPerRank * static_cast<int>(position_ + 1);
  const int next = first + static_cast<int>(processes_.size());
  return processes_.try_emplace(text, next).first->second;
}

std::int64_t RankIds::thread(std::string_view process_spelt, std::string_view spelt) {
  const std::string text = without_quotes(spelt);
  if (const auto number = whole_number(text)) return *number;
  const auto next = kFirstNamedThread + static_cast<std::int64_t>(named_threads_.size());
  return named_threads_.try_emplace({process(process_spelt), text}, next).first->second;
}

std::pair<int, std::int64_t> RankIds::track_of(const model::GpuEvent& event) {
  const model::Track& track = trace_.tracks[event.track];
  const std::string_view process_text = trace_.text(track.process);
  return {process(process_text), thread(process_text, trace_.text(track.thread))};
}

std::string RankIds::id(std::string_view spelt) const {
  const auto number = whole_number(without_quotes(spelt));
  if (!number || *number < 0 || *number >= kIdsPerRank) return std::string(spelt);
  return std::to_string(*number + static_cast<std::int64_t>(position_) * kIdsPerRank);
}

std::string RankIds::process_name(const std::string& text) const {
  for (const auto& [process, label] : trace_.process_labels)
    if (trace_.text(process) == text) return fmt::format("rank {} {}", rank_, trace_.text(label));
  return fmt::format("rank {} {}", rank_, text);
}

std::string RankIds::metadata() const {
  std::string events;
  const auto add = [&](const std::string& event) { events += ",\n" + event; };
  for (const auto& [text, process] : processes_) {
    const std::string name = core::json_escaped(process_name(text));
    add(metadata_event("process_name", process, fmt::format(R"("name":"{}")", name)));
    add(metadata_event("process_sort_index", process, fmt::format(R"("sort_index":{})", process)));
  }
  for (const auto& [thread, number] : named_threads_)
    add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                    thread.first, number, core::json_escaped(thread.second)));
  return events;
}

}  // namespace assay::trace::fuse
