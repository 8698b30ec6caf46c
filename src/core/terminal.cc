#include "core/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/task.h"
#include "core/text.h"

namespace assay::core {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr const char* kWipeLine = "\r\033[K";
constexpr std::size_t kUsualColumns = 80;

constexpr std::chrono::milliseconds kRedrawEvery{100};

}  // namespace

bool is_terminal(std::FILE* stream) {
  return ::isatty(::fileno(stream)) == 1;
}

bool shows_colors(std::FILE* stream) {
  return is_terminal(stream) && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

std::size_t terminal_columns(std::FILE* stream, std::size_t otherwise) {
  winsize size{};
  if (is_terminal(stream) && ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const char* given = std::getenv("COLUMNS");
  const long columns = given == nullptr ? 0 : std::strtol(given, nullptr, 10);
  return columns >= 20 && columns <= 10'000 ? static_cast<std::size_t>(columns) : otherwise;
}

TerminalLine::TerminalLine(Show show, std::FILE* stream)
    : stream_(stream),
      shown_(show == Show::kOnTerminal && Task::current() == nullptr && is_terminal(stream)) {}

TerminalLine::~TerminalLine() {
  clear();
}

void TerminalLine::draw(std::string_view text) {
  if (!shown_) return;
  // A line that wraps could not be wiped.
  const std::string line = printable_line(text);
  fmt::print(stream_, "{}{}", kWipeLine,
             first_characters(line, terminal_columns(stream_, kUsualColumns) - 1));
  std::fflush(stream_);
  on_screen_ = true;
}

void TerminalLine::clear() {
  if (!on_screen_) return;
  std::fputs(kWipeLine, stream_);
  std::fflush(stream_);
  on_screen_ = false;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

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
    : doing_(std::move(doing)), task_(Task::current()), line_(show, stream) {}

void Progress::add_total(std::uint64_t bytes) {
  total_bytes_ += bytes;
}

void Progress::advance(std::uint64_t bytes) {
  done_bytes_ += bytes;
  if (!line_.shown() && task_ == nullptr) return;
  // While another thread draws, this one need not.
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
  drawn_ = now;
  if (task_ != nullptr) return task_->tell(doing_, done_bytes_, total_bytes_);
  const double elapsed_seconds = std::chrono::duration<double>(now - start_).count();
  line_.draw(progress_text(doing_, done_bytes_, total_bytes_, elapsed_seconds));
}

}  // namespace assay::core
