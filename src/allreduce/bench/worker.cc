#include "allreduce/bench/worker.h"

#include <fmt/core.h>

#include <utility>

#include "core/own_files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkerName = "assay-worker";

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

}  // namespace

core::Result<Worker> Worker::start(const WorkerLaunch& launch) {
  return Worker(ASSAY_TRY(core::LineProcess::start(arguments_of(launch), launch.log)));
}

core::Status Worker::send(const CellRequest& request) {
  return process_.send(request_line(request));
}

std::variant<WorkerMessage, NoMessage> Worker::receive(Clock::time_point until) {
  auto got = process_.receive(until);
  if (const auto* none = std::get_if<core::NoLine>(&got)) return *none;
  auto message = parse_message(std::get<std::string>(got));
  if (message.ok()) return std::move(message).value();
  return NoMessage{.why = NoMessage::Why::kUnreadable,
                   .what = "cannot understand the worker: " + message.error().message};
}

core::Result<fs::path> find_worker() {
  return core::find_own_program(
      kWorkerName,
      "this build has no CUDA part: build it where CUDA is, or name the program with --worker");
}

}  // namespace assay::allreduce
