// The label of a message: the number that its tag carries besides the message's own number. By
// default there is one for each operation; users may define others.
//
// A label may depend on the operation but not on who sends, because both sides must compute the
// same. To add one in C++: write src/goal/labels/<name>.cc with a spec,
//
//   std::uint64_t by_size(const LabelInput& input) { return input.bytes >> 20; }
//   const LabelSpec kBySize{.name = "megabytes", .description = "…", .label = by_size};
//   ASSAY_REGISTER(LabelSpec, kBySize);
//
// and name it with `assay goal generate --label megabytes`; src/goal/labels/pair.cc is an example.
// Without C++, --label takes an expression such as "parallelism + 100 * (sequence % 1000)": whole
// numbers, the names below and those of labels in C++, + - * / % and parentheses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "goal/resolve.h"

namespace assay::goal {

struct LabelInput {
  std::uint64_t parallelism = 0;   // Other 0, PP 1, DP 2, EP 3, TP 4
  std::uint64_t communicator = 0;  // number in the recording, from 0
  std::uint64_t operation = 0;     // NCCL's number of the function: Broadcast 0 … SendRecv 5
  std::uint64_t sequence = 0;  // number of this operation on the communicator (and pair), from 0
  std::uint64_t bytes = 0;
  std::uint64_t root = 0;
  std::uint64_t source = 0;  // rank in the communicator of the one who sends; 0 for collectives
  std::uint64_t destination = 0;
  std::uint64_t ranks = 0;  // size of the communicator
};

// Returns nothing where the label divides by 0.
using LabelFunction = std::function<std::optional<std::uint64_t>(const LabelInput&)>;

struct LabelSpec {
  const char* name;
  const char* description;
  std::uint64_t (*label)(const LabelInput& input);
};

// Reads an expression. Numbers have 64 bits and wrap around. The error points at the fault; a
// number that is divided by 0 whatever the operation is one.
core::Result<LabelFunction> label_function(std::string_view text);

using model::Parallelism;

// Returns "Other", "PP", "DP", "EP" or "TP".
std::string_view name_of(Parallelism parallelism);

std::optional<Parallelism> parallelism_of(std::string_view name);

// Returns the kind of each exchange: what its communicator states, or a guess. A send with its
// receive is EP when a GPU exchanges with all others of the communicator in one launch (an
// all-to-all of more than two), otherwise PP. A collective is DP where AllGather and ReduceScatter
// shard parameters, otherwise Other, because tensor parallelism and plain data parallelism look
// alike.
std::vector<Parallelism> find_parallelism(const Resolved& resolved);

}  // namespace assay::goal
