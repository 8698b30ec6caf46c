// The products of warp groups of MLA's decoding, whose right factors are narrow, and how weights
// get to where such a product reads them.
#pragma once

#include <cstdint>

namespace assay::collect::mla {

#define ASSAY_FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ASSAY_SIXTEEN(d, i) \
  ASSAY_FOUR(d, i), ASSAY_FOUR(d, i + 4), ASSAY_FOUR(d, i + 8), ASSAY_FOUR(d, i + 12)
#define ASSAY_D4 "{%0, %1, %2, %3}"
#define ASSAY_D8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define ASSAY_D16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define ASSAY_D32                                                                          \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"

// Adds a product [64, 16] x [16, kColumns] to `to`. The left factor lies in shared memory; with
// kTransposed its columns are contiguous there. The right factor's columns are contiguous.
template <int kColumns, bool kTransposed>
__device__ void add_product(float (&to)[kColumns / 2], std::uint64_t left, std::uint64_t right) {
  constexpr int kWay = kTransposed ? 1 : 0;
  if constexpr (kColumns == 8) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " ASSAY_D4
                 ", %4, %5, 1, 1, 1, %6, 0;"
                 : ASSAY_FOUR(to, 0)
                 : "l"(left), "l"(right), "n"(kWay));
  } else if constexpr (kColumns == 16) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " ASSAY_D8
                 ", %8, %9, 1, 1, 1, %10, 0;"
                 : ASSAY_FOUR(to, 0), ASSAY_FOUR(to, 4)
                 : "l"(left), "l"(right), "n"(kWay));
  } else if constexpr (kColumns == 32) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " ASSAY_D16
                 ", %16, %17, 1, 1, 1, %18, 0;"
                 : ASSAY_SIXTEEN(to, 0)
                 : "l"(left), "l"(right), "n"(kWay));
  } else {
    static_assert(kColumns == 64);
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " ASSAY_D32
                 ", %32, %33, 1, 1, 1, %34, 0;"
                 : ASSAY_SIXTEEN(to, 0), ASSAY_SIXTEEN(to, 16)
                 : "l"(left), "l"(right), "n"(kWay));
  }
}

// The same with a left factor of halves in registers.
template <int kColumns>
__device__ void add_product(float (&to)[kColumns / 2],
                            const std::uint32_t (&left)[4],
                            std::uint64_t right) {
  if constexpr (kColumns == 8) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " ASSAY_D4
                 ", {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : ASSAY_FOUR(to, 0)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
  } else if constexpr (kColumns == 16) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " ASSAY_D8
                 ", {%8, %9, %10, %11}, %12, 1, 1, 1, 0;"
                 : ASSAY_FOUR(to, 0), ASSAY_FOUR(to, 4)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
  } else if constexpr (kColumns == 32) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " ASSAY_D16
                 ", {%16, %17, %18, %19}, %20, 1, 1, 1, 0;"
                 : ASSAY_SIXTEEN(to, 0)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
  } else {
    static_assert(kColumns == 64);
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " ASSAY_D32
                 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
                 : ASSAY_SIXTEEN(to, 0), ASSAY_SIXTEEN(to, 16)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
  }
}

#undef ASSAY_FOUR
#undef ASSAY_SIXTEEN
#undef ASSAY_D4
#undef ASSAY_D8
#undef ASSAY_D16
#undef ASSAY_D32

// Writes 8x8 matrices of 16-bit numbers transposed; lane l gives the address of row l % 8 of matrix
// l / 8.
__device__ inline void store_transposed(std::uint32_t address, const std::uint32_t (&of)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(of[0]), "r"(of[1]), "r"(of[2]), "r"(of[3])
      : "memory");
}

__device__ inline void store_transposed(std::uint32_t address, const std::uint32_t (&of)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(of[0]), "r"(of[1])
               : "memory");
}

}  // namespace assay::collect::mla
