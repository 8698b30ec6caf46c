// libFuzzer target: any bytes are a parameter or topology file of `assay simulate`. None may crash,
// hang or leak, and what is accepted must make a network.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "simulate/network.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  constexpr std::size_t kRanks = 8;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = simulate::parse_parameters(text, "fuzz.json", kRanks);
  if (!file.ok()) return 0;
  const auto& nodes = file.value().node_of_rank;
  ASSAY_CHECK(nodes.empty() || nodes.size() == kRanks, "every rank has a node");
  const auto& links = file.value().links;
  const auto network = simulate::Network::make(simulate::with(links, "", {}),
                                               simulate::with(links, "intra-", {}), nodes, kRanks);
  if (network.ok()) static_cast<void>(network.value().between(0, kRanks - 1).cpu_ns(size));
  return 0;
}
