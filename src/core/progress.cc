#include "core/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/terminal.h"

namespace assay::core {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr const char* kWipeLine = "\r\033[K";

std::string time_left(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s left", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s left", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min left", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_text(std::string_view doing,
                          std::uint64_t done_bytes,
                          std::uint64_t total_bytes,
                          double elapsed_seconds) {
  const double done_mb = static_cast<double>(done_bytes) / 1e6;
  const double total_mb = static_cast<double>(std::max(total_bytes, done_bytes)) / 1e6;
  std::string text = fmt::format("{} {:.1f} of {:.1f} MB", doing, done_mb, total_mb);
  const double mb_per_second = elapsed_seconds > 0 ? done_mb / elapsed_seconds : 0;
  if (mb_per_second > 0) {
    text += fmt::format(", {:.0f} MB/s, {}", mb_per_second,
                        time_left((total_mb - done_mb) / mb_per_second));
  }
  return text;
}

Progress::Progress(std::string doing, Show show, std::FILE* stream)
    : doing_(std::move(doing)),
      stream_(stream),
      shown_(show == Show::kOnTerminal && is_terminal(stream)) {}

Progress::~Progress() {
  clear();
}

void Progress::add_total(std::uint64_t bytes) {
  total_bytes_ += bytes;
}

void Progress::advance(std::uint64_t bytes) {
  done_bytes_ += bytes;
  if (!shown_) return;
  // A thread that finds another one drawing has nothing to add.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const Clock::time_point now = Clock::now();
  if (now - drawn_ >= kRedrawEvery) draw(now);
}

void Progress::clear() {
  const std::scoped_lock lock(mutex_);
  if (!on_screen_) return;
  std::fputs(kWipeLine, stream_);
  std::fflush(stream_);
  on_screen_ = false;
}

void Progress::draw(Clock::time_point now) {
  const double elapsed_seconds = std::chrono::duration<double>(now - start_).count();
  std::string text = progress_text(doing_, done_bytes_, total_bytes_, elapsed_seconds);
  // A line that wraps could not be wiped.
  text.resize(std::min(text.size(), terminal_columns(stream_, 80) - 1));
  fmt::print(stream_, "{}{}", kWipeLine, text);
  std::fflush(stream_);
  drawn_ = now;
  on_screen_ = true;
}

}  // namespace assay::core
