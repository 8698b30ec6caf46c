// Parameters and nodes as JSON:
//
//   {"inter": {"L": 3700, "o": 200, "g": 5, "G": 0.04, "O": 0, "S": 0}, "intra": {…},
//    "ranks_per_node": 8}
//
// L, o and g in ns, G and O in ns a byte, S in bytes. What is left out of "inter" has the default,
// what is left out of "intra" the value of "inter". "costs" belong to `assay goal generate`.
// Instead of "ranks_per_node" there may be "nodes": [[0, 1, 2, 3], [4, 5, 6, 7]], which names every
// rank once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "simulate/parameters.h"

namespace assay::simulate {

struct ParametersFile {
  std::optional<LogGops> inter = std::nullopt;
  std::optional<LogGops> intra = std::nullopt;
  // Empty if the file does not tell of nodes.
  std::vector<std::uint32_t> node_of_rank = {};
};

// Nodes are those of num_ranks ranks. Errors name the file and the field.
core::Result<ParametersFile> read_parameters(const std::filesystem::path& path,
                                             std::size_t num_ranks);

// Without nodes. `costs` is a JSON object for `assay goal generate --costs`, which this reader
// passes over; "" for none.
core::Status write_parameters(const std::filesystem::path& path,
                              const ParametersFile& parameters,
                              const std::string& costs = "");

}  // namespace assay::simulate
