// libFuzzer target: any bytes are a log of NCCL. None may crash, hang or leak, also not when a job
// takes its rings, trees and algorithms from the log.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/byte_source.h"
#include "goal/inputs/nccl_log.h"
#include "goal/inputs/nccl_log_facts.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

// A job whose communicators are those of the log, with one AllReduce on each GPU.
model::Job job_of(const goal::NcclLog& log) {
  model::Job job;
  for (const goal::LoggedCommunicator& logged : log.communicators) {
    model::Communicator& communicator = job.communicators.emplace_back();
    communicator.name = logged.name;
    for (const auto& [rank, facts] : logged.ranks) {
      communicator.gpus.push_back(static_cast<std::uint32_t>(job.gpus.size()));
      model::JobGpu& gpu = job.gpus.emplace_back();
      gpu.node = facts.host;
      gpu.process_id = facts.process_id;
      model::Operation& operation = gpu.operations.emplace_back();
      operation.communicator = static_cast<std::uint32_t>(job.communicators.size() - 1);
      operation.bytes = 1024;
    }
  }
  return job;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  core::MemorySource source(std::string_view(reinterpret_cast<const char*>(data), size));
  model::Warnings warnings;
  const auto log = goal::read_nccl_log(source, "nccl.log", warnings);
  if (!log.ok()) return 0;
  for (const goal::LoggedCommunicator& communicator : log.value().communicators)
    goal::logged_nodes(communicator);
  model::Job job = job_of(log.value());
  goal::add_topology(log.value(), job);
  goal::add_choices(log.value(), job);
  return 0;
}
