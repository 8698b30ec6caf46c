// The order in which the threads of a block join the parts of a decoding step.
#pragma once

namespace assay::collect {

// Calls visit(part, is_there) for every kJoiners-th part from `first` on, eight at a time, so that
// their loads are in flight together: one after the other they take 0.2 us each. Only the last
// group has parts that are not there; the others need no predicates.
template <int kJoiners, class Visit>
__device__ __forceinline__ void visit_parts(int first, int parts, const Visit& visit) {
  constexpr int kTogether = 8;
  int part = first;
  for (; part + (kTogether - 1) * kJoiners < parts; part += kTogether * kJoiners) {
#pragma unroll
    for (int i = 0; i < kTogether; ++i)
      visit(part + i * kJoiners, true);
  }
  if (part >= parts) return;
#pragma unroll
  for (int i = 0; i < kTogether - 1; ++i)
    visit(part + i * kJoiners, part + i * kJoiners < parts);
}

}  // namespace assay::collect
