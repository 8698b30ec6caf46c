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

// Where a thread might be late, a library that is built with ASSAY_ALLREDUCE_DELAYS makes it late at
// random: often by some microseconds, seldom by hundreds. `hop` tells apart the places of a kernel.
__device__ inline void delay_at_random([[maybe_unused]] int rank, [[maybe_unused]] unsigned hop) {
#ifdef ASSAY_ALLREDUCE_DELAYS
  std::uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  std::uint32_t x = static_cast<std::uint32_t>(time >> 5U) * 0x9E3779B9U ^
                    (blockIdx.x * 0x85EBCA6BU + static_cast<unsigned>(rank) * 0xC2B2AE35U + hop);
  x = (x ^ x >> 16U) * 0x7FEB352DU;
  x = (x ^ x >> 15U) * 0x846CA68BU;
  x ^= x >> 16U;
  if (x % 4096 == 0) {
    __nanosleep(200'000);
  } else if (x % 8 == 0) {
    __nanosleep(x >> 8U & 0x1FFFU);
  }
#endif
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

// Calls visit(rank) for each rank but `own`. It starts with the next rank, so that not all ranks
// send to the same one; another `turn` starts with another rank.
template <int kWorld, class Visit>
__device__ void for_each_peer(int own, int world_size, int turn, Visit visit) {
  const int size = World<kWorld>::size(world_size);
  for_each_rank<kWorld>(world_size, [&](auto number) {
    if constexpr (number.kValue != 0) {
      const int step = number.kValue + turn;
      const int rank = own + (step < size ? step : step - (size - 1));
      visit(rank < size ? rank : rank - size);
    }
  });
}

template <int kWorld, class Visit>
__device__ void for_each_peer(int own, int world_size, Visit visit) {
  for_each_peer<kWorld>(own, world_size, 0, visit);
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

// Takes the vectors of the other ranks for which expects(rank) is true out of their slots as soon
// as they have arrived, and empties the slots. slots[rank * stride] is the slot of a rank. It looks
// at all of them at once: looks one after the other would add up. Leaves the other parts alone.
template <int kWorld, class Expects>
__device__ void receive(uint4* slots,
                        int stride,
                        int own_rank,
                        int world_size,
                        uint4 (&parts)[World<kWorld>::kSlots],
                        Expects expects) {
  const auto for_each_expected = [&](auto visit) {
    for_each_rank<kWorld>(world_size, [&](auto rank) {
      if (rank.kValue != own_rank && expects(rank.kValue)) visit(rank);
    });
  };
  delay_at_random(own_rank, 1);
  bool all_arrived = false;
  while (!all_arrived) {
    for_each_expected(
        [&](auto rank) { parts[rank.kValue] = look(slots + rank.kValue * stride); });
    all_arrived = true;
    for_each_expected([&](auto rank) { all_arrived &= has_arrived(parts[rank.kValue]); });
  }
  delay_at_random(own_rank, 2);
  for_each_expected([&](auto rank) { send(slots + rank.kValue * stride, empty_vector()); });
}

template <int kWorld>
__device__ void receive(
    uint4* slots, int stride, int own_rank, int world_size, uint4 (&parts)[World<kWorld>::kSlots]) {
  receive<kWorld>(slots, stride, own_rank, world_size, parts, [](int) { return true; });
}

// Tells which of the two halves of a strategy's workspace this call uses, and gives the next call
// the other one. Two halves are enough: a rank that starts call k+2 has ended call k+1, so it has
// what all others sent in k+1, so all others have ended call k and emptied its half.
//
// The words lie in the GPU's own control block: [0] counts calls, [1] counts blocks of this call.
class Turn {
 public:
  __device__ explicit Turn(std::byte* control)
      : words_(reinterpret_cast<std::uint32_t*>(control)),
        call_(*const_cast<volatile std::uint32_t*>(words_)) {}

  [[nodiscard]] __device__ std::uint32_t half() const { return call_ & 1U; }

  // All threads of every block call it once, after the last call of half(). The last block to do so
  // counts the call; nothing waits for it.
  __device__ void is_known() {
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (atomicAdd(words_ + 1, 1U) + 1U != gridDim.x) return;
    words_[1] = 0;
    words_[0] = call_ + 1U;
  }

 private:
  std::uint32_t* words_;
  std::uint32_t call_;
};

}  // namespace assay::allreduce
