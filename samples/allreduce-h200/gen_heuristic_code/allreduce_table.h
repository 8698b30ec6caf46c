// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-27, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H
#define ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_b998afad70f1c1c7 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION const char* name_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::kOneshot:
      return "ONESHOT";
    case Strategy::kTwoshotPush:
      return "TWOSHOT_PUSH";
    case Strategy::kTwoshot:
      return "TWOSHOT";
    case Strategy::kNcclSymmetric:
      return "NCCL_SYMMETRIC";
    case Strategy::kNccl:
      return "NCCL";
  }
  return "unknown";
}

enum class Fusion : std::uint8_t {
  kNone = 0,
  kResidualRmsNorm = 1,
  kResidualRmsNormQuantFp8 = 2,
  kResidualRmsNormQuantNvfp4 = 3,
};

enum class DataType : std::uint8_t {
  kBfloat16 = 0,
  kFloat16 = 1,
  kFloat32 = 2,
};

inline constexpr int kSmVersion = 90;
inline constexpr int kSliceCount = 28;
inline constexpr Strategy kFallback = Strategy::kNccl;

namespace detail {

struct Slice {
  std::int64_t world_size;
  std::int64_t from_world_size;  // extrapolated from this many GPUs; 0: measured
  Fusion fusion;
  DataType data_type;
  int first_row;
  int end_row;
};

struct Row {
  std::int64_t hidden_size;
  int first_segment;
  int end_segment;
};

// A segment ends where the next one of its row begins.
struct Segment {
  std::int64_t from_bytes;
  Strategy strategy;
};

#define ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 10}, \
  {2, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 10, 20}, \
  {2, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 20, 30}, \
  {2, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 30, 40}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 40, 50}, \
  {4, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 50, 60}, \
  {4, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 60, 70}, \
  {4, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 70, 80}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 80, 90}, \
  {3, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 90, 100}, \
  {3, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 100, 110}, \
  {3, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 110, 120}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 120, 130}, \
  {5, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 130, 140}, \
  {5, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 140, 150}, \
  {5, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 150, 160}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 160, 170}, \
  {6, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 170, 180}, \
  {6, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 180, 190}, \
  {6, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 190, 200}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 200, 210}, \
  {7, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 210, 220}, \
  {7, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 220, 230}, \
  {7, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 230, 240}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 240, 250}, \
  {8, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 250, 260}, \
  {8, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 260, 270}, \
  {8, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 270, 280}
#define ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_ROWS \
  {128, 0, 1}, \
  {256, 1, 2}, \
  {512, 2, 3}, \
  {1024, 3, 4}, \
  {2048, 4, 5}, \
  {2880, 5, 6}, \
  {4096, 6, 7}, \
  {5120, 7, 8}, \
  {7168, 8, 10}, \
  {8192, 10, 12}, \
  {128, 12, 13}, \
  {256, 13, 14}, \
  {512, 14, 15}, \
  {1024, 15, 16}, \
  {2048, 16, 17}, \
  {2880, 17, 18}, \
  {4096, 18, 19}, \
  {5120, 19, 20}, \
  {7168, 20, 21}, \
  {8192, 21, 22}, \
  {128, 22, 23}, \
  {256, 23, 24}, \
  {512, 24, 25}, \
  {1024, 25, 26}, \
  {2048, 26, 27}, \
  {2880, 27, 28}, \
  {4096, 28, 29}, \
  {5120, 29, 30}, \
  {7168, 30, 31}, \
  {8192, 31, 32}, \
  {128, 32, 33}, \
  {256, 33, 34}, \
  {512, 34, 35}, \
  {1024, 35, 36}, \
  {2048, 36, 37}, \
  {2880, 37, 38}, \
  {4096, 38, 41}, \
  {5120, 41, 42}, \
  {7168, 42, 45}, \
  {8192, 45, 46}, \
  {128, 46, 48}, \
  {256, 48, 50}, \
  {512, 50, 52}, \
  {1024, 52, 54}, \
  {2048, 54, 57}, \
  {2880, 57, 60}, \
  {4096, 60, 63}, \
  {5120, 63, 66}, \
  {7168, 66, 69}, \
  {8192, 69, 72}, \
  {128, 72, 74}, \
  {256, 74, 76}, \
  {512, 76, 78}, \
  {1024, 78, 80}, \
  {2048, 80, 82}, \
  {2880, 82, 84}, \
  {4096, 84, 86}, \
  {5120, 86, 88}, \
  {7168, 88, 90}, \
  {8192, 90, 92}, \
  {128, 92, 94}, \
  {256, 94, 96}, \
  {512, 96, 100}, \
  {1024, 100, 102}, \
  {2048, 102, 104}, \
  {2880, 104, 106}, \
  {4096, 106, 108}, \
  {5120, 108, 110}, \
  {7168, 110, 112}, \
  {8192, 112, 114}, \
  {128, 114, 116}, \
  {256, 116, 118}, \
  {512, 118, 122}, \
  {1024, 122, 124}, \
  {2048, 124, 126}, \
  {2880, 126, 128}, \
  {4096, 128, 130}, \
  {5120, 130, 132}, \
  {7168, 132, 134}, \
  {8192, 134, 136}, \
  {128, 136, 138}, \
  {256, 138, 140}, \
  {512, 140, 142}, \
  {1024, 142, 144}, \
  {2048, 144, 147}, \
  {2880, 147, 150}, \
  {4096, 150, 153}, \
  {5120, 153, 156}, \
  {7168, 156, 159}, \
  {8192, 159, 162}, \
  {128, 162, 164}, \
  {256, 164, 166}, \
  {512, 166, 168}, \
  {1024, 168, 170}, \
  {2048, 170, 172}, \
  {2880, 172, 174}, \
  {4096, 174, 176}, \
  {5120, 176, 178}, \
  {7168, 178, 180}, \
  {8192, 180, 182}, \
  {128, 182, 184}, \
  {256, 184, 186}, \
  {512, 186, 188}, \
  {1024, 188, 190}, \
  {2048, 190, 192}, \
  {2880, 192, 194}, \
  {4096, 194, 196}, \
  {5120, 196, 198}, \
  {7168, 198, 200}, \
  {8192, 200, 202}, \
  {128, 202, 204}, \
  {256, 204, 206}, \
  {512, 206, 208}, \
  {1024, 208, 212}, \
  {2048, 212, 214}, \
  {2880, 214, 216}, \
  {4096, 216, 218}, \
  {5120, 218, 220}, \
  {7168, 220, 222}, \
  {8192, 222, 224}, \
  {128, 224, 226}, \
  {256, 226, 228}, \
  {512, 228, 230}, \
  {1024, 230, 232}, \
  {2048, 232, 235}, \
  {2880, 235, 238}, \
  {4096, 238, 241}, \
  {5120, 241, 244}, \
  {7168, 244, 247}, \
  {8192, 247, 250}, \
  {128, 250, 252}, \
  {256, 252, 254}, \
  {512, 254, 256}, \
  {1024, 256, 258}, \
  {2048, 258, 260}, \
  {2880, 260, 262}, \
  {4096, 262, 264}, \
  {5120, 264, 266}, \
  {7168, 266, 268}, \
  {8192, 268, 270}, \
  {128, 270, 272}, \
  {256, 272, 274}, \
  {512, 274, 276}, \
  {1024, 276, 278}, \
  {2048, 278, 280}, \
  {2880, 280, 282}, \
  {4096, 282, 284}, \
  {5120, 284, 286}, \
  {7168, 286, 288}, \
  {8192, 288, 290}, \
  {128, 290, 292}, \
  {256, 292, 294}, \
  {512, 294, 296}, \
  {1024, 296, 298}, \
  {2048, 298, 300}, \
  {2880, 300, 302}, \
  {4096, 302, 304}, \
  {5120, 304, 306}, \
  {7168, 306, 308}, \
  {8192, 308, 310}, \
  {128, 310, 312}, \
  {256, 312, 314}, \
  {512, 314, 316}, \
  {1024, 316, 318}, \
  {2048, 318, 321}, \
  {2880, 321, 324}, \
  {4096, 324, 327}, \
  {5120, 327, 330}, \
  {7168, 330, 333}, \
  {8192, 333, 336}, \
  {128, 336, 338}, \
  {256, 338, 340}, \
  {512, 340, 342}, \
  {1024, 342, 344}, \
  {2048, 344, 346}, \
  {2880, 346, 348}, \
  {4096, 348, 350}, \
  {5120, 350, 352}, \
  {7168, 352, 354}, \
  {8192, 354, 356}, \
  {128, 356, 358}, \
  {256, 358, 360}, \
  {512, 360, 362}, \
  {1024, 362, 364}, \
  {2048, 364, 366}, \
  {2880, 366, 368}, \
  {4096, 368, 370}, \
  {5120, 370, 372}, \
  {7168, 372, 374}, \
  {8192, 374, 376}, \
  {128, 376, 378}, \
  {256, 378, 380}, \
  {512, 380, 382}, \
  {1024, 382, 384}, \
  {2048, 384, 386}, \
  {2880, 386, 388}, \
  {4096, 388, 390}, \
  {5120, 390, 392}, \
  {7168, 392, 394}, \
  {8192, 394, 396}, \
  {128, 396, 398}, \
  {256, 398, 400}, \
  {512, 400, 402}, \
  {1024, 402, 404}, \
  {2048, 404, 407}, \
  {2880, 407, 410}, \
  {4096, 410, 413}, \
  {5120, 413, 416}, \
  {7168, 416, 419}, \
  {8192, 419, 422}, \
  {128, 422, 424}, \
  {256, 424, 426}, \
  {512, 426, 428}, \
  {1024, 428, 430}, \
  {2048, 430, 432}, \
  {2880, 432, 434}, \
  {4096, 434, 436}, \
  {5120, 436, 438}, \
  {7168, 438, 440}, \
  {8192, 440, 442}, \
  {128, 442, 444}, \
  {256, 444, 446}, \
  {512, 446, 448}, \
  {1024, 448, 450}, \
  {2048, 450, 452}, \
  {2880, 452, 454}, \
  {4096, 454, 456}, \
  {5120, 456, 458}, \
  {7168, 458, 460}, \
  {8192, 460, 462}, \
  {128, 462, 464}, \
  {256, 464, 466}, \
  {512, 466, 468}, \
  {1024, 468, 470}, \
  {2048, 470, 472}, \
  {2880, 472, 474}, \
  {4096, 474, 476}, \
  {5120, 476, 478}, \
  {7168, 478, 480}, \
  {8192, 480, 482}, \
  {128, 482, 484}, \
  {256, 484, 486}, \
  {512, 486, 488}, \
  {1024, 488, 490}, \
  {2048, 490, 493}, \
  {2880, 493, 496}, \
  {4096, 496, 499}, \
  {5120, 499, 502}, \
  {7168, 502, 505}, \
  {8192, 505, 508}, \
  {128, 508, 510}, \
  {256, 510, 512}, \
  {512, 512, 514}, \
  {1024, 514, 516}, \
  {2048, 516, 518}, \
  {2880, 518, 520}, \
  {4096, 520, 522}, \
  {5120, 522, 524}, \
  {7168, 524, 526}, \
  {8192, 526, 528}, \
  {128, 528, 530}, \
  {256, 530, 532}, \
  {512, 532, 534}, \
  {1024, 534, 536}, \
  {2048, 536, 538}, \
  {2880, 538, 540}, \
  {4096, 540, 542}, \
  {5120, 542, 544}, \
  {7168, 544, 546}, \
  {8192, 546, 548}, \
  {128, 548, 550}, \
  {256, 550, 552}, \
  {512, 552, 554}, \
  {1024, 554, 556}, \
  {2048, 556, 558}, \
  {2880, 558, 560}, \
  {4096, 560, 562}, \
  {5120, 562, 564}, \
  {7168, 564, 566}, \
  {8192, 566, 568}
#define ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {117440513, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {134217729, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {842821, Strategy::kTwoshotPush}, \
  {1258194, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {656471, Strategy::kTwoshotPush}, \
  {1034484, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {310973, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {314536, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {316258, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {316791, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {310314, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {318992, Strategy::kTwoshotPush}, \
  {23869640, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {314811, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {327681, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {329729, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {314722, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {198124, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {191484, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {184321, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {193151, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205486, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {206279, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {229377, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {659514, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {653129, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200795, Strategy::kTwoshotPush}, \
  {374369, Strategy::kOneshot}, \
  {621722, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {186369, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {162805, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {184321, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {194700, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205420, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {229377, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {232288, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {982468, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {185345, Strategy::kTwoshotPush}, \
  {370689, Strategy::kOneshot}, \
  {915549, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {162199, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149341, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {153712, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {188417, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {188103, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {229377, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {599682, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {607897, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {605501, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {607057, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {600193, Strategy::kTwoshotPush}, \
  {47452161, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {580927, Strategy::kTwoshotPush}, \
  {33367681, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {605726, Strategy::kTwoshotPush}, \
  {47456257, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {577445, Strategy::kTwoshotPush}, \
  {30022095, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {599421, Strategy::kTwoshotPush}, \
  {41517057, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {605782, Strategy::kTwoshotPush}, \
  {47448065, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {849977, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {370689, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {317294, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {372495, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {376088, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {403711, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {456606, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1483009, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1482753, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1244727, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {325901, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {299616, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {376909, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {400998, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {441139, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2116552, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2097153, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1844984, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {303476, Strategy::kTwoshotPush}, \
  {741377, Strategy::kOneshot}, \
  {2097153, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {288740, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {375323, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {458753, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {197700, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {199523, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200740, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200273, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196721, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {194798, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {198789, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {200309, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {201904, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {198829, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {334255, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {332062, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132176, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {113276, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132481, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {140563, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {129989, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {136472, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {152397, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {420183, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {419444, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {135820, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105424, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {122294, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {134229, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131545, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132690, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {143051, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {624697, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {613107, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106007, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {103331, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94450, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106244, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {115379, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {124817, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {134909, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {150634, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {151169, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {151345, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {150693, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149703, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {145996, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150245, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150231, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {157697, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150203, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {98351, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93309, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87484, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99805, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104698, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {97912, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104382, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {115226, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {319800, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {319050, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100465, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83273, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {97124, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100507, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {101255, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99869, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {107690, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {461309, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {453868, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81487, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {78903, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {75365, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82791, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92654, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87011, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92575, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {101249, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {120305, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {122823, Strategy::kTwoshotPush}, \
  {20971521, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {125849, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {207017, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205884, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81975, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76709, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {75158, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83144, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90113, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82642, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86017, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {98305, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {266767, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {264755, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84265, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {73222, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72447, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {80320, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83521, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86365, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86017, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {89430, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {373411, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {370689, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70705, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66772, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66149, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68406, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77573, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {71026, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77255, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84059, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99442, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100430, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99673, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99454, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99225, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {98861, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {99180, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {100454, Strategy::kTwoshotPush}, \
  {20971521, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {102477, Strategy::kTwoshotPush}, \
  {24915988, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {99197, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {167319, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {166220, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {67667, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65729, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69658, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63944, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69598, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77084, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {208529, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {208256, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69750, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {59104, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {57889, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {64431, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69002, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66167, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {67678, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {73536, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {304762, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {301843, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {54161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {53532, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {49436, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {55907, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61441, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63395, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69021, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
                                          std::int64_t hidden_size,
                                          DataType data_type) {
  const std::int64_t element_bytes = data_type == DataType::kFloat32 ? 4 : 2;
  const std::int64_t tokens = num_tokens < 1 ? 1 : num_tokens;
  const std::int64_t hidden = hidden_size < 1 ? 1 : hidden_size;
  if (tokens > INT64_MAX / element_bytes / hidden) return INT64_MAX;
  return tokens * hidden * element_bytes;
}

struct Match {
  Strategy strategy;
  bool is_extrapolated;  // this number of GPUs was not measured
};

// Returns the strategy for a message; any input has one. Among the slices of the fusion, the lookup
// takes the one with the nearest TP and then with the data type, in it the row with the nearest
// hidden size, and in it the segment of the message's bytes. A fusion without a slice has kFallback.
ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION Match find(std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  int best = -1;
  for (int i = 0; i < kSliceCount; ++i) {
    if (detail::slice(i).fusion != fusion) continue;
    if (best < 0 || detail::is_better(detail::slice(i), detail::slice(best), world_size, data_type)) {
      best = i;
    }
  }
  if (best < 0) return Match{kFallback, false};

  int row = detail::slice(best).first_row;
  for (int i = row + 1; i < detail::slice(best).end_row; ++i) {
    if (detail::is_nearer(detail::row(i).hidden_size, detail::row(row).hidden_size, hidden_size)) {
      row = i;
    }
  }

  const std::int64_t size_bytes = message_bytes(num_tokens, hidden_size, data_type);
  Strategy strategy = kFallback;
  for (int i = detail::row(row).first_segment; i < detail::row(row).end_segment; ++i) {
    if (detail::segment(i).from_bytes <= size_bytes) strategy = detail::segment(i).strategy;
  }
  return Match{strategy, detail::slice(best).from_world_size != 0 ||
                             detail::slice(best).world_size != world_size};
}

ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_b998afad70f1c1c7

#undef ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_b998afad70f1c1c7;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_B998AFAD70F1C1C7_H
