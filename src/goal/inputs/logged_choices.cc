#include "goal/inputs/logged_choices.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace assay::goal {
namespace {

using Call = std::pair<model::NcclFunction, std::uint64_t>;  // and bytes
using Choices = std::map<Call, std::vector<const LoggedChoice*>>;

std::map<std::string, Choices> choices_by_communicator(const NcclLog& log) {
  std::map<std::string, Choices> all;
  for (const LoggedCommunicator& communicator : log.communicators) {
    for (const LoggedChoice& choice : communicator.choices)
      all[communicator.name][{choice.function, choice.bytes}].push_back(&choice);
  }
  return all;
}

void assume(model::Operation& operation, model::Warnings& warnings, const std::string& name) {
  constexpr std::uint64_t kMostLlBytes = 32768;
  operation.algorithm = model::NcclAlgorithm::kRing;
  operation.protocol =
      operation.bytes <= kMostLlBytes ? model::NcclProtocol::kLl : model::NcclProtocol::kSimple;
  warnings.add("collectives whose algorithm no NCCL log tells",
               "assumed: RING, with LL up to 32 KiB and SIMPLE above", name);
}

bool needs_choice(const model::Operation& operation) {
  return operation.algorithm == model::NcclAlgorithm::kNone &&
         operation.function <= model::NcclFunction::kAllReduce;
}

void choose(const Choices& choices,
            std::map<Call, std::size_t>& seen,
            model::Operation& operation,
            model::Warnings& warnings,
            const std::string& name) {
  const Call call(operation.function, operation.bytes);
  const auto found = choices.find(call);
  if (found == choices.end()) return assume(operation, warnings, name);
  const std::vector<const LoggedChoice*>& logged = found->second;
  const LoggedChoice& choice = *logged[std::min(seen[call]++, logged.size() - 1)];
  operation.algorithm = choice.algorithm;
  operation.protocol = choice.protocol;
  operation.num_channels = choice.last_channel - choice.first_channel + 1;
}

}  // namespace

void add_choices(const NcclLog& log, model::Job& job) {
  const std::map<std::string, Choices> all = choices_by_communicator(log);
  const Choices none;
  for (model::JobGpu& gpu : job.gpus) {
    std::map<std::uint32_t, std::map<Call, std::size_t>> seen;
    for (model::Operation& operation : gpu.operations) {
      if (!needs_choice(operation)) continue;
      const std::string& name = job.communicators[operation.communicator].name;
      const auto found = all.find(name);
      choose(found == all.end() ? none : found->second, seen[operation.communicator], operation,
             job.warnings, name);
    }
  }
}

}  // namespace assay::goal
