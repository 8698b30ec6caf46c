// The kernels of TWOSHOT_PUSH share this: where parts and sums lie, and how a thread sends, takes
// and empties them.
#pragma once

#include "allreduce/strategies/device.cuh"

namespace assay::allreduce {

enum class Stage { kParts, kSums };

class PushSlots {
 public:
  // Returns the vectors of a slot where a launch takes so many places of a slice.
  [[nodiscard]] static int slot_of(const Arguments& a, const Workspace& workspace, int places) {
    return slot_vectors(places, workspace.capacity_vectors / a.world_size);
  }

  __device__ PushSlots(const Arguments& a, const Workspace& workspace, int slot, int place)
      : a_(a), workspace_(workspace), slot_(slot), place_(place) {}

  [[nodiscard]] __device__ static Share share(const Arguments& a,
                                              const Workspace& workspace,
                                              int slot) {
    return {.vectors = 2 * a.world_size * slot, .of_half = 2 * workspace.capacity_vectors};
  }

  // Returns a place in slot 0 of this rank; the other slots follow at stride().
  [[nodiscard]] __device__ uint4* own(Stage stage, int place) const {
    return at(a_.rank, stage) + place;
  }

  [[nodiscard]] __device__ uint4* mine_at(int rank, Stage stage, int place) const {
    return at(rank, stage) + a_.rank * slot_ + place;
  }

  [[nodiscard]] __device__ int stride() const { return slot_; }

  [[nodiscard]] __device__ const Patience& patience() const { return workspace_.patience; }

 private:
  [[nodiscard]] __device__ uint4* at(int rank, Stage stage) const {
    return reinterpret_cast<uint4*>(workspace_.of_rank[rank] + kControlBytes) + place_ +
           (stage == Stage::kSums ? a_.world_size * slot_ : 0);
  }

  const Arguments& a_;
  const Workspace& workspace_;
  int slot_;
  int place_;
};

// The places of a thread: the `place`-th vector of each slice of a row. Slices have the same
// length, except that the end of the row may cut the last ones short.
struct Places {
  int row_start = 0;  // in vectors from the start of the message
  int place = 0;      // index in a slot
  int column = 0;     // column in the first slice
  int slice = 0;      // vectors of a slice
  int row_vectors = 0;

  [[nodiscard]] __device__ int column_of(int rank) const { return rank * slice + column; }

  [[nodiscard]] __device__ bool has(int rank) const { return column_of(rank) < row_vectors; }

  [[nodiscard]] __device__ int vector(int rank) const { return row_start + column_of(rank); }
};

// Returns the rank that is `steps` behind this one, in a ring.
template <int kWorld>
__device__ int rank_after(const Arguments& a, int steps) {
  const int size = World<kWorld>::size(a.world_size);
  return a.rank + steps < size ? a.rank + steps : a.rank + steps - size;
}

// A place's parts, this rank's own first, then those of the ranks after it: all ranks begin to send
// with another one.
template <int kWorld>
struct Parts {
  uint4 values[World<kWorld>::kSlots] = {};

  __device__ void fetch(const Arguments& a, const Places& places) {
    for_each_rank<kWorld>(a.world_size, [&](auto step) {
      const int rank = rank_after<kWorld>(a, step.kValue);
      if (places.has(rank)) values[step.kValue] = a.input[places.vector(rank)];
    });
  }

  // Returns this rank's own part. It sees the empty word as others do.
  [[nodiscard]] __device__ uint4 send_to_others(const Arguments& a,
                                                const PushSlots& slots,
                                                const Places& places) {
    delay_at_random(slots.patience(), a.rank, 3);
    for_each_rank<kWorld>(a.world_size, [&](auto step) {
      values[step.kValue] = without_empty(values[step.kValue]);
      if (step.kValue == 0) return;
      const int rank = rank_after<kWorld>(a, step.kValue);
      if (places.has(rank))
        send(slots.mine_at(rank, Stage::kParts, places.place), values[step.kValue]);
    });
    return values[0];
  }
};

// Sums this rank's slice.
template <class T, int kWorld>
__device__ uint4
take_parts(const Arguments& a, const PushSlots& slots, const Places& places, uint4 own) {
  if (!places.has(a.rank)) return own;
  uint4 parts[World<kWorld>::kSlots];
  receive<kWorld>(a, slots.patience(), slots.own(Stage::kParts, places.place), slots.stride(), own,
                  parts);
  return sum_in_rank_order<T, kWorld>(parts, a.world_size);
}

// Sends this rank's sum to all others and returns it as they get it.
template <int kWorld>
__device__ uint4
push_sum(const Arguments& a, const PushSlots& slots, const Places& places, uint4 sum) {
  if (!places.has(a.rank)) return sum;
  const uint4 sent = without_empty(sum);
  delay_at_random(slots.patience(), a.rank, 4);
  for_each_peer<kWorld>(a.rank, a.world_size, [&](int rank) {
    send(slots.mine_at(rank, Stage::kSums, places.place), sent);
  });
  return sent;
}

// Takes the sums of all slices: this rank's own and those that the others push.
template <int kWorld>
__device__ void take_sums(const Arguments& a,
                          const PushSlots& slots,
                          const Places& places,
                          uint4 own,
                          uint4 (&sums)[World<kWorld>::kSlots]) {
  receive<kWorld>(a, slots.patience(), slots.own(Stage::kSums, places.place), slots.stride(), own,
                  sums, [&](int rank) { return places.has(rank); });
}

// Takes the sum of one place of another rank's slice, and empties its slot.
__device__ inline uint4 take_sum(const Arguments& a,
                                 const PushSlots& slots,
                                 const Places& places,
                                 int owner) {
  uint4* const slot = slots.own(Stage::kSums, places.place) + owner * slots.stride();
  uint4 sum;
  delay_at_random(slots.patience(), a.rank, 1);
  const auto arrived = [&] {
    sum = look(slot);
    return has_arrived(sum);
  };
  wait_until(slots.patience(), arrived, [&] { return owner; });
  delay_at_random(slots.patience(), a.rank, 2);
  send(slot, empty_vector());
  return sum;
}

// Empties what take_parts() and take_sums() read.
template <int kWorld>
__device__ void empty_parts(const Arguments& a, const PushSlots& slots, const Places& places) {
  if (places.has(a.rank))
    empty<kWorld>(a, slots.patience(), slots.own(Stage::kParts, places.place), slots.stride());
}

template <int kWorld>
__device__ void empty_sums(const Arguments& a, const PushSlots& slots, const Places& places) {
  empty<kWorld>(a, slots.patience(), slots.own(Stage::kSums, places.place), slots.stride(),
                [&](int rank) { return places.has(rank); });
}

// Returns the elements that one thread's neighbours may share a scale with.
inline int group_of(const Arguments& a) {
  return a.scale_layout == ScaleLayout::kPerGroup128 ? kFp8Group : kNvfp4Group;
}

// Returns the vectors of a slice of a row.
inline int row_slice(const Arguments& a) {
  return slice_vectors(a.row_vectors, a.world_size, group_of(a) / a.elements_of_vector);
}

}  // namespace assay::allreduce
