// Brackets and braces outside strings, as bits of a 64-byte block.
#pragma once

#include <cstdint>

namespace assay::trace {

class StructureScan {
 public:
  static constexpr std::size_t kBlockBytes = 64;

  // Bit i is set when block[i] is one of {}[] outside a string. Blocks must be given in order.
  std::uint64_t brackets(const char* block);

 private:
  std::uint64_t inside_string_ = 0;  // all ones when the next block starts inside a string
  bool escaped_ = false;             // the next byte follows an odd run of backslashes
};

}  // namespace assay::trace
