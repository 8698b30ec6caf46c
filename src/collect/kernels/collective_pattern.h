// The numbers that ranks put into a collective and must find in its output. They are small whole
// numbers, so that sums of up to 20 ranks are exact in every data type.
#pragma once

#include <cstdint>

#include "collect/kernels/kernels.h"

namespace assay::collect {

constexpr int pattern_value(int rank, std::int64_t index) {
  constexpr int kValues = 13;
  return static_cast<int>((index * 7 + rank * 5) % kValues) - kValues / 2;
}

constexpr int pattern_sum(int ranks, std::int64_t index) {
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank)
    sum += pattern_value(rank, index);
  return sum;
}

// The number of elements in a rank's part of the buffer, for collectives with parts.
constexpr std::int64_t part_of(const CollectiveSpec& spec) {
  return spec.elements / spec.ranks;
}

constexpr std::int64_t elements_in(const CollectiveSpec& spec) {
  return spec.function == model::NcclFunction::kAllGather ? part_of(spec) : spec.elements;
}

constexpr std::int64_t elements_out(const CollectiveSpec& spec) {
  return spec.function == model::NcclFunction::kReduceScatter ? part_of(spec) : spec.elements;
}

// Returns whether the buffer is divided into one part for each rank.
constexpr bool has_parts(const CollectiveSpec& spec) {
  using enum model::NcclFunction;
  return spec.function == kAllGather || spec.function == kReduceScatter ||
         spec.function == kAllToAll;
}

// The expected element `index` of the output of `rank`.
constexpr int pattern_expected(const CollectiveSpec& spec, int rank, std::int64_t index) {
  const std::int64_t part = part_of(spec);
  switch (spec.function) {
    case model::NcclFunction::kAllReduce:
      return pattern_sum(spec.ranks, index);
    case model::NcclFunction::kReduceScatter:
      return pattern_sum(spec.ranks, rank * part + index);
    case model::NcclFunction::kAllGather:
      return pattern_value(static_cast<int>(index / part), index % part);
    case model::NcclFunction::kAllToAll:
      return pattern_value(static_cast<int>(index / part), rank * part + index % part);
    default:
      return pattern_value((rank + spec.ranks - 1) % spec.ranks, index);
  }
}

}  // namespace assay::collect
