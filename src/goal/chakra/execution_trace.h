// Execution traces of Chakra (github.com/mlcommons/chakra, schema/protobuf/et_def.proto): one file
// for each rank, a length before each message, the first about the file and the others nodes of a
// graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::goal {

enum class ChakraType : std::uint8_t {
  kInvalid,
  kMetadata,
  kMemoryLoad,
  kMemoryStore,
  kComputation,
  kSend,
  kReceive,
  kCollective,
};

enum class ChakraCollective : std::uint8_t {
  kAllReduce,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kReduceScatterBlock,
  kBarrier,
};

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  ChakraType type = ChakraType::kInvalid;
  // Nodes whose end it waits for. Simulators heed no others: control dependencies of traces that
  // were converted lead from what encloses a node.
  std::vector<std::uint64_t> data_deps = {};
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  // Attributes.
  bool is_on_cpu = false;
  ChakraCollective collective = ChakraCollective::kAllReduce;
  // For an all-gather this is what a rank gives, for the others all that it has.
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> source = std::nullopt;  // of a message; absent: this rank
  std::optional<std::uint32_t> destination = std::nullopt;
  std::uint32_t tag = 0;
  std::string group = {};   // of a collective; "" and "0": all ranks
  std::string values = {};  // of the inputs: PyTorch's process groups in metadata
};

// Error: the bytes are no execution trace; it names the node by its place. Errors call the bytes
// `name`.
core::Result<std::vector<ChakraNode>> parse_execution_trace(std::string_view bytes,
                                                            const std::string& name);

// The bytes of the same file.
std::string execution_trace(const std::vector<ChakraNode>& nodes);

}  // namespace assay::goal
