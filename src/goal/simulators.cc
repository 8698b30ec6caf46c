#include "goal/simulators.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/shell.h"
#include "model/schedule.h"

namespace assay::goal {
namespace {

// Returns the links between nodes with times in units of the time of a byte.
model::LogGops in_bytes(model::LogGops links) {
  const double unit_ns = links.gap_ns_per_byte;
  for (double* time : {&links.latency_ns, &links.overhead_ns, &links.gap_ns})
    *time = std::round(*time / unit_ns);
  return links;
}

std::string loggopsim_command(const std::string& schedule) {
  const model::LogGops links = in_bytes(model::LogGops{});
  return fmt::format("LogGOPSim -f {} -L {:.0f} -o {:.0f} -g {:.0f} -G 1 -O 0 -S 2147483647",
                     schedule, links.latency_ns, links.overhead_ns, links.gap_ns);
}

// ATLAHS' htsim comes with these leaf-spine networks, by their hosts.
constexpr std::array<std::size_t, 5> kNetworks{16, 32, 64, 128, 1024};

std::string htsim_command(const std::string& schedule, std::size_t num_ranks) {
  const auto* hosts = std::lower_bound(kNetworks.begin(), kNetworks.end(), num_ranks);
  const bool known = hosts != kNetworks.end();
  const std::size_t size = known ? *hosts : num_ranks;
  const std::string topology = !known         ? "NETWORK.topo"
                               : size == 1024 ? "leaf_spine_1024.topo"
                                              : fmt::format("leaf_spine_{}_1os.topo", size);
  return fmt::format(
      "htsim_uec -goal {} -topo {} -nodes {} -linkspeed 200000 -mtu 4096 -paths 128 -strat "
      "ecmp_host -q 1000000 -seed 1",
      schedule, topology, size);
}

}  // namespace

std::string_view name_of(Simulator simulator) {
  constexpr std::array<std::string_view, 3> kNames{"assay", "loggopsim", "htsim"};
  return kNames[static_cast<std::size_t>(simulator)];
}

void adapt(Simulator simulator, ExpandOptions& options) {
  if (simulator == Simulator::kAssay) return;
  options.intra_node = IntraNode::kCalc;
  if (simulator == Simulator::kHtsim) return;
  options.cpus = CpuUse::kOne;
  options.empty_message_bytes = 1;
  options.time_unit_ns = model::LogGops{}.gap_ns_per_byte;
}

std::string command_for(Simulator simulator,
                        const std::filesystem::path& schedule,
                        std::size_t num_ranks) {
  if (simulator == Simulator::kAssay) {
    return "assay simulate " + core::shell_quoted(schedule.string());
  }
  std::filesystem::path binary = schedule;
  binary.replace_extension(".bin");
  const std::string convert =
      binary == schedule
          ? ""
          : fmt::format("assay goal to-bin {} && ", core::shell_quoted(schedule.string()));
  const std::string word = core::shell_quoted(binary.string());
  return convert + (simulator == Simulator::kHtsim ? htsim_command(word, num_ranks)
                                                   : loggopsim_command(word));
}

}  // namespace assay::goal
