// The number that a message's tag carries beside its own: by default one for each operation, or
// one of your own.
//
// A label may depend on the operation alone, never on who sends: both sides must come to the same.
// To add one in C++: write src/goal/labels/<name>.cc with a spec,
//
//   std::uint64_t by_size(const LabelInput& input) { return input.bytes >> 20; }
//   const LabelSpec kBySize{.name = "megabytes", .description = "…", .label = by_size};
//   ASSAY_REGISTER(LabelSpec, kBySize);
//
// and name it with `assay goal generate --label megabytes`; src/goal/labels/pair.cc is one. Without
// C++, --label takes an expression such as "parallelism + 100 * (sequence % 1000)": whole numbers,
// the names below and those of labels in C++, + - * / % and parentheses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"

namespace assay::goal {

struct LabelInput {
  std::uint64_t parallelism = 0;   // Other 0, PP 1, DP 2, EP 3
  std::uint64_t communicator = 0;  // its number in the recording, from 0
  std::uint64_t operation = 0;     // NCCL's number of the function: Broadcast 0 … SendRecv 5
  std::uint64_t sequence = 0;      // of this operation on the communicator (and pair), from 0
  std::uint64_t bytes = 0;
  std::uint64_t root = 0;
  std::uint64_t source = 0;  // of a send: ranks of the communicator
  std::uint64_t destination = 0;
  std::uint64_t ranks = 0;  // of the communicator
};

using LabelFunction = std::function<std::uint64_t(const LabelInput&)>;

struct LabelSpec {
  const char* name;
  const char* description;
  std::uint64_t (*label)(const LabelInput& input);
};

// An expression. Numbers are of 64 bits and wrap around; dividing by 0 gives 0. The error points at
// what is wrong.
core::Result<LabelFunction> label_function(std::string_view text);

}  // namespace assay::goal
