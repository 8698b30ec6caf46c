#include "allreduce/bench/worker.h"

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

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kWorkerName = "assay-worker";
constexpr const char* kMark = "ASSAY_WORKER_ID";

// A worker that hangs does not heed SIGTERM, and Ctrl-C has to take less than a second.
constexpr milliseconds kGrace{300};

// Between the end of a worker's output and its own.
constexpr milliseconds kTimeToExit{2000};

constexpr std::size_t kLongestLine = 1 << 20;
constexpr std::size_t kLongestQuote = 300;

std::string unique_mark() {
  static int counter = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return fmt::format("{}.{}.{}", ::getpid(), now, ++counter);
}

std::vector<std::string> arguments_of(const WorkerLaunch& launch) {
  std::vector<std::string> arguments = {launch.program.string(), "allreduce", "--tp",
                                        std::to_string(launch.world_size)};
  const auto add = [&](const char* name, const std::string& value) {
    arguments.insert(arguments.end(), {name, value});
  };
  if (!launch.gpus.empty()) {
    std::vector<std::string> gpus;
    for (const int gpu : launch.gpus)
      gpus.push_back(std::to_string(gpu));
    add("--gpus", core::join(gpus, ","));
  }
  if (!launch.table.empty()) add("--table", launch.table.string());
  if (launch.rank) {
    add("--rank", std::to_string(launch.rank->rank));
    add("--rendezvous", launch.rank->rendezvous.string());
  }
  return arguments;
}

std::uintmax_t size_of(const fs::path& file) {
  std::error_code code;
  const std::uintmax_t size = fs::file_size(file, code);
  return code ? 0 : size;
}

std::string end_text(const core::ProcessEnd& end) {
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

milliseconds left_until(Worker::Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Worker::Clock::now());
  return std::max(left, milliseconds(0));
}

}  // namespace

core::Result<Worker> Worker::start(const WorkerLaunch& launch) {
  const std::uintmax_t log_start = size_of(launch.log);
  Worker worker(ASSAY_TRY(core::KeptProcess::start({
                    .arguments = arguments_of(launch),
                    .log = launch.log,
                    .streams = core::Launch::Streams::kPipes,
                    .mark = {kMark, unique_mark()},
                    .grace = kGrace,
                })),
                launch.log);
  worker.log_start_ = log_start;
  return worker;
}

Worker::Worker(core::KeptProcess process, fs::path log)
    : process_(std::move(process)), log_(std::move(log)) {}

core::Status Worker::send(const CellRequest& request) {
  const std::string line = request_line(request) + '\n';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = ::write(process_.input(), line.data() + sent, line.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return core::Error{"the worker reads no more requests"};
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

std::variant<WorkerMessage, NoMessage> Worker::receive(Clock::time_point until) {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      auto message = parse_message(line);
      if (message.ok()) return std::move(message).value();
      return NoMessage{.why = NoMessage::Why::kUnreadable,
                       .what = "cannot understand the worker: " + message.error().message};
    }
    if (unread_.size() > kLongestLine) {
      return NoMessage{.why = NoMessage::Why::kUnreadable,
                       .what = "the worker wrote a line without end"};
    }
    pollfd watched{process_.output(), POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(left_until(until).count())) <= 0) return NoMessage{};
    std::array<char, 1 << 16> buffer{};
    const ssize_t count = ::read(process_.output(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return ended();
    unread_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

NoMessage Worker::ended() {
  const Clock::time_point give_up_at = Clock::now() + kTimeToExit;
  while (!end_ && Clock::now() < give_up_at)
    end_ = process_.wait(left_until(give_up_at));
  if (end_) return {NoMessage::Why::kEnded, end_, end_text(*end_) + last_words()};
  return {NoMessage::Why::kEnded, {}, "the worker closed its output" + last_words()};
}

void Worker::end(milliseconds patience) {
  process_.close_input();
  const Clock::time_point give_up_at = Clock::now() + patience;
  while (!end_ && Clock::now() < give_up_at)
    end_ = process_.wait(left_until(give_up_at));
  process_.end();
}

std::string Worker::last_words() const {
  std::ifstream log(log_, std::ios::binary);
  const std::uintmax_t size = size_of(log_);
  constexpr std::uintmax_t kTail = 4096;
  const std::uintmax_t start = std::max(log_start_, size < kTail ? 0 : size - kTail);
  log.seekg(static_cast<std::streamoff>(start));
  std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
  const std::string words = core::valid_utf8(last_line(text).substr(0, kLongestQuote));
  return words.empty() ? "" : fmt::format("; it said: {}", words);
}

core::Result<fs::path> find_worker() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (core::is_regular_file(folder / kWorkerName)) return folder / kWorkerName;
  return core::Error{fmt::format(
      "no {} beside {}; this build has no CUDA part: build it where CUDA is, or name the program "
      "with --worker",
      kWorkerName, (folder / "assay").string())};
}

}  // namespace assay::allreduce
