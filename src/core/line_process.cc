#include "core/line_process.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/files.h"
#include "core/text.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kMark = "ASSAY_WORKER_ID";

// A worker that hangs does not heed SIGTERM, and Ctrl-C has to take less than a second.
constexpr milliseconds kGrace{300};

// The time that a worker has to exit after it closed its output.
constexpr milliseconds kTimeToExit{2000};

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kLongestQuote = 300;

std::string unique_mark() {
  static int counter = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return fmt::format("{}.{}.{}", ::getpid(), now, ++counter);
}

std::uintmax_t size_of(const fs::path& file) {
  std::error_code code;
  const std::uintmax_t size = fs::file_size(file, code);
  return code ? 0 : size;
}

std::string end_text(const ProcessEnd& end) {
  if (end.signal != 0) {
    return fmt::format("the worker was ended by signal {} ({})", end.signal,
                       ::strsignal(end.signal));
  }
  return fmt::format("the worker exited with code {}", end.exit_code);
}

// Its last line that is not empty.
std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t line_end = text.find_last_of('\n');
  return line_end == std::string_view::npos ? text : text.substr(line_end + 1);
}

milliseconds left_until(LineProcess::Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - LineProcess::Clock::now());
  return std::max(left, milliseconds(0));
}

}  // namespace

Result<LineProcess> LineProcess::start(const std::vector<std::string>& arguments,
                                       const fs::path& log,
                                       const EnvironmentChanges& environment) {
  const std::uintmax_t log_start = size_of(log);
  LineProcess started(ASSAY_TRY(KeptProcess::start({
                          .arguments = arguments,
                          .environment = environment,
                          .log = log,
                          .streams = Launch::Streams::kPipes,
                          .mark = {kMark, unique_mark()},
                          .grace = kGrace,
                      })),
                      log);
  started.log_start_ = log_start;
  return started;
}

LineProcess::LineProcess(KeptProcess process, fs::path log)
    : process_(std::move(process)), log_(std::move(log)) {}

Status LineProcess::send(const std::string& line) {
  const std::string whole = line + '\n';
  for (std::size_t sent = 0; sent < whole.size();) {
    const ssize_t count = ::write(process_.input(), whole.data() + sent, whole.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{"the worker reads no more requests"};
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

std::variant<std::string, NoLine> LineProcess::receive(Clock::time_point until) {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > kLongestLine) {
      return NoLine{.why = NoLine::Why::kUnreadable, .what = "the worker wrote a line without end"};
    }
    if (closed_at_) return ended(until);
    pollfd watched{process_.output(), POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(left_until(until).count())) <= 0) return NoLine{};
    std::array<char, 1 << 16> buffer{};
    const ssize_t count = ::read(process_.output(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      closed_at_ = Clock::now();
    } else {
      unread_.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
}

NoLine LineProcess::ended(Clock::time_point until) {
  const Clock::time_point give_up_at = *closed_at_ + kTimeToExit;
  if (!end_) end_ = process_.wait(left_until(std::min(until, give_up_at)));
  if (end_) return {NoLine::Why::kEnded, end_, end_text(*end_) + last_words()};
  if (Clock::now() < give_up_at) return {};
  return {NoLine::Why::kEnded, {}, "the worker closed its output" + last_words()};
}

void LineProcess::end(milliseconds patience) {
  process_.close_input();
  const Clock::time_point give_up_at = Clock::now() + patience;
  while (!end_ && Clock::now() < give_up_at)
    end_ = process_.wait(left_until(give_up_at));
  process_.end();
}

bool LineProcess::is_gone() {
  if (!end_) end_ = process_.wait(milliseconds(0));
  return end_.has_value();
}

std::string LineProcess::last_words() const {
  std::ifstream log(log_, std::ios::binary);
  const std::uintmax_t size = size_of(log_);
  constexpr std::uintmax_t kTail = 4096;
  const std::uintmax_t start = std::max(log_start_, size < kTail ? 0 : size - kTail);
  log.seekg(static_cast<std::streamoff>(start));
  std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
  const std::string words = valid_utf8(last_line(text).substr(0, kLongestQuote));
  return words.empty() ? "" : fmt::format("; it said: {}", words);
}

}  // namespace assay::core
