// Device code that the kernels share: vectors of 16 bytes, the empty word that marks data as not
// yet arrived, and the programmatic launch that hides the start of a kernel behind the one before
// it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <utility>

#include "allreduce/strategies/arguments.h"

namespace assay::allreduce {

// The word of a place where no data has arrived: a NaN in every data type. Words of a message that
// equal it are sent as another NaN, so every value, including -0, arrives unchanged or as a NaN.
constexpr std::uint32_t kEmpty = 0xFFFFFFFFU;
constexpr std::uint32_t kOtherNan = 0xFFFFFFFEU;

__device__ inline uint4 empty_vector() {
  return {kEmpty, kEmpty, kEmpty, kEmpty};
}

__device__ inline uint4 without_empty(uint4 v) {
  return {min(v.x, kOtherNan), min(v.y, kOtherNan), min(v.z, kOtherNan), min(v.w, kOtherNan)};
}

__device__ inline bool has_arrived(uint4 v) {
  return v.x != kEmpty && v.y != kEmpty && v.z != kEmpty && v.w != kEmpty;
}

// Writes and reads of memory that other GPUs access, too. Every word is its own flag, so no order
// between words is needed.
__device__ inline void send(uint4* to, uint4 v) {
  asm volatile("st.relaxed.sys.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ inline uint4 look(const uint4* from) {
  uint4 v;
  asm volatile("ld.relaxed.sys.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}

// A flag, and what its writer has written, or seen written, before it.
__device__ inline void raise(std::uint32_t* flag, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ inline std::uint32_t flag_value(const std::uint32_t* flag) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// Flags hold counts that never decrease. Comparing the difference lets a count pass 2^32.
__device__ inline bool is_reached(std::uint32_t value, std::uint32_t count) {
  return static_cast<std::int32_t>(value - count) >= 0;
}

__device__ inline bool has_reached(const std::uint32_t* flag, std::uint32_t count) {
  return is_reached(flag_value(flag), count);
}

__device__ inline std::uint64_t clock_ns() {
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

// Makes a warp late where tests ask for it: often by some microseconds, seldom by hundreds. `hop`
// tells apart the places of a kernel. It is short, because every call runs past it.
__device__ inline void delay_at_random(const Patience& patience, int rank, unsigned hop) {
  if (patience.delays == 0) return;
  const unsigned place =
      (blockIdx.x * 32 + threadIdx.x / 32) * 64 + static_cast<unsigned>(rank) * 8;
  const std::uint32_t x =
      (static_cast<std::uint32_t>(clock_ns() >> 5U) + place + hop) * 0x9E3779B9U;
  if (x >> 29U == 0) __nanosleep(x >> 19U == 0 ? 200'000 : x >> 16U);
}

// Polls between two looks at the clock and at the host's memory: about a millisecond.
constexpr int kQuickPolls = 1024;

// Calls arrived() until it is true, or until patience ends; missing() then names a rank that did
// not come.
template <class Arrived, class Missing>
__device__ void wait_until(const Patience& patience, Arrived arrived, Missing missing) {
  std::uint64_t start_ns = 0;
  for (int polls = 0; !arrived(); ++polls) {
    if (polls % kQuickPolls != kQuickPolls - 1 || patience.missing == nullptr) continue;
    volatile std::uint32_t* noted = patience.missing;
    if (*noted != 0) return;
    if (start_ns == 0) start_ns = clock_ns();
    if (clock_ns() - start_ns > patience.nanoseconds)
      *noted = 1U + static_cast<unsigned>(missing());
  }
}

// Waits until the kernel before this one in the stream has ended and its writes are visible.
__device__ inline void wait_for_earlier_kernels() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets the next kernel be brought onto the SMs, where it waits for the end of this one.
__device__ inline void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// A world of kWorld GPUs, or of any number up to kMaxRanks where kWorld is 0.
template <int kWorld>
struct World {
  static constexpr int kSlots = kWorld == 0 ? kMaxRanks : kWorld;

  __device__ static int size(int world_size) { return kWorld == 0 ? world_size : kWorld; }
};

template <int kNumber>
struct Number {
  static constexpr int kValue = kNumber;
};

template <class Visit, int... kNumbers>
__device__ void visit_numbers(Visit visit, std::integer_sequence<int, kNumbers...> /*numbers*/) {
  (visit(Number<kNumbers>{}), ...);
}

// Calls visit(Number<rank>) for each rank. The language guarantees that this is unrolled, which
// keeps arrays over ranks in registers.
template <int kWorld, class Visit>
__device__ void for_each_rank(int world_size, Visit visit) {
  const auto visit_rank = [&](auto rank) {
    if (kWorld != 0 || rank.kValue < world_size) visit(rank);
  };
  visit_numbers(visit_rank, std::make_integer_sequence<int, World<kWorld>::kSlots>());
}

// Calls visit(rank, step) for each rank but `own`; the step is a Number. It starts with the next
// rank, so that not all ranks send to the same one; another `turn` starts with another rank.
template <int kWorld, class Visit>
__device__ void for_each_peer(int own, int world_size, int turn, Visit visit) {
  const int size = World<kWorld>::size(world_size);
  for_each_rank<kWorld>(world_size, [&](auto number) {
    if constexpr (number.kValue != 0) {
      const int step = number.kValue + turn;
      const int rank = own + (step < size ? step : step - (size - 1));
      visit(rank < size ? rank : rank - size, number);
    }
  });
}

// Calls visit(rank).
template <int kWorld, class Visit>
__device__ void for_each_peer(int own, int world_size, Visit visit) {
  for_each_peer<kWorld>(own, world_size, 0, [&](int rank, auto /*step*/) { visit(rank); });
}

template <class T>
struct Elements;

template <>
struct Elements<float> {
  static constexpr int kCount = 4;  // elements of a vector

  __device__ static void unpack(uint4 v, float (&values)[kCount]) {
    values[0] = __uint_as_float(v.x);
    values[1] = __uint_as_float(v.y);
    values[2] = __uint_as_float(v.z);
    values[3] = __uint_as_float(v.w);
  }

  __device__ static uint4 pack(const float (&values)[kCount]) {
    return {__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
            __float_as_uint(values[3])};
  }

  __device__ static std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return __float_as_uint(__uint_as_float(a) + __uint_as_float(b));
  }
};

template <>
struct Elements<__nv_bfloat16> {
  static constexpr int kCount = 8;

  __device__ static void unpack(uint4 v, float (&values)[kCount]) {
    const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      values[2 * i] = __uint_as_float(words[i] << 16U);
      values[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
    }
  }

  __device__ static uint4 pack(const float (&values)[kCount]) {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
      words[i] = reinterpret_cast<const std::uint32_t&>(pair);
    }
    return {words[0], words[1], words[2], words[3]};
  }

  __device__ static std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    const __nv_bfloat162 sum = __hadd2(reinterpret_cast<const __nv_bfloat162&>(a),
                                       reinterpret_cast<const __nv_bfloat162&>(b));
    return reinterpret_cast<const std::uint32_t&>(sum);
  }
};

template <>
struct Elements<__half> {
  static constexpr int kCount = 8;

  __device__ static void unpack(uint4 v, float (&values)[kCount]) {
    const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = __half22float2(reinterpret_cast<const __half2&>(words[i]));
      values[2 * i] = pair.x;
      values[2 * i + 1] = pair.y;
    }
  }

  __device__ static uint4 pack(const float (&values)[kCount]) {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __half2 pair = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
      words[i] = reinterpret_cast<const std::uint32_t&>(pair);
    }
    return {words[0], words[1], words[2], words[3]};
  }

  __device__ static std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    const __half2 sum =
        __hadd2(reinterpret_cast<const __half2&>(a), reinterpret_cast<const __half2&>(b));
    return reinterpret_cast<const std::uint32_t&>(sum);
  }
};

// Adds element by element and rounds once. The result is that of a float32 sum and a rounding, in a
// fourth of the instructions.
template <class T>
__device__ uint4 add_vectors(uint4 a, uint4 b) {
  return {Elements<T>::add(a.x, b.x), Elements<T>::add(a.y, b.y), Elements<T>::add(a.z, b.z),
          Elements<T>::add(a.w, b.w)};
}

// Sums over the ranks in their order and rounds once.
template <class T, int kWorld>
__device__ uint4 sum_in_rank_order(const uint4 (&parts)[World<kWorld>::kSlots], int world_size) {
  if constexpr (kWorld == 2) return add_vectors<T>(parts[0], parts[1]);
  constexpr int kCount = Elements<T>::kCount;
  float sum[kCount];
  Elements<T>::unpack(parts[0], sum);
  for_each_rank<kWorld>(world_size, [&](auto rank) {
    if constexpr (rank.kValue > 0) {
      float values[kCount];
      Elements<T>::unpack(parts[rank.kValue], values);
#pragma unroll
      for (int i = 0; i < kCount; ++i)
        sum[i] += values[i];
    }
  });
  return Elements<T>::pack(sum);
}

// Returns the parts of all ranks: this one's own, which has no empty word, what arrives from those
// others for which expects(rank) is true, and zeros. slots[rank * stride] is the slot of a rank.
//
// It looks at all slots at once, because looks one after the other add up: 0.4 to 1.9 us of a call
// of 4 H200. Then it asks all parts alike. The compiler cannot keep a condition for each, and would
// put the looks one after the other.
template <int kWorld, class Expects>
__device__ void receive(const Arguments& a,
                        const Patience& patience,
                        uint4* slots,
                        int stride,
                        uint4 own,
                        uint4 (&parts)[World<kWorld>::kSlots],
                        Expects expects) {
  const auto for_each_part = [&](auto visit) {
    visit_numbers(visit, std::make_integer_sequence<int, World<kWorld>::kSlots>());
  };
  for_each_part([&](auto rank) { parts[rank.kValue] = rank.kValue == a.rank ? own : uint4{}; });
  delay_at_random(patience, a.rank, 1);
  const auto arrived = [&] {
    for_each_rank<kWorld>(a.world_size, [&](auto rank) {
      if (rank.kValue != a.rank && expects(rank.kValue))
        parts[rank.kValue] = look(slots + rank.kValue * stride);
    });
    bool all = true;
    for_each_part([&](auto rank) { all &= has_arrived(parts[rank.kValue]); });
    return all;
  };
  wait_until(patience, arrived, [&] {
    int missing = 0;
    for_each_part([&](auto rank) {
      if (!has_arrived(parts[rank.kValue])) missing = rank.kValue;
    });
    return missing;
  });
}

template <int kWorld>
__device__ void receive(const Arguments& a,
                        const Patience& patience,
                        uint4* slots,
                        int stride,
                        uint4 own,
                        uint4 (&parts)[World<kWorld>::kSlots]) {
  receive<kWorld>(a, patience, slots, stride, own, parts, [](int) { return true; });
}

// Empties the slots that receive() read, for the next use of this half. It need not be done before
// the results are on their way.
template <int kWorld, class Expects>
__device__ void empty(
    const Arguments& a, const Patience& patience, uint4* slots, int stride, Expects expects) {
  delay_at_random(patience, a.rank, 2);
  for_each_rank<kWorld>(a.world_size, [&](auto rank) {
    if (rank.kValue != a.rank && expects(rank.kValue))
      send(slots + rank.kValue * stride, empty_vector());
  });
}

template <int kWorld>
__device__ void empty(const Arguments& a, const Patience& patience, uint4* slots, int stride) {
  empty<kWorld>(a, patience, slots, stride, [](int) { return true; });
}

// Returns the flag, on rank `at`, that counts the turns of rank `of`. It lies behind Turn's words.
__device__ inline std::uint32_t* flag_of_turns(const Workspace& workspace, int at, int of) {
  constexpr int kFlagsAt = 64;
  return reinterpret_cast<std::uint32_t*>(workspace.of_rank[at]) + kFlagsAt + of;
}

// Returns the vectors of a slot, which are whole lines of the cache where there is room.
__host__ __device__ inline int slot_vectors(int vectors, int most) {
  constexpr int kLine = 8;
  return min(most, (vectors + kLine - 1) / kLine * kLine);
}

// A call takes so many vectors of a half of the workspace, on all ranks the same.
struct Share {
  int vectors;
  int of_half;  // that the half has
};

// Tells which part of the workspace this call uses, and gives the next call another one. Calls take
// parts of a half one behind the other, until one does not fit any more: that call turns to the
// other half.
//
// Two halves are enough, and the order of their uses is formal (PTX memory model, release and
// acquire at system scope), although the words of a message are relaxed and say nothing about other
// words. In a call that turns, a block of each GPU (see meet()) tells all others by a release that
// its GPU has ended the calls before that one: the stream orders their emptying of slots before.
// When the half is turned to again, each block learns it by an acquire before it sends into it. It
// hardly ever waits: even if every call turns, its GPU has ended the call before, so all others
// have started that, and the flags are on their way since.
//
// A release takes a microsecond, which a small call would wait for, and an acquire 0.1: so one call
// of 16 turns. With all calls that fit into kFill, 2 H200 gain 0.02 us at most, and calls come back
// to their slots only after megabytes. A half is not filled beyond kFill, so that the slots of
// larger calls stay in the cache, too. The slots of a call lie side by side: with 32 MiB on 4 H200
// that is 4 to 10 % faster than slots far apart.
//
// The words lie in the GPU's own control block: [0] counts turns, [1] is what calls have taken of
// the half, [2] counts blocks of this call.
class Turn {
 public:
  // Asks for the words' line while the kernel before this one still runs, which may change them.
  // Measured on 2 H200: a small call takes 0.03 to 0.06 us less back to back. The same with the
  // other GPUs' slots makes it slower by up to 5 times.
  __device__ static void prefetch(const Arguments& a, const Workspace& workspace) {
    if (threadIdx.x == 0)
      asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(workspace.of_rank[a.rank]));
  }

  __device__ Turn(const Arguments& a, const Workspace& workspace, Share share)
      : a_(a),
        workspace_(workspace),
        share_(share),
        words_(reinterpret_cast<std::uint32_t*>(workspace.of_rank[a.rank])) {
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(turns_), "=r"(taken_)
                 : "l"(words_)
                 : "memory");
  }

  // Returns whether this call turns to the other half.
  [[nodiscard]] __device__ bool is_new() const {
    return static_cast<int>(taken_) + share_.vectors > most_of_half();
  }

  // All threads call it before they send. The slots from the vector on that it returns are empty on
  // all GPUs. Loads of this GPU's data are on their way by then, but nothing is made of them
  // before: a thread that needs one of them asks for the flags only when it has it, 0.1 us later.
  [[nodiscard]] __device__ int wait_for_place() const {
    const int peer = static_cast<int>(threadIdx.x);
    const bool asks = peer < a_.world_size && peer != a_.rank;
    const std::uint32_t* flag = flag_of_turns(workspace_, a_.rank, peer);
    // Two calls of this size do not fit, so it asks before it knows the words.
    bool has_told = asks && 2 * share_.vectors > most_of_half();
    std::uint32_t told = 0;
    if (has_told) told = flag_value(flag);
    if (is_new()) {
      const auto is_empty = [&] {
        if (!has_told) told = flag_value(flag);
        has_told = false;
        // Turn t-1 came behind all calls that used the half of turn t before.
        return is_reached(told, number() - 1U);
      };
      if (asks) wait_until(workspace_.patience, is_empty, [&] { return peer; });
      __syncthreads();
    }
    return static_cast<int>(number() & 1U) * share_.of_half +
           (is_new() ? 0 : static_cast<int>(taken_));
  }

  // All threads of every block that carries the message call it once, when they have sent. It asks
  // for no answer, so that nothing waits for it but count().
  __device__ void is_known() const {
    __syncthreads();
    if (threadIdx.x == 0)
      asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(words_ + 2) : "memory");
  }

  // Counts the call when all blocks that carry the message know their place. One thread of the GPU
  // calls it.
  __device__ void count(unsigned blocks) const {
    volatile std::uint32_t* known = words_ + 2;
    while (*known != blocks) {
    }
    words_[2] = 0;
    words_[1] = static_cast<unsigned>(share_.vectors) + (is_new() ? 0 : taken_);
    words_[0] = number();
  }

  // Returns the number of the turn that this call belongs to.
  [[nodiscard]] __device__ std::uint32_t number() const { return turns_ + (is_new() ? 1 : 0); }

 private:
  static constexpr int kCallsOfHalf = 16;  // of one size
  static constexpr int kFill = (4 << 20) / kVectorBytes;

  [[nodiscard]] __device__ int most_of_half() const {
    return min(min(kCallsOfHalf * share_.vectors, kFill), share_.of_half);
  }

  const Arguments& a_;
  const Workspace& workspace_;
  Share share_;
  std::uint32_t* words_;
  std::uint32_t turns_ = 0;
  std::uint32_t taken_ = 0;
};

__device__ inline unsigned blocks_of_cluster() {
  unsigned blocks;
  asm("mov.u32 %0, %cluster_nctarank;" : "=r"(blocks));
  return blocks;
}

// Returns the blocks that carry the message: all but those of the last cluster, which speaks to the
// other GPUs. launch_meeting() adds that cluster.
__device__ inline unsigned message_blocks() {
  return gridDim.x - blocks_of_cluster();
}

__device__ inline bool is_of_meeting() {
  return blockIdx.x >= message_blocks();
}

// Counts this call, and tells the other GPUs, if it turns, that this one has ended all calls before
// it: see Turn. It runs beside the blocks that carry the message, which come onto the GPU before
// it; none of them waits for it, so it may start late.
__device__ inline void meet(const Arguments& a, const Workspace& workspace, Share share) {
  wait_for_earlier_kernels();
  if (blockIdx.x != message_blocks()) return;
  const Turn turn(a, workspace, share);
  const int peer = static_cast<int>(threadIdx.x);
  if (turn.is_new() && peer < a.world_size && peer != a.rank) {
    delay_at_random(workspace.patience, a.rank, 5);
    raise(flag_of_turns(workspace, peer, a.rank), turn.number());
  }
  if (threadIdx.x == 0) turn.count(message_blocks());
}

}  // namespace assay::allreduce
