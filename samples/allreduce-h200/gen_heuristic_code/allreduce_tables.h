// All-reduce strategies of 3 tables, by SM and launch.
// Made by assay allreduce codegen; do not edit.

// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-28, of 6900 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H
#define ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_a0d7da8f2b992022 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION const char* name_of(Strategy strategy) {
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
// A GPU's NVLinks carry so much in one direction; 0 means that it is not known.
inline constexpr double kLinkBytesPerUs = 450000;
inline constexpr bool kSwitchesMaySum = true;

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
  std::int64_t measured_to_bytes;  // the largest message; 0: not known
  int first_segment;
  int end_segment;
};

// A segment ends where the next one of its row begins.
struct Segment {
  std::int64_t from_bytes;
  Strategy strategy;
};

#define ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 13}, \
  {2, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 13, 26}, \
  {2, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 26, 39}, \
  {2, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 39, 52}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 52, 62}, \
  {4, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 62, 72}, \
  {4, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 72, 82}, \
  {4, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 82, 92}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 92, 102}, \
  {3, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 102, 112}, \
  {3, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 112, 122}, \
  {3, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 122, 132}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 132, 142}, \
  {5, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 142, 152}, \
  {5, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 152, 162}, \
  {5, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 162, 172}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 172, 182}, \
  {6, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 182, 192}, \
  {6, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 192, 202}, \
  {6, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 202, 212}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 212, 222}, \
  {7, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 222, 232}, \
  {7, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 232, 242}, \
  {7, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 242, 252}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 252, 262}, \
  {8, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 262, 272}, \
  {8, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 272, 282}, \
  {8, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 282, 292}
#define ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_ROWS \
  {128, 4194304, 0, 1}, \
  {256, 8388608, 1, 2}, \
  {512, 16777216, 2, 3}, \
  {1024, 33554432, 3, 4}, \
  {1536, 50331648, 4, 5}, \
  {2048, 67108864, 5, 6}, \
  {2880, 94371840, 6, 7}, \
  {3072, 100663296, 7, 8}, \
  {4096, 134217728, 8, 9}, \
  {5120, 167772160, 9, 10}, \
  {6144, 201326592, 10, 11}, \
  {7168, 234881024, 11, 12}, \
  {8192, 268435456, 12, 13}, \
  {128, 4194304, 13, 14}, \
  {256, 8388608, 14, 15}, \
  {512, 16777216, 15, 16}, \
  {1024, 33554432, 16, 17}, \
  {1536, 50331648, 17, 18}, \
  {2048, 67108864, 18, 19}, \
  {2880, 94371840, 19, 20}, \
  {3072, 100663296, 20, 21}, \
  {4096, 134217728, 21, 22}, \
  {5120, 167772160, 22, 23}, \
  {6144, 201326592, 23, 24}, \
  {7168, 234881024, 24, 25}, \
  {8192, 268435456, 25, 26}, \
  {128, 4194304, 26, 27}, \
  {256, 8388608, 27, 28}, \
  {512, 16777216, 28, 29}, \
  {1024, 33554432, 29, 30}, \
  {1536, 50331648, 30, 31}, \
  {2048, 67108864, 31, 32}, \
  {2880, 94371840, 32, 33}, \
  {3072, 100663296, 33, 34}, \
  {4096, 134217728, 34, 35}, \
  {5120, 167772160, 35, 36}, \
  {6144, 201326592, 36, 37}, \
  {7168, 234881024, 37, 38}, \
  {8192, 268435456, 38, 39}, \
  {128, 4194304, 39, 40}, \
  {256, 8388608, 40, 41}, \
  {512, 16777216, 41, 42}, \
  {1024, 33554432, 42, 43}, \
  {1536, 50331648, 43, 46}, \
  {2048, 67108864, 46, 47}, \
  {2880, 94371840, 47, 48}, \
  {3072, 100663296, 48, 49}, \
  {4096, 134217728, 49, 50}, \
  {5120, 167772160, 50, 51}, \
  {6144, 201326592, 51, 52}, \
  {7168, 234881024, 52, 53}, \
  {8192, 268435456, 53, 54}, \
  {128, 4194304, 54, 56}, \
  {256, 8388608, 56, 58}, \
  {512, 16777216, 58, 60}, \
  {1024, 33554432, 60, 62}, \
  {2048, 67108864, 62, 64}, \
  {2880, 94371840, 64, 67}, \
  {4096, 134217728, 67, 70}, \
  {5120, 167772160, 70, 73}, \
  {7168, 234881024, 73, 76}, \
  {8192, 268435456, 76, 79}, \
  {128, 4194304, 79, 81}, \
  {256, 8388608, 81, 83}, \
  {512, 16777216, 83, 85}, \
  {1024, 33554432, 85, 87}, \
  {2048, 67108864, 87, 89}, \
  {2880, 94371840, 89, 91}, \
  {4096, 134217728, 91, 93}, \
  {5120, 167772160, 93, 95}, \
  {7168, 234881024, 95, 97}, \
  {8192, 268435456, 97, 99}, \
  {128, 4194304, 99, 101}, \
  {256, 8388608, 101, 103}, \
  {512, 16777216, 103, 105}, \
  {1024, 33554432, 105, 107}, \
  {2048, 67108864, 107, 109}, \
  {2880, 94371840, 109, 111}, \
  {4096, 134217728, 111, 113}, \
  {5120, 167772160, 113, 115}, \
  {7168, 234881024, 115, 117}, \
  {8192, 268435456, 117, 119}, \
  {128, 4194304, 119, 121}, \
  {256, 8388608, 121, 123}, \
  {512, 16777216, 123, 125}, \
  {1024, 33554432, 125, 127}, \
  {2048, 67108864, 127, 129}, \
  {2880, 94371840, 129, 131}, \
  {4096, 134217728, 131, 133}, \
  {5120, 167772160, 133, 135}, \
  {7168, 234881024, 135, 137}, \
  {8192, 268435456, 137, 139}, \
  {128, 4194304, 139, 141}, \
  {256, 8388608, 141, 143}, \
  {512, 16777216, 143, 145}, \
  {1024, 33554432, 145, 147}, \
  {2048, 67108864, 147, 149}, \
  {2880, 94371840, 149, 152}, \
  {4096, 134217728, 152, 155}, \
  {5120, 167772160, 155, 158}, \
  {7168, 234881024, 158, 161}, \
  {8192, 268435456, 161, 164}, \
  {128, 4194304, 164, 166}, \
  {256, 8388608, 166, 168}, \
  {512, 16777216, 168, 170}, \
  {1024, 33554432, 170, 172}, \
  {2048, 67108864, 172, 174}, \
  {2880, 94371840, 174, 176}, \
  {4096, 134217728, 176, 178}, \
  {5120, 167772160, 178, 180}, \
  {7168, 234881024, 180, 182}, \
  {8192, 268435456, 182, 184}, \
  {128, 4194304, 184, 186}, \
  {256, 8388608, 186, 188}, \
  {512, 16777216, 188, 190}, \
  {1024, 33554432, 190, 192}, \
  {2048, 67108864, 192, 194}, \
  {2880, 94371840, 194, 196}, \
  {4096, 134217728, 196, 198}, \
  {5120, 167772160, 198, 200}, \
  {7168, 234881024, 200, 202}, \
  {8192, 268435456, 202, 204}, \
  {128, 4194304, 204, 206}, \
  {256, 8388608, 206, 208}, \
  {512, 16777216, 208, 210}, \
  {1024, 33554432, 210, 212}, \
  {2048, 67108864, 212, 214}, \
  {2880, 94371840, 214, 216}, \
  {4096, 134217728, 216, 218}, \
  {5120, 167772160, 218, 222}, \
  {7168, 234881024, 222, 224}, \
  {8192, 268435456, 224, 226}, \
  {128, 4194304, 226, 228}, \
  {256, 8388608, 228, 230}, \
  {512, 16777216, 230, 232}, \
  {1024, 33554432, 232, 234}, \
  {2048, 67108864, 234, 236}, \
  {2880, 94371840, 236, 239}, \
  {4096, 134217728, 239, 242}, \
  {5120, 167772160, 242, 245}, \
  {7168, 234881024, 245, 248}, \
  {8192, 268435456, 248, 251}, \
  {128, 4194304, 251, 253}, \
  {256, 8388608, 253, 255}, \
  {512, 16777216, 255, 257}, \
  {1024, 33554432, 257, 259}, \
  {2048, 67108864, 259, 261}, \
  {2880, 94371840, 261, 263}, \
  {4096, 134217728, 263, 265}, \
  {5120, 167772160, 265, 267}, \
  {7168, 234881024, 267, 269}, \
  {8192, 268435456, 269, 271}, \
  {128, 4194304, 271, 273}, \
  {256, 8388608, 273, 275}, \
  {512, 16777216, 275, 277}, \
  {1024, 33554432, 277, 279}, \
  {2048, 67108864, 279, 281}, \
  {2880, 94371840, 281, 283}, \
  {4096, 134217728, 283, 285}, \
  {5120, 167772160, 285, 287}, \
  {7168, 234881024, 287, 289}, \
  {8192, 268435456, 289, 291}, \
  {128, 4194304, 291, 293}, \
  {256, 8388608, 293, 295}, \
  {512, 16777216, 295, 297}, \
  {1024, 33554432, 297, 299}, \
  {2048, 67108864, 299, 301}, \
  {2880, 94371840, 301, 303}, \
  {4096, 134217728, 303, 305}, \
  {5120, 167772160, 305, 307}, \
  {7168, 234881024, 307, 309}, \
  {8192, 268435456, 309, 311}, \
  {128, 4194304, 311, 313}, \
  {256, 8388608, 313, 315}, \
  {512, 16777216, 315, 317}, \
  {1024, 33554432, 317, 319}, \
  {2048, 67108864, 319, 321}, \
  {2880, 94371840, 321, 324}, \
  {4096, 134217728, 324, 327}, \
  {5120, 167772160, 327, 330}, \
  {7168, 234881024, 330, 333}, \
  {8192, 268435456, 333, 336}, \
  {128, 4194304, 336, 338}, \
  {256, 8388608, 338, 340}, \
  {512, 16777216, 340, 342}, \
  {1024, 33554432, 342, 344}, \
  {2048, 67108864, 344, 346}, \
  {2880, 94371840, 346, 348}, \
  {4096, 134217728, 348, 350}, \
  {5120, 167772160, 350, 352}, \
  {7168, 234881024, 352, 354}, \
  {8192, 268435456, 354, 356}, \
  {128, 4194304, 356, 358}, \
  {256, 8388608, 358, 360}, \
  {512, 16777216, 360, 362}, \
  {1024, 33554432, 362, 364}, \
  {2048, 67108864, 364, 366}, \
  {2880, 94371840, 366, 368}, \
  {4096, 134217728, 368, 370}, \
  {5120, 167772160, 370, 372}, \
  {7168, 234881024, 372, 374}, \
  {8192, 268435456, 374, 376}, \
  {128, 4194304, 376, 378}, \
  {256, 8388608, 378, 380}, \
  {512, 16777216, 380, 382}, \
  {1024, 33554432, 382, 384}, \
  {2048, 67108864, 384, 386}, \
  {2880, 94371840, 386, 388}, \
  {4096, 134217728, 388, 390}, \
  {5120, 167772160, 390, 392}, \
  {7168, 234881024, 392, 394}, \
  {8192, 268435456, 394, 396}, \
  {128, 4194304, 396, 398}, \
  {256, 8388608, 398, 400}, \
  {512, 16777216, 400, 402}, \
  {1024, 33554432, 402, 404}, \
  {2048, 67108864, 404, 406}, \
  {2880, 94371840, 406, 409}, \
  {4096, 134217728, 409, 412}, \
  {5120, 167772160, 412, 415}, \
  {7168, 234881024, 415, 418}, \
  {8192, 268435456, 418, 421}, \
  {128, 4194304, 421, 423}, \
  {256, 8388608, 423, 425}, \
  {512, 16777216, 425, 427}, \
  {1024, 33554432, 427, 429}, \
  {2048, 67108864, 429, 431}, \
  {2880, 94371840, 431, 433}, \
  {4096, 134217728, 433, 435}, \
  {5120, 167772160, 435, 437}, \
  {7168, 234881024, 437, 439}, \
  {8192, 268435456, 439, 441}, \
  {128, 4194304, 441, 443}, \
  {256, 8388608, 443, 445}, \
  {512, 16777216, 445, 447}, \
  {1024, 33554432, 447, 449}, \
  {2048, 67108864, 449, 451}, \
  {2880, 94371840, 451, 453}, \
  {4096, 134217728, 453, 455}, \
  {5120, 167772160, 455, 457}, \
  {7168, 234881024, 457, 459}, \
  {8192, 268435456, 459, 461}, \
  {128, 4194304, 461, 463}, \
  {256, 8388608, 463, 465}, \
  {512, 16777216, 465, 467}, \
  {1024, 33554432, 467, 469}, \
  {2048, 67108864, 469, 471}, \
  {2880, 94371840, 471, 473}, \
  {4096, 134217728, 473, 475}, \
  {5120, 167772160, 475, 477}, \
  {7168, 234881024, 477, 479}, \
  {8192, 268435456, 479, 481}, \
  {128, 4194304, 481, 483}, \
  {256, 8388608, 483, 485}, \
  {512, 16777216, 485, 487}, \
  {1024, 33554432, 487, 489}, \
  {2048, 67108864, 489, 491}, \
  {2880, 94371840, 491, 494}, \
  {4096, 134217728, 494, 497}, \
  {5120, 167772160, 497, 500}, \
  {7168, 234881024, 500, 503}, \
  {8192, 268435456, 503, 506}, \
  {128, 4194304, 506, 508}, \
  {256, 8388608, 508, 510}, \
  {512, 16777216, 510, 512}, \
  {1024, 33554432, 512, 514}, \
  {2048, 67108864, 514, 516}, \
  {2880, 94371840, 516, 518}, \
  {4096, 134217728, 518, 520}, \
  {5120, 167772160, 520, 522}, \
  {7168, 234881024, 522, 524}, \
  {8192, 268435456, 524, 526}, \
  {128, 4194304, 526, 528}, \
  {256, 8388608, 528, 530}, \
  {512, 16777216, 530, 532}, \
  {1024, 33554432, 532, 534}, \
  {2048, 67108864, 534, 536}, \
  {2880, 94371840, 536, 538}, \
  {4096, 134217728, 538, 540}, \
  {5120, 167772160, 540, 542}, \
  {7168, 234881024, 542, 544}, \
  {8192, 268435456, 544, 546}, \
  {128, 4194304, 546, 548}, \
  {256, 8388608, 548, 550}, \
  {512, 16777216, 550, 552}, \
  {1024, 33554432, 552, 554}, \
  {2048, 67108864, 554, 556}, \
  {2880, 94371840, 556, 558}, \
  {4096, 134217728, 558, 560}, \
  {5120, 167772160, 560, 562}, \
  {7168, 234881024, 562, 564}, \
  {8192, 268435456, 564, 566}
#define ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SEGMENTS \
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
  {561801, Strategy::kTwoshotPush}, \
  {1572864, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {263801, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {268781, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {269982, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {270298, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {272738, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {279273, Strategy::kTwoshotPush}, \
  {53463316, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {269488, Strategy::kTwoshotPush}, \
  {67108864, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {274703, Strategy::kTwoshotPush}, \
  {52012099, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {270429, Strategy::kTwoshotPush}, \
  {64543279, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {269115, Strategy::kTwoshotPush}, \
  {66395063, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {219805, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {215175, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {210333, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {197237, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {177949, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {198302, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {212769, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {214869, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {231630, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {250140, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201996, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {202780, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {187510, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {160950, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {161745, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {171735, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169057, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {170785, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {211583, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205411, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {177237, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {174396, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169794, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {158439, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149945, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {170282, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {180949, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {181314, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {222341, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {243798, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {538444, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {548831, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {545833, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {542405, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {557141, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {537120, Strategy::kTwoshotPush}, \
  {56575518, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {542383, Strategy::kTwoshotPush}, \
  {72560956, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {527324, Strategy::kTwoshotPush}, \
  {55557413, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {546364, Strategy::kTwoshotPush}, \
  {67237403, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {555838, Strategy::kTwoshotPush}, \
  {71053892, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {402299, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {396028, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {396253, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {373630, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {342692, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {397970, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {408981, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {408175, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {449917, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {485819, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {364768, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {362370, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {351237, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {306209, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {302018, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {331170, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {311048, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {334076, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {396537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {411812, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {340942, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {339975, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {329120, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {317306, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {294011, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {366921, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {354287, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {387702, Strategy::kTwoshotPush}, \
  {1035605, Strategy::kOneshot}, \
  {1542032, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {494182, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {535914, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {176299, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {177483, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {178431, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {178616, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {180220, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {177743, Strategy::kTwoshotPush}, \
  {50121859, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {177688, Strategy::kTwoshotPush}, \
  {61121946, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {177389, Strategy::kTwoshotPush}, \
  {49177824, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {180519, Strategy::kTwoshotPush}, \
  {58720256, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {177849, Strategy::kTwoshotPush}, \
  {58903558, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {152453, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {146511, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {142819, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132442, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {117550, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {145445, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {146429, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {144054, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {154098, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {163493, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {138597, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {141943, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {126252, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {111073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {110782, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123387, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {117624, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {115435, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {130016, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131072, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {117977, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {115808, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {114680, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {109143, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {98803, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {124450, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {125885, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {124795, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132443, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {143654, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131540, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131904, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132420, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {133715, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {133800, Strategy::kTwoshotPush}, \
  {48116985, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131391, Strategy::kTwoshotPush}, \
  {56976129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {133154, Strategy::kTwoshotPush}, \
  {47304735, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {135195, Strategy::kTwoshotPush}, \
  {56715720, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131072, Strategy::kTwoshotPush}, \
  {55191616, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {115411, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {110512, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {108206, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99938, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90108, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {112806, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {110416, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105543, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {114689, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {121286, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102967, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106211, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {95980, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84102, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83853, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93959, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {88804, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84535, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {96133, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100881, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {88291, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86610, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87423, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82481, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {75622, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94234, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {95828, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92757, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {96534, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105863, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104270, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104942, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105358, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104999, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106033, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105329, Strategy::kTwoshotPush}, \
  {47185921, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {104883, Strategy::kTwoshotPush}, \
  {54538455, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {105835, Strategy::kTwoshotPush}, \
  {45974772, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {106981, Strategy::kTwoshotPush}, \
  {52445321, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {104397, Strategy::kTwoshotPush}, \
  {52975153, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {90090, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86729, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86099, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76933, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {74542, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {89450, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87482, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81921, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90140, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {96053, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81710, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82661, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77856, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66409, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76056, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68375, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68012, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76748, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {80003, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {67883, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66932, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69524, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {64143, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61728, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76120, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {74746, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72775, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76847, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84054, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86483, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87596, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {86805, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87633, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87471, Strategy::kTwoshotPush}, \
  {44229929, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {87109, Strategy::kTwoshotPush}, \
  {52933579, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {87876, Strategy::kTwoshotPush}, \
  {44981617, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {89080, Strategy::kTwoshotPush}, \
  {49971568, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {86366, Strategy::kTwoshotPush}, \
  {51501944, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {74314, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {71848, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {71645, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63909, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61554, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {75502, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72632, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68982, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {75226, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {79604, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {67605, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68183, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {64998, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {55696, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {55923, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63360, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {58696, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {57508, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63831, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66515, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {57993, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {57001, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {58019, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {54717, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {49221, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {64594, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {62861, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61356, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {64012, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69726, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
  // It was measured with this number of GPUs, fusion and type, and with messages up to this size.
  bool is_measured;
};

// Returns the strategy for a message; any input has one. Among the slices of the fusion, the lookup
// takes the one with the nearest TP and then with the data type, in it the row with the nearest
// hidden size, and in it the segment of the message's bytes. A fusion without a slice has kFallback.
ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION Match find(std::int64_t world_size,
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
  if (best < 0) return Match{kFallback, false, false};

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
  const bool is_extrapolated =
      detail::slice(best).from_world_size != 0 || detail::slice(best).world_size != world_size;
  const std::int64_t measured_to = detail::row(row).measured_to_bytes;
  const bool is_beyond = measured_to != 0 && size_bytes > measured_to;
  return Match{strategy, is_extrapolated,
               !is_extrapolated && !is_beyond && detail::slice(best).data_type == data_type};
}

ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that the GPUs' NVLinks need for what one sends: (N-1) S with
// ONESHOT, 2 (N-1)/N S with TWOSHOT and TWOSHOT_PUSH, and with NCCL S where switches may sum. No time
// is below it, extrapolated or not. 0 where the links are not known.
ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  if (kLinkBytesPerUs == 0) return 0;
  const bool is_of_nccl = strategy == Strategy::kNccl || strategy == Strategy::kNcclSymmetric;
  const double sent = strategy == Strategy::kOneshot  ? world_size - 1.0
                      : is_of_nccl && kSwitchesMaySum ? 1.0
                                                      : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / kLinkBytesPerUs;
}

}  // namespace allreduce_table_sm90_graph_a0d7da8f2b992022

#undef ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_a0d7da8f2b992022;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_A0D7DA8F2B992022_H

// All-reduce strategies for SM 90, for calls launched by the host.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-28, of 1725 times in benchmark.tp2.sm90.eager.csv benchmark.tp4.sm90.eager.csv.

#ifndef ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H
#define ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_eager_f4b5480f6ba61c38 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION const char* name_of(Strategy strategy) {
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
inline constexpr int kSliceCount = 7;
inline constexpr Strategy kFallback = Strategy::kNccl;
// A GPU's NVLinks carry so much in one direction; 0 means that it is not known.
inline constexpr double kLinkBytesPerUs = 450000;
inline constexpr bool kSwitchesMaySum = true;

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
  std::int64_t measured_to_bytes;  // the largest message; 0: not known
  int first_segment;
  int end_segment;
};

// A segment ends where the next one of its row begins.
struct Segment {
  std::int64_t from_bytes;
  Strategy strategy;
};

#define ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 13}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 13, 23}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 23, 33}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 33, 43}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 43, 53}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 53, 63}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 63, 73}
#define ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_ROWS \
  {128, 4194304, 0, 1}, \
  {256, 8388608, 1, 2}, \
  {512, 16777216, 2, 3}, \
  {1024, 33554432, 3, 4}, \
  {1536, 50331648, 4, 5}, \
  {2048, 67108864, 5, 6}, \
  {2880, 94371840, 6, 7}, \
  {3072, 100663296, 7, 8}, \
  {4096, 134217728, 8, 9}, \
  {5120, 167772160, 9, 10}, \
  {6144, 201326592, 10, 11}, \
  {7168, 234881024, 11, 12}, \
  {8192, 268435456, 12, 13}, \
  {128, 4194304, 13, 15}, \
  {256, 8388608, 15, 17}, \
  {512, 16777216, 17, 19}, \
  {1024, 33554432, 19, 21}, \
  {2048, 67108864, 21, 23}, \
  {2880, 94371840, 23, 26}, \
  {4096, 134217728, 26, 29}, \
  {5120, 167772160, 29, 32}, \
  {7168, 234881024, 32, 35}, \
  {8192, 268435456, 35, 38}, \
  {128, 4194304, 38, 40}, \
  {256, 8388608, 40, 42}, \
  {512, 16777216, 42, 44}, \
  {1024, 33554432, 44, 46}, \
  {2048, 67108864, 46, 48}, \
  {2880, 94371840, 48, 51}, \
  {4096, 134217728, 51, 54}, \
  {5120, 167772160, 54, 57}, \
  {7168, 234881024, 57, 60}, \
  {8192, 268435456, 60, 63}, \
  {128, 4194304, 63, 65}, \
  {256, 8388608, 65, 67}, \
  {512, 16777216, 67, 69}, \
  {1024, 33554432, 69, 71}, \
  {2048, 67108864, 71, 73}, \
  {2880, 94371840, 73, 76}, \
  {4096, 134217728, 76, 79}, \
  {5120, 167772160, 79, 82}, \
  {7168, 234881024, 82, 85}, \
  {8192, 268435456, 85, 88}, \
  {128, 4194304, 88, 90}, \
  {256, 8388608, 90, 92}, \
  {512, 16777216, 92, 94}, \
  {1024, 33554432, 94, 96}, \
  {2048, 67108864, 96, 98}, \
  {2880, 94371840, 98, 101}, \
  {4096, 134217728, 101, 104}, \
  {5120, 167772160, 104, 107}, \
  {7168, 234881024, 107, 110}, \
  {8192, 268435456, 110, 113}, \
  {128, 4194304, 113, 115}, \
  {256, 8388608, 115, 117}, \
  {512, 16777216, 117, 119}, \
  {1024, 33554432, 119, 121}, \
  {2048, 67108864, 121, 123}, \
  {2880, 94371840, 123, 126}, \
  {4096, 134217728, 126, 129}, \
  {5120, 167772160, 129, 132}, \
  {7168, 234881024, 132, 135}, \
  {8192, 268435456, 135, 138}, \
  {128, 4194304, 138, 140}, \
  {256, 8388608, 140, 142}, \
  {512, 16777216, 142, 144}, \
  {1024, 33554432, 144, 146}, \
  {2048, 67108864, 146, 148}, \
  {2880, 94371840, 148, 151}, \
  {4096, 134217728, 151, 154}, \
  {5120, 167772160, 154, 157}, \
  {7168, 234881024, 157, 160}, \
  {8192, 268435456, 160, 163}
#define ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SEGMENTS \
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
  {294888, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {271289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {290323, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {309807, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {286200, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {229298, Strategy::kTwoshotPush}, \
  {49176887, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {291947, Strategy::kTwoshotPush}, \
  {62398946, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {140821, Strategy::kTwoshotPush}, \
  {47951211, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {266326, Strategy::kTwoshotPush}, \
  {55141794, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {278463, Strategy::kTwoshotPush}, \
  {57499814, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {563977, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {566663, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {560172, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {540298, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {421366, Strategy::kTwoshotPush}, \
  {52412754, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524288, Strategy::kTwoshotPush}, \
  {67108864, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {327681, Strategy::kTwoshotPush}, \
  {51170740, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {522052, Strategy::kTwoshotPush}, \
  {58720256, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {485700, Strategy::kTwoshotPush}, \
  {64936050, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {169032, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {159584, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {157184, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {186368, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {157515, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94771, Strategy::kTwoshotPush}, \
  {47185921, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {159617, Strategy::kTwoshotPush}, \
  {55134452, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131564, Strategy::kTwoshotPush}, \
  {45113534, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {146419, Strategy::kTwoshotPush}, \
  {45449947, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {143478, Strategy::kTwoshotPush}, \
  {52220087, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150281, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {140264, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {143854, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {160607, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {143666, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93627, Strategy::kTwoshotPush}, \
  {41921553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {144321, Strategy::kTwoshotPush}, \
  {51645981, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {114476, Strategy::kTwoshotPush}, \
  {43262115, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {130046, Strategy::kTwoshotPush}, \
  {41862726, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131072, Strategy::kTwoshotPush}, \
  {49452260, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {143866, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132634, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {139488, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {150546, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {139001, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93289, Strategy::kTwoshotPush}, \
  {40065609, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {139281, Strategy::kTwoshotPush}, \
  {47456256, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {81921, Strategy::kTwoshotPush}, \
  {41958904, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {124759, Strategy::kTwoshotPush}, \
  {39993833, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {119201, Strategy::kTwoshotPush}, \
  {47448064, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {121428, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82364, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106388, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {122565, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100818, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72513, Strategy::kTwoshotPush}, \
  {38844439, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {84317, Strategy::kTwoshotPush}, \
  {47456256, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {80418, Strategy::kTwoshotPush}, \
  {40309383, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {74066, Strategy::kTwoshotPush}, \
  {38847182, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {76825, Strategy::kTwoshotPush}, \
  {46593520, Strategy::kTwoshot}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SLICES
#undef ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_ROWS
#undef ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_SEGMENTS

ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
  // It was measured with this number of GPUs, fusion and type, and with messages up to this size.
  bool is_measured;
};

// Returns the strategy for a message; any input has one. Among the slices of the fusion, the lookup
// takes the one with the nearest TP and then with the data type, in it the row with the nearest
// hidden size, and in it the segment of the message's bytes. A fusion without a slice has kFallback.
ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION Match find(std::int64_t world_size,
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
  if (best < 0) return Match{kFallback, false, false};

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
  const bool is_extrapolated =
      detail::slice(best).from_world_size != 0 || detail::slice(best).world_size != world_size;
  const std::int64_t measured_to = detail::row(row).measured_to_bytes;
  const bool is_beyond = measured_to != 0 && size_bytes > measured_to;
  return Match{strategy, is_extrapolated,
               !is_extrapolated && !is_beyond && detail::slice(best).data_type == data_type};
}

ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that the GPUs' NVLinks need for what one sends: (N-1) S with
// ONESHOT, 2 (N-1)/N S with TWOSHOT and TWOSHOT_PUSH, and with NCCL S where switches may sum. No time
// is below it, extrapolated or not. 0 where the links are not known.
ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  if (kLinkBytesPerUs == 0) return 0;
  const bool is_of_nccl = strategy == Strategy::kNccl || strategy == Strategy::kNcclSymmetric;
  const double sent = strategy == Strategy::kOneshot  ? world_size - 1.0
                      : is_of_nccl && kSwitchesMaySum ? 1.0
                                                      : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / kLinkBytesPerUs;
}

}  // namespace allreduce_table_sm90_eager_f4b5480f6ba61c38

#undef ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_eager = ::allreduce_table_sm90_eager_f4b5480f6ba61c38;
#endif

#endif  // ALLREDUCE_TABLE_SM90_EAGER_F4B5480F6BA61C38_H

// All-reduce strategies for SM 90, for calls launched by CUDA graphs that have no other call.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-28, of 600 times in benchmark.tp2.sm90.isolated.csv benchmark.tp4.sm90.isolated.csv.

#ifndef ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H
#define ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_isolated_2a6eb1ad05f79c3e {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION const char* name_of(Strategy strategy) {
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
// A GPU's NVLinks carry so much in one direction; 0 means that it is not known.
inline constexpr double kLinkBytesPerUs = 450000;
inline constexpr bool kSwitchesMaySum = true;

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
  std::int64_t measured_to_bytes;  // the largest message; 0: not known
  int first_segment;
  int end_segment;
};

// A segment ends where the next one of its row begins.
struct Segment {
  std::int64_t from_bytes;
  Strategy strategy;
};

#define ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 1}, \
  {2, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 1, 2}, \
  {2, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 2, 3}, \
  {2, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 3, 4}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 4, 5}, \
  {4, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 5, 6}, \
  {4, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 6, 7}, \
  {4, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 7, 8}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 8, 9}, \
  {3, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 9, 10}, \
  {3, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 10, 11}, \
  {3, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 11, 12}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 12, 13}, \
  {5, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 13, 14}, \
  {5, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 14, 15}, \
  {5, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 15, 16}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 16, 17}, \
  {6, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 17, 18}, \
  {6, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 18, 19}, \
  {6, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 19, 20}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 20, 21}, \
  {7, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 21, 22}, \
  {7, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 22, 23}, \
  {7, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 23, 24}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 24, 25}, \
  {8, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 25, 26}, \
  {8, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 26, 27}, \
  {8, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 27, 28}
#define ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_ROWS \
  {4096, 134217728, 0, 1}, \
  {4096, 134217728, 1, 2}, \
  {4096, 134217728, 2, 3}, \
  {4096, 134217728, 3, 4}, \
  {4096, 134217728, 4, 7}, \
  {4096, 134217728, 7, 9}, \
  {4096, 134217728, 9, 11}, \
  {4096, 134217728, 11, 13}, \
  {4096, 134217728, 13, 16}, \
  {4096, 134217728, 16, 18}, \
  {4096, 134217728, 18, 20}, \
  {4096, 134217728, 20, 22}, \
  {4096, 134217728, 22, 25}, \
  {4096, 134217728, 25, 27}, \
  {4096, 134217728, 27, 29}, \
  {4096, 134217728, 29, 31}, \
  {4096, 134217728, 31, 34}, \
  {4096, 134217728, 34, 36}, \
  {4096, 134217728, 36, 38}, \
  {4096, 134217728, 38, 40}, \
  {4096, 134217728, 40, 43}, \
  {4096, 134217728, 43, 45}, \
  {4096, 134217728, 45, 47}, \
  {4096, 134217728, 47, 49}, \
  {4096, 134217728, 49, 52}, \
  {4096, 134217728, 52, 54}, \
  {4096, 134217728, 54, 56}, \
  {4096, 134217728, 56, 58}
#define ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {221814, Strategy::kTwoshotPush}, \
  {61616771, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {215883, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {174111, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {204472, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {481613, Strategy::kTwoshotPush}, \
  {68650465, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {431346, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {320233, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {383134, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {153477, Strategy::kTwoshotPush}, \
  {56353557, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {144179, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {121142, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {137331, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {117243, Strategy::kTwoshotPush}, \
  {53480371, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {108103, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {97449, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {109765, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {96341, Strategy::kTwoshotPush}, \
  {51670478, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {88644, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84125, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {95011, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83668, Strategy::kTwoshotPush}, \
  {50425796, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {75107, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72887, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82937, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SLICES
#undef ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_ROWS
#undef ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_SEGMENTS

ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
  // It was measured with this number of GPUs, fusion and type, and with messages up to this size.
  bool is_measured;
};

// Returns the strategy for a message; any input has one. Among the slices of the fusion, the lookup
// takes the one with the nearest TP and then with the data type, in it the row with the nearest
// hidden size, and in it the segment of the message's bytes. A fusion without a slice has kFallback.
ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION Match find(std::int64_t world_size,
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
  if (best < 0) return Match{kFallback, false, false};

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
  const bool is_extrapolated =
      detail::slice(best).from_world_size != 0 || detail::slice(best).world_size != world_size;
  const std::int64_t measured_to = detail::row(row).measured_to_bytes;
  const bool is_beyond = measured_to != 0 && size_bytes > measured_to;
  return Match{strategy, is_extrapolated,
               !is_extrapolated && !is_beyond && detail::slice(best).data_type == data_type};
}

ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that the GPUs' NVLinks need for what one sends: (N-1) S with
// ONESHOT, 2 (N-1)/N S with TWOSHOT and TWOSHOT_PUSH, and with NCCL S where switches may sum. No time
// is below it, extrapolated or not. 0 where the links are not known.
ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  if (kLinkBytesPerUs == 0) return 0;
  const bool is_of_nccl = strategy == Strategy::kNccl || strategy == Strategy::kNcclSymmetric;
  const double sent = strategy == Strategy::kOneshot  ? world_size - 1.0
                      : is_of_nccl && kSwitchesMaySum ? 1.0
                                                      : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / kLinkBytesPerUs;
}

}  // namespace allreduce_table_sm90_isolated_2a6eb1ad05f79c3e

#undef ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_isolated = ::allreduce_table_sm90_isolated_2a6eb1ad05f79c3e;
#endif

#endif  // ALLREDUCE_TABLE_SM90_ISOLATED_2A6EB1AD05F79C3E_H


#ifndef ALLREDUCE_TABLES_38873C4A1BCDD604_H
#define ALLREDUCE_TABLES_38873C4A1BCDD604_H

#if defined(__CUDACC__)
#define ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION constexpr
#endif

namespace allreduce_tables_38873c4a1bcdd604 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION const char* name_of(Strategy strategy) {
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

enum class Launch : std::uint8_t {
  kGraph = 0,
  kEager = 1,
  kIsolated = 2,
};

struct Match {
  Strategy strategy;
  int sm_version;  // of the table that answers
  Launch launch;
  bool is_extrapolated;  // this number of GPUs was not measured
  // It was measured with this SM, launch, number of GPUs, fusion and type, and with messages up to
  // this size.
  bool is_measured;
};

namespace detail {

// Another launch counts more than any SM, and a newer SM than the asked one more than an older one.
ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION std::int64_t distance(std::int64_t table_sm,
                                     Launch table_launch,
                                     std::int64_t sm_version,
                                     Launch launch) {
  const std::int64_t below = sm_version - table_sm;
  const std::int64_t of_sm = below >= 0 ? below : (std::int64_t{1} << 34) - below;
  return of_sm + (table_launch == launch ? 0 : std::int64_t{1} << 36);
}

// Returns the table that answers: that of the SM and launch, else the nearest.
ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION int table_of(int sm_version, Launch launch) {
  int best = 0;
  std::int64_t least = distance(90, Launch::kGraph, sm_version, launch);
  if (distance(90, Launch::kEager, sm_version, launch) < least) {
    least = distance(90, Launch::kEager, sm_version, launch);
    best = 1;
  }
  if (distance(90, Launch::kIsolated, sm_version, launch) < least) {
    least = distance(90, Launch::kIsolated, sm_version, launch);
    best = 2;
  }
  return least < 0 ? 0 : best;
}

}  // namespace detail

// Returns the strategy for a message; any input has one.
ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION Match find(int sm_version,
                          Launch launch,
                          std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  switch (detail::table_of(sm_version, launch)) {
    case 0: {
      const ::allreduce_table_sm90_graph_a0d7da8f2b992022::Match match =
          ::allreduce_table_sm90_graph_a0d7da8f2b992022::find(world_size, static_cast<::allreduce_table_sm90_graph_a0d7da8f2b992022::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_graph_a0d7da8f2b992022::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kGraph, match.is_extrapolated,
                   match.is_measured && detail::distance(90, Launch::kGraph, sm_version, launch) == 0};
    }
    case 1: {
      const ::allreduce_table_sm90_eager_f4b5480f6ba61c38::Match match =
          ::allreduce_table_sm90_eager_f4b5480f6ba61c38::find(world_size, static_cast<::allreduce_table_sm90_eager_f4b5480f6ba61c38::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_eager_f4b5480f6ba61c38::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kEager, match.is_extrapolated,
                   match.is_measured && detail::distance(90, Launch::kEager, sm_version, launch) == 0};
    }
    default: {
      const ::allreduce_table_sm90_isolated_2a6eb1ad05f79c3e::Match match =
          ::allreduce_table_sm90_isolated_2a6eb1ad05f79c3e::find(world_size, static_cast<::allreduce_table_sm90_isolated_2a6eb1ad05f79c3e::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_isolated_2a6eb1ad05f79c3e::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kIsolated, match.is_extrapolated,
                   match.is_measured && detail::distance(90, Launch::kIsolated, sm_version, launch) == 0};
    }
  }
}

ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION Strategy lookup(int sm_version,
                               Launch launch,
                               std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(sm_version, launch, world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

}  // namespace allreduce_tables_38873c4a1bcdd604

#undef ALLREDUCE_TABLES_38873C4A1BCDD604_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_tables = ::allreduce_tables_38873c4a1bcdd604;
#endif

#endif  // ALLREDUCE_TABLES_38873C4A1BCDD604_H
