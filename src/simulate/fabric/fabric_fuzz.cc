// libFuzzer target: any bytes are a network file of `assay simulate --network`. None may crash,
// hang or leak; from what is accepted a network is made, or refused with a reason, whose ways lead
// along links that are there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "simulate/fabric/fabric.h"

namespace {

constexpr std::uint32_t kRanks = 8;

void check_ways(assay::simulate::Fabric& fabric) {
  assay::simulate::Path path;
  for (std::uint32_t to = 1; to < kRanks; ++to) {
    if (!fabric.find_path({.source = 0, .target = to}, path)) continue;
    for (const assay::simulate::LinkShare& share : path.links) {
      const bool usable = share.link < fabric.links().size() &&
                          fabric.links()[share.link].left() > 0 && share.weight > 0;
      ASSAY_CHECK(usable, "a way leads along links that are there");
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay::simulate;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = parse_fabric_spec(text, "fuzz.yaml");
  if (!spec.ok()) return 0;
  // A large network is right but slow to make.
  constexpr std::uint64_t kMostLinks = 1 << 14;
  const auto nodes = std::max(kRanks, static_cast<std::uint32_t>(spec.value().nodes.size()));
  const std::uint32_t nics = spec.value().nics_per_node > 0 ? spec.value().nics_per_node : kRanks;
  if (nics > 64 || spec.value().topology->num_links(nodes, nics) > kMostLinks) return 0;
  // So is one that changes all the time.
  if (spec.value().changes.size() > 16) return 0;
  auto fabric = Fabric::make(spec.value(), {.num_ranks = kRanks});
  if (!fabric.ok()) return 0;
  check_ways(fabric.value());
  for (const std::int64_t time_ns : fabric.value().change_times()) {
    fabric.value().change_links(time_ns);
    check_ways(fabric.value());
  }
  return 0;
}
