#include "core/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace assay::core {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};

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
                        duration_text((total_mb - done_mb) / mb_per_second) + " left");
  }
  return text;
}

Progress::Progress(std::string doing, Show show, std::FILE* stream)
    : doing_(std::move(doing)), line_(show, stream) {}

void Progress::add_total(std::uint64_t bytes) {
  total_bytes_ += bytes;
}

void Progress::advance(std::uint64_t bytes) {
  done_bytes_ += bytes;
  if (!line_.shown()) return;
  // A thread that finds another one drawing has nothing to add.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const Clock::time_point now = Clock::now();
  if (now - drawn_ >= kRedrawEvery) draw(now);
}

void Progress::clear() {
  const std::scoped_lock lock(mutex_);
  line_.clear();
}

void Progress::draw(Clock::time_point now) {
  const double elapsed_seconds = std::chrono::duration<double>(now - start_).count();
  line_.draw(progress_text(doing_, done_bytes_, total_bytes_, elapsed_seconds));
  drawn_ = now;
}

}  // namespace assay::core
