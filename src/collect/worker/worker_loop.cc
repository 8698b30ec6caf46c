#include "collect/worker/worker_loop.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>

#include "collect/worker/protocol.h"
#include "collect/worker/run_case.h"

namespace assay::collect {
namespace {

// Standard output for our lines alone: libraries that print go to standard error.
int take_standard_output() {
  const int ours = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return ours;
}

class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  void write(const WorkerMessage& message) {
    const std::string line = message_line(message) + "\n";
    for (std::size_t done = 0; done < line.size() && is_read_;) {
      const ssize_t wrote = ::write(descriptor_, line.data() + done, line.size() - done);
      if (wrote > 0) {
        done += static_cast<std::size_t>(wrote);
      } else if (errno != EINTR) {
        is_read_ = false;
      }
    }
  }

  // False when nobody is left to read.
  [[nodiscard]] bool is_read() const { return is_read_; }

 private:
  int descriptor_;
  bool is_read_ = true;
};

}  // namespace

int run_worker(const std::function<core::Result<WorkerDevice>()>& open) {
  ::signal(SIGPIPE, SIG_IGN);
  Lines lines(take_standard_output());
  const core::Result<WorkerDevice> opened = open();
  if (!opened.ok()) {
    lines.write(WorkerFatal{opened.error().message});
    return 1;
  }
  Device& device = *opened.value().device;
  lines.write(WorkerHello{device.facts()});
  const CaseRun run{.device = device,
                    .sensors = opened.value().sensors.get(),
                    .say = [&](const WorkerMessage& message) { lines.write(message); }};
  for (std::string line; lines.is_read() && std::getline(std::cin, line);) {
    const core::Result<CaseRequest> request = parse_request(line);
    if (!request.ok()) {
      lines.write(WorkerFatal{request.error().message});
      return 1;
    }
    expect_soon(device, request.value());
    run_case(run, request.value());
    if (device.is_lost()) return 1;
  }
  return lines.is_read() ? 0 : 1;
}

}  // namespace assay::collect
