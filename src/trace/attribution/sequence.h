// Finds which elements of two sequences belong together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::trace::attribution {

// An element of both sequences, or of one of them; the other position is kAbsentPosition.
inline constexpr std::uint32_t kAbsentPosition = 0xFFFFFFFF;

struct MergedElement {
  std::uint32_t a = kAbsentPosition;
  std::uint32_t b = kAbsentPosition;
};

// Returns all elements of both sequences in an order that keeps that of each, with as many pairs of
// equal ones as possible. Sequences that differ in thousands of elements are paired greedily, so
// that the time stays bounded.
std::vector<MergedElement> merged_sequences(std::span<const std::uint64_t> a,
                                            std::span<const std::uint64_t> b);

}  // namespace assay::trace::attribution
