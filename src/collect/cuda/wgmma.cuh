// Hopper's products of a warpgroup (PTX ISA, wgmma.mma_async): sum[64, N] += a[64, k] x b[N, k]
// transposed, with float32 sums in registers. Thread t of the warpgroup holds, for column group j
// of 8, sums[4 j + {0, 1}] of row t / 32 * 16 + t % 32 / 4 and columns 8 j + t % 4 * 2 + {0, 1},
// and sums[4 j + {2, 3}] of the row 8 further down.
#pragma once

#include <cstdint>

namespace assay::collect {

// Both operands have 128 bytes of k in a row, with the swizzle of 128 bytes, in memory aligned to
// 1024 bytes. A step along k adds its bytes to the address.
__device__ inline std::uint64_t matrix_descriptor(std::uint32_t shared_address) {
  constexpr std::uint64_t kRowsOfEight = std::uint64_t{1024 >> 4} << 32U;
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62U;
  return kSwizzle128 | kRowsOfEight | ((shared_address & 0x3FFFFU) >> 4U);
}

__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most kPending groups of products are under way.
template <int kPending>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving accesses of the sums across a wait.
template <int kCount>
__device__ void hold(float (&sums)[kCount]) {
#pragma unroll
  for (float& sum : sums)
    asm volatile("" : "+f"(sum)::"memory");
}

// clang-format off
#define ASSAY_TEXT_8 \
  "{" \
  "%0, %1, %2, %3, %4, %5, %6, %7 " \
  "}"
#define ASSAY_SUMS_8(d) \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define ASSAY_TEXT_16 \
  "{" \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 " \
  "}"
#define ASSAY_SUMS_16(d) \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define ASSAY_TEXT_32 \
  "{" \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31 " \
  "}"
#define ASSAY_SUMS_32(d) \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define ASSAY_TEXT_64 \
  "{" \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63 " \
  "}"
#define ASSAY_SUMS_64(d) \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
  "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
  "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
  "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
  "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define ASSAY_TEXT_128 \
  "{" \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127 " \
  "}"
#define ASSAY_SUMS_128(d) \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
  "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
  "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
  "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
  "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
  "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
  "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
  "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
  "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), \
  "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
  "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), \
  "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
  "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

// The first product of a sum overwrites the registers (accumulate = 0).
#define ASSAY_PRODUCT_OF_SHARED(NAME, N, SUMS, SHAPE, TYPES, TRAILING, A, B, P)                    \
  __device__ inline void NAME(float (&sums)[SUMS], std::uint64_t a, std::uint64_t b,               \
                              int accumulate) {                                                    \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\n"                                    \
                 "wgmma.mma_async.sync.aligned.m64n" #N SHAPE ".f32" TYPES " "                     \
                 ASSAY_TEXT_##SUMS ", " A ", " B ", p, 1, 1" TRAILING ";\n}"                       \
                 : ASSAY_SUMS_##SUMS(sums)                                                         \
                 : "l"(a), "l"(b), "r"(accumulate));                                               \
  }
#define ASSAY_PRODUCT_OF_REGISTERS(NAME, N, SUMS, SHAPE, TYPES, TRAILING, A0, A1, A2, A3, B, P)    \
  __device__ inline void NAME(float (&sums)[SUMS], const std::uint32_t (&a)[4], std::uint64_t b,   \
                              int accumulate) {                                                    \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\n"                                    \
                 "wgmma.mma_async.sync.aligned.m64n" #N SHAPE ".f32" TYPES " "                     \
                 ASSAY_TEXT_##SUMS ", {" A0 ", " A1 ", " A2 ", " A3 "}, " B ", p, 1, 1" TRAILING    \
                 ";\n}"                                                                            \
                 : ASSAY_SUMS_##SUMS(sums)                                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));           \
  }
ASSAY_PRODUCT_OF_SHARED(product_fp8, 16, 8, "k32", ".e4m3.e4m3", "", "%8", "%9", "%10")
ASSAY_PRODUCT_OF_SHARED(product_bfloat16, 16, 8, "k16", ".bf16.bf16", ", 0, 0", "%8", "%9", "%10")
ASSAY_PRODUCT_OF_REGISTERS(product_bfloat16, 16, 8, "k16", ".bf16.bf16", ", 0", "%8", "%9", "%10", "%11", "%12", "%13")
ASSAY_PRODUCT_OF_SHARED(product_fp8, 32, 16, "k32", ".e4m3.e4m3", "", "%16", "%17", "%18")
ASSAY_PRODUCT_OF_SHARED(product_bfloat16, 32, 16, "k16", ".bf16.bf16", ", 0, 0", "%16", "%17", "%18")
ASSAY_PRODUCT_OF_REGISTERS(product_bfloat16, 32, 16, "k16", ".bf16.bf16", ", 0", "%16", "%17", "%18", "%19", "%20", "%21")
ASSAY_PRODUCT_OF_SHARED(product_fp8, 64, 32, "k32", ".e4m3.e4m3", "", "%32", "%33", "%34")
ASSAY_PRODUCT_OF_REGISTERS(product_fp8, 64, 32, "k32", ".e4m3.e4m3", "", "%32", "%33", "%34", "%35", "%36", "%37")
ASSAY_PRODUCT_OF_SHARED(product_bfloat16, 64, 32, "k16", ".bf16.bf16", ", 0, 0", "%32", "%33", "%34")
ASSAY_PRODUCT_OF_REGISTERS(product_bfloat16, 64, 32, "k16", ".bf16.bf16", ", 0", "%32", "%33", "%34", "%35", "%36", "%37")
ASSAY_PRODUCT_OF_SHARED(product_fp8, 128, 64, "k32", ".e4m3.e4m3", "", "%64", "%65", "%66")
ASSAY_PRODUCT_OF_REGISTERS(product_fp8, 128, 64, "k32", ".e4m3.e4m3", "", "%64", "%65", "%66", "%67", "%68", "%69")
ASSAY_PRODUCT_OF_SHARED(product_bfloat16, 128, 64, "k16", ".bf16.bf16", ", 0, 0", "%64", "%65", "%66")
ASSAY_PRODUCT_OF_REGISTERS(product_bfloat16, 128, 64, "k16", ".bf16.bf16", ", 0", "%64", "%65", "%66", "%67", "%68", "%69")
ASSAY_PRODUCT_OF_SHARED(product_fp8, 256, 128, "k32", ".e4m3.e4m3", "", "%128", "%129", "%130")
ASSAY_PRODUCT_OF_REGISTERS(product_fp8, 256, 128, "k32", ".e4m3.e4m3", "", "%128", "%129", "%130", "%131", "%132", "%133")
ASSAY_PRODUCT_OF_SHARED(product_bfloat16, 256, 128, "k16", ".bf16.bf16", ", 0, 0", "%128", "%129", "%130")

#undef ASSAY_PRODUCT_OF_SHARED
#undef ASSAY_PRODUCT_OF_REGISTERS
#undef ASSAY_TEXT_8
#undef ASSAY_SUMS_8
#undef ASSAY_TEXT_16
#undef ASSAY_SUMS_16
#undef ASSAY_TEXT_32
#undef ASSAY_SUMS_32
#undef ASSAY_TEXT_64
#undef ASSAY_SUMS_64
#undef ASSAY_TEXT_128
#undef ASSAY_SUMS_128
// clang-format on

}  // namespace assay::collect
