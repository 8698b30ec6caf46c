// What the public generator cannot lower, said before it is tried, and tags that are too narrow.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>

#include "goal/compat_v2/rank_writer.h"

namespace assay::goal::compat_v2 {
namespace {

using model::NcclAlgorithm;

constexpr unsigned kMostDigits = 9;

unsigned digits_of(std::uint64_t number) {
  return static_cast<unsigned>(fmt::formatted_size("{}", number));
}

}  // namespace

core::Status RankWriter::check(const model::Operation& operation) const {
  const model::Communicator& communicator = job_.communicators[operation.communicator];
  if (!is_known(operation)) {
    return core::Error{fmt::format(
        "--compat v2: {} calls {} with algorithm {} and protocol {}, which the public generator "
        "cannot lower; leave out --compat",
        place(), name_of(operation.function), name_of(operation.algorithm),
        name_of(operation.protocol))};
  }
  if (rank_in(communicator) < 0) {
    return core::Error{
        fmt::format("--compat v2: {} is no rank of communicator {} that it calls {} on", place(),
                    communicator.name, name_of(operation.function))};
  }
  if (model::is_point_to_point(operation.function)) {
    const auto peer = static_cast<std::size_t>(operation.peer);
    if (operation.peer >= 0 && peer < communicator.gpus.size() &&
        communicator.gpus[peer] != model::kNoGpu) {
      return {};
    }
    return core::Error{
        fmt::format("--compat v2: {} calls {} with rank {} of communicator {}, "
                    "which is not among the recordings",
                    place(), name_of(operation.function), operation.peer, communicator.name)};
  }
  return check_links(operation);
}

core::Status RankWriter::check_links(const model::Operation& operation) const {
  const model::Communicator& communicator = job_.communicators[operation.communicator];
  const std::size_t channels =
      communicator.channels.empty() ? operation.num_parts : communicator.channels.size();
  const auto failed = [&](std::size_t channel, const char* what) {
    return core::Error{fmt::format("--compat v2: {}: {} on channel {} of communicator {}: {}",
                                   place(), name_of(operation.function), channel, communicator.name,
                                   what)};
  };
  if (operation.num_parts > channels) {
    return failed(channels, "its rings and trees are not in the recording");
  }
  const auto there = [&](std::int32_t rank) {
    return rank >= 0 && static_cast<std::size_t>(rank) < communicator.gpus.size() &&
           communicator.gpus[static_cast<std::size_t>(rank)] != model::kNoGpu;
  };
  for (std::size_t i = 0; i < std::max<std::size_t>(operation.num_parts, 1); ++i) {
    const Neighbours links = neighbours(communicator, i, rank_in(communicator));
    if (operation.algorithm == NcclAlgorithm::kTree) {
      if (links.up < 0 && links.down.empty()) return failed(i, "the rank is in no tree");
      if ((links.up >= 0 && !there(links.up)) ||
          !std::all_of(links.down.begin(), links.down.end(), there)) {
        return failed(i, "a neighbour in the tree is not among the recordings");
      }
    } else if (!there(links.previous) || !there(links.next)) {
      return failed(i, "a neighbour in the ring is not among the recordings");
    }
  }
  return {};
}

core::Status RankWriter::check_tags(const GpuPlan& plan) const {
  const MostMessages most = writer_.most_messages();
  const std::uint32_t largest_name =
      plan.contexts.empty() ? 0 : *std::max_element(plan.contexts.begin(), plan.contexts.end());
  const unsigned number_digits = digits_of(most.count > 0 ? most.count - 1 : 0);
  const unsigned name_digits = digits_of(largest_name);
  if (number_digits <= options_.number_digits && name_digits <= options_.name_digits) return {};
  const bool would_fit = number_digits + name_digits <= kMostDigits;
  return core::Error{fmt::format(
      "--compat v2: {} {} {} messages {} rank {} under the name {:0{}}, and a tag has {} digits to "
      "number them and {} for names; {}",
      place(), most.sends ? "sends" : "receives", most.count, most.sends ? "to" : "from", most.peer,
      most.context, options_.name_digits, options_.number_digits, options_.name_digits,
      would_fit
          ? fmt::format("--tag-layout decimal:{}/{} would do", number_digits, name_digits)
          : fmt::format(
                "{} and {} digits are more than the {} of a tag; leave out --compat: assay's own "
                "tags are as wide as a job needs",
                number_digits, name_digits, kMostDigits))};
}

std::string RankWriter::place() const {
  return fmt::format("rank {} (process {} of {})", gpu_index_, gpu_.process_id, gpu_.node);
}

}  // namespace assay::goal::compat_v2
