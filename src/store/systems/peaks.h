// What a device can do at most: systems/<name>.yaml of the public tables.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::store {

struct Peaks {
  double memory_bytes_per_s = 0;  // 0: unknown
  double link_bytes_per_s = 0;    // of a GPU within a node, one direction
  double l2_bytes = 0;            // 0: unknown
  // By data type as tables spell it: "bfloat16", "fp8", "int8".
  std::map<std::string, double, std::less<>> flops_per_s = {};

  // 0: unknown. Older labels and fp8_block too; any 16-bit float has bfloat16's, and 32-bit floats
  // have none.
  [[nodiscard]] double flops_of(std::string_view type) const;

  // Milliseconds that the slowest of the three takes at least; what has no peak takes none.
  [[nodiscard]] double roofline_ms(double bytes,
                                   double flops,
                                   std::string_view type,
                                   double link_bytes) const;
};

// `gpu.mem_bw`, `gpu.*_tc_flops`, `node.intra_node_bw` and `gpu.l2_bytes`, which public files do
// not have: with `gpu.sm_version` 90 (Hopper) it is 50 MB, as its data sheets say. The error names
// file, line and key.
core::Result<Peaks> read_peaks(const std::filesystem::path& yaml);

// The same of a file's text; `name` stands for it in errors.
core::Result<Peaks> parse_peaks(std::string_view yaml, const std::string& name);

}  // namespace assay::store
