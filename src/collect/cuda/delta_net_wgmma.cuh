// The few instructions of Hopper's tensor cores that the gated delta rule takes: the left matrix is
// in registers, the right one in shared memory with rows of 128 bytes in the swizzle of 128 bytes.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace assay::collect {

inline constexpr int kSwizzledRow = 128;                 // bytes
inline constexpr int kSwizzledTile = 64 * kSwizzledRow;  // bytes of 64 rows

// The place of 16 bytes in such a tile.
__device__ inline int swizzled(int row, int piece) {
  return row * kSwizzledRow + ((piece ^ (row & 7)) << 4);
}

__device__ inline std::uint32_t address_in_shared(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Describes a matrix whose groups of eight rows follow each other. `between` is the distance of the
// tiles that hold the next 64 columns, which only matrices with columns along N have.
__device__ inline std::uint64_t matrix_at(std::uint32_t address, int between = 16) {
  constexpr std::uint64_t kSwizzle128 = 1ULL << 62U;
  constexpr std::uint64_t kEightRows = (8ULL * kSwizzledRow) >> 4U;
  return static_cast<std::uint64_t>((address & 0x3FFFFU) >> 4U) |
         static_cast<std::uint64_t>(static_cast<unsigned>(between) >> 4U) << 16U |
         kEightRows << 32U | kSwizzle128;
}

__device__ inline void products_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most `kPending` groups are not finished.
template <int kPending>
__device__ inline void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Adds the product of [64, 16] by [16, 64] to `sums`, or overwrites them. The right matrix has K
// along its rows of shared memory.
__device__ inline void multiply_64(float (&sums)[32],
                                   const std::uint32_t (&left)[4],
                                   std::uint64_t right,
                                   bool adds) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
      "{%32,%33,%34,%35}, %36, p, 1, 1, 0;\n"
      "}\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]),
        "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]), "+f"(sums[16]),
        "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]),
        "+f"(sums[22]), "+f"(sums[23]), "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]),
        "+f"(sums[27]), "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right),
        "r"(static_cast<int>(adds)));
}

// Adds the product of [64, 16] by [16, 128] to `sums`. The right matrix has N along its rows.
__device__ inline void multiply_128(float (&sums)[64],
                                    const std::uint32_t (&left)[4],
                                    std::uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
      "{%64,%65,%66,%67}, %68, 1, 1, 1, 1;\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]),
        "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]), "+f"(sums[16]),
        "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]),
        "+f"(sums[22]), "+f"(sums[23]), "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]),
        "+f"(sums[27]), "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]), "+f"(sums[31]),
        "+f"(sums[32]), "+f"(sums[33]), "+f"(sums[34]), "+f"(sums[35]), "+f"(sums[36]),
        "+f"(sums[37]), "+f"(sums[38]), "+f"(sums[39]), "+f"(sums[40]), "+f"(sums[41]),
        "+f"(sums[42]), "+f"(sums[43]), "+f"(sums[44]), "+f"(sums[45]), "+f"(sums[46]),
        "+f"(sums[47]), "+f"(sums[48]), "+f"(sums[49]), "+f"(sums[50]), "+f"(sums[51]),
        "+f"(sums[52]), "+f"(sums[53]), "+f"(sums[54]), "+f"(sums[55]), "+f"(sums[56]),
        "+f"(sums[57]), "+f"(sums[58]), "+f"(sums[59]), "+f"(sums[60]), "+f"(sums[61]),
        "+f"(sums[62]), "+f"(sums[63])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}

__device__ inline std::uint32_t packed_pair(float first, float second) {
  const __nv_bfloat162 pair = __float22bfloat162_rn({first, second});
  return reinterpret_cast<const std::uint32_t&>(pair);
}

// Rounds sums of 16 columns to the left matrix of a product: both have the same layout.
template <int kCount>
__device__ inline void as_left(const float (&sums)[kCount], int step, std::uint32_t (&left)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    left[i] = packed_pair(sums[step * 8 + 2 * i], sums[step * 8 + 2 * i + 1]);
}

__device__ inline void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

__device__ inline void load_transposed(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

__device__ inline void store_transposed(const std::uint32_t (&from)[4], std::uint32_t address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%4], {%0,%1,%2,%3};" ::"r"(from[0]),
               "r"(from[1]), "r"(from[2]), "r"(from[3]), "r"(address)
               : "memory");
}

// Copies 16 bytes to shared memory, or zeros unless `exists`.
__device__ inline void copy_piece(std::uint32_t to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(exists ? 16 : 0)
               : "memory");
}

__device__ inline void copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kPending>
__device__ inline void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Makes shared memory that this thread wrote visible to the tensor cores.
__device__ inline void show_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace assay::collect
