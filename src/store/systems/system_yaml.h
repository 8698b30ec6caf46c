// Reads systems/NAME.yaml: what a device can do at most, and values that somebody else tells.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::store {

struct Peaks {
  double memory_bytes_per_s = 0;  // 0 if it is unknown
  double link_bytes_per_s = 0;    // of a GPU within a node, in one direction
  double l2_bytes = 0;            // 0 if it is unknown
  // Keyed by data type, spelled as in tables: "bfloat16", "fp8", "int8".
  std::map<std::string, double, std::less<>> flops_per_s = {};

  // 0 if it is unknown. Older labels and fp8_block are known too; any 16-bit float has the peak of
  // bfloat16, and 32-bit floats have none.
  [[nodiscard]] double flops_of(std::string_view type) const;

  // The name under which the peak of a type is kept: "bfloat16" for "half", "fp8" for "fp8_block".
  static std::string_view name_of(std::string_view type);

  // The milliseconds that the slowest of the three takes at least; what has no peak takes none.
  [[nodiscard]] double roofline_ms(double bytes,
                                   double flops,
                                   std::string_view type,
                                   double link_bytes) const;

  bool operator==(const Peaks&) const = default;
};

// Reads `gpu.mem_bw`, `gpu.*_tc_flops`, `node.intra_node_bw` and `gpu.l2_bytes`. Public files do
// not have the last: where `gpu.sm_version` is 90 (Hopper), it is 50 MB as in the data sheets. The
// error names file, line and key.
core::Result<Peaks> read_peaks(const std::filesystem::path& yaml);

// Does the same with the text of a file, which errors call `name`.
core::Result<Peaks> parse_peaks(std::string_view yaml, const std::string& name);

// Values by section and name, as they are written: "gpu.mem_bw", "misc.nccl_mem.2".
using CitedValues = std::map<std::string, std::string>;

// Reads a file of the shape of systems/NAME.yaml, whole or in part; passes over 'data_dir' and
// 'measured'. Errors name file, line and field: it is no YAML, no system has the field, or the
// value is no number of at least 0.
core::Result<CitedValues> read_cited_values(const std::filesystem::path& yaml);

// Does the same with the text of a file, which errors call `name`.
core::Result<CitedValues> parse_cited_values(std::string_view yaml, const std::string& name);

}  // namespace assay::store
