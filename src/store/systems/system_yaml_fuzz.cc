// libFuzzer target: any bytes are a system's YAML file, a collection_meta.yaml or a reuse.yaml.
// None may crash or hang.
#include <cstdint>
#include <string_view>

#include "store/database/collection_meta.h"
#include "store/systems/public_tree.h"
#include "store/systems/system_facts.h"
#include "store/systems/system_yaml.h"

using namespace assay;  // NOLINT(google-build-using-namespace)

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(store::parse_peaks(text, "it"));
  static_cast<void>(store::parse_cited_values(text, "it"));
  static_cast<void>(store::parse_system_facts(text, "it", "it"));
  static_cast<void>(store::parse_reuse(text, "it"));
  static_cast<void>(store::Version::parse(text));
  static_cast<void>(store::parse_collection_meta(text, "it", "gemm_perf"));
  return 0;
}
