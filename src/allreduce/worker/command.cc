#include "allreduce/worker/command.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "allreduce/bench/protocol.h"
#include "allreduce/worker/cell.h"
#include "allreduce/worker/facts.h"
#include "allreduce/worker/link.h"
#include "allreduce/worker/nccl_sweep.h"
#include "allreduce/worker/self_check.h"

namespace assay::allreduce {
namespace {

struct Options {
  int world_size = 0;
  int rank = -1;  // the only rank of this process, or -1 if all ranks are its threads
  std::vector<int> gpus;
  std::string rendezvous;
  std::string table;
  std::size_t workspace_bytes = 0;
  bool measures_links = false;
  bool is_self_test = false;
  SelfTestOptions self_test;
  std::string nccl_sweep;  // our tuner plugin, for a sweep of NCCL's settings
};

std::vector<int> numbers(const std::string& list) {
  std::vector<int> values;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    values.push_back(std::atoi(list.substr(at, comma - at).c_str()));
    at = comma + 1;
  }
  return values;
}

bool shares_gpus(const Options& options) {
  return std::set(options.gpus.begin(), options.gpus.end()).size() < options.gpus.size();
}

core::Result<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 1; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (i + 1 == arguments.size()) return core::Error{name + " stands alone, without a value"};
    const std::string& value = arguments[i + 1];
    if (name == "--tp") {
      options.world_size = std::atoi(value.c_str());
    } else if (name == "--rank") {
      options.rank = std::atoi(value.c_str());
    } else if (name == "--gpus") {
      options.gpus = numbers(value);
    } else if (name == "--rendezvous") {
      options.rendezvous = value;
    } else if (name == "--table") {
      options.table = value;
    } else if (name == "--workspace") {
      options.workspace_bytes = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--self-test" && (value == "all" || value == "few")) {
      options.is_self_test = true;
      options.self_test.few_shapes = value == "few";
    } else if (name == "--measure" && value == "links") {
      options.measures_links = true;
    } else if (name == "--mixed-calls") {
      options.self_test.stress_calls = std::atoll(value.c_str());
    } else if (name == "--nccl-sweep") {
      options.nccl_sweep = value;
    } else {
      return core::Error{"unknown option " + name};
    }
  }
  if (options.world_size < 2 || options.world_size > kMaxRanks)
    return core::Error{"--tp must be between 2 and 8"};
  if (options.rank >= options.world_size) return core::Error{"--rank must be below --tp"};
  if (options.rank >= 0 && options.rendezvous.empty())
    return core::Error{"--rank needs --rendezvous"};
  if (options.gpus.empty()) {
    for (int gpu = 0; gpu < options.world_size; ++gpu)
      options.gpus.push_back(gpu);
  }
  if (options.gpus.size() != static_cast<std::size_t>(options.world_size))
    return core::Error{"--gpus must name as many GPUs as --tp says"};
  if (shares_gpus(options) && !options.is_self_test)
    return core::Error{"--gpus names a GPU twice: only ranks of a self test share one"};
  return options;
}

RankOptions rank_options(const Options& options, int rank) {
  return {.rank = rank,
          .world_size = options.world_size,
          .device = options.gpus[static_cast<std::size_t>(rank)],
          .table = options.table,
          .workspace_bytes = options.workspace_bytes,
          .shares_gpu = shares_gpus(options)};
}

// Writes each answer as one whole line, whatever else the process prints.
void say(std::FILE* to, const WorkerMessage& message) {
  const std::string line = message_line(message) + "\n";
  std::fputs(line.c_str(), to);
  std::fflush(to);
}

// A rank that could not start answers all orders with its reason.
void follow(Team& team, const Options& options, int rank_number) {
  auto rank = Rank::create(rank_options(options, rank_number));
  while (true) {
    const Order order = team.await();
    if (order.kind == Order::Kind::kQuit) return;
    team.answer(rank_number, rank.ok() ? rank.value()->carry_out(order, team.handles())
                                       : Answer::error(rank.error().message));
  }
}

core::Status lead(Team& team, const Options& options, std::FILE* to) {
  const auto rank = ASSAY_TRY(Rank::create(rank_options(options, 0)));
  Leader leader(team, *rank, [to](const WorkerMessage& message) { say(to, message); });
  ASSAY_TRY(leader.connect());
  if (options.is_self_test) {
    SelfTestOptions self_test = options.self_test;
    self_test.world_size = options.world_size;
    const core::Status tested = run_self_test(leader, self_test, to);
    if (tested.ok()) leader.quit();
    return tested;
  }
  say(to, worker_facts(options.gpus.front(), rank->nccl_version()));
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = parse_request(line);
    if (!request.ok()) return request.error();
    leader.run(request.value());
  }
  leader.quit();
  return {};
}

core::Status work(const Options& options, std::FILE* to) {
  if (shares_gpus(options)) {
    setenv("ASSAY_ALLREDUCE_SHARED_GPUS", "1", 1);
    // Streams of one queue would wait for each other.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  }
  ASSAY_TRY(check_gpus(options.gpus));
  if (options.measures_links) return measure_links(options.gpus, to);
  if (!options.nccl_sweep.empty()) return serve_nccl_sweep({options.gpus, options.nccl_sweep}, to);
  if (options.rank >= 0) {
    const auto team = ASSAY_TRY(Team::join(options.rendezvous, options.rank, options.world_size));
    if (options.rank == 0) return lead(*team, options, to);
    follow(*team, options, options.rank);
    return {};
  }
  Team team(options.world_size);
  std::vector<std::thread> others;
  for (int rank = 1; rank < options.world_size; ++rank)
    others.emplace_back([&team, &options, rank] { follow(team, options, rank); });
  const core::Status led = lead(team, options, to);
  if (!led.ok()) {
    // The other ranks may wait for GPUs that will never answer.
    say(to, WorkerFatal{led.error().message});
    std::_Exit(1);
  }
  for (std::thread& other : others)
    other.join();
  return {};
}

}  // namespace

int run_allreduce_command(const std::vector<std::string>& arguments) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // see Purpose::kLoad
  // Libraries sometimes print to standard output (NCCL_DEBUG), which is sent to standard error.
  std::FILE* to = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const auto options = parse(arguments);
  if (!options.ok()) {
    say(to, WorkerFatal{options.error().message});
    return 2;
  }
  const auto status = work(options.value(), to);
  if (status.ok()) return 0;
  say(to, WorkerFatal{status.error().message});
  std::_Exit(1);
}

}  // namespace assay::allreduce
