// All-reduce strategies of 1 tables, by SM and launch.
// Made by assay allreduce codegen; do not edit.

// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-27, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H
#define ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_25cac1b2da259b83 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SLICES \
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
#define ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_ROWS \
  {128, 0, 2}, \
  {256, 2, 3}, \
  {512, 3, 4}, \
  {1024, 4, 5}, \
  {2048, 5, 6}, \
  {2880, 6, 7}, \
  {4096, 7, 8}, \
  {5120, 8, 9}, \
  {7168, 9, 10}, \
  {8192, 10, 11}, \
  {128, 11, 12}, \
  {256, 12, 13}, \
  {512, 13, 14}, \
  {1024, 14, 15}, \
  {2048, 15, 16}, \
  {2880, 16, 17}, \
  {4096, 17, 19}, \
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
  {4096, 38, 39}, \
  {5120, 39, 40}, \
  {7168, 40, 41}, \
  {8192, 41, 42}, \
  {128, 42, 44}, \
  {256, 44, 46}, \
  {512, 46, 48}, \
  {1024, 48, 50}, \
  {2048, 50, 52}, \
  {2880, 52, 55}, \
  {4096, 55, 58}, \
  {5120, 58, 61}, \
  {7168, 61, 64}, \
  {8192, 64, 67}, \
  {128, 67, 69}, \
  {256, 69, 71}, \
  {512, 71, 73}, \
  {1024, 73, 75}, \
  {2048, 75, 77}, \
  {2880, 77, 79}, \
  {4096, 79, 81}, \
  {5120, 81, 83}, \
  {7168, 83, 85}, \
  {8192, 85, 87}, \
  {128, 87, 89}, \
  {256, 89, 91}, \
  {512, 91, 93}, \
  {1024, 93, 95}, \
  {2048, 95, 97}, \
  {2880, 97, 99}, \
  {4096, 99, 101}, \
  {5120, 101, 103}, \
  {7168, 103, 105}, \
  {8192, 105, 107}, \
  {128, 107, 109}, \
  {256, 109, 111}, \
  {512, 111, 115}, \
  {1024, 115, 117}, \
  {2048, 117, 119}, \
  {2880, 119, 121}, \
  {4096, 121, 123}, \
  {5120, 123, 125}, \
  {7168, 125, 127}, \
  {8192, 127, 129}, \
  {128, 129, 131}, \
  {256, 131, 133}, \
  {512, 133, 135}, \
  {1024, 135, 137}, \
  {2048, 137, 139}, \
  {2880, 139, 142}, \
  {4096, 142, 145}, \
  {5120, 145, 148}, \
  {7168, 148, 151}, \
  {8192, 151, 154}, \
  {128, 154, 156}, \
  {256, 156, 158}, \
  {512, 158, 160}, \
  {1024, 160, 162}, \
  {2048, 162, 164}, \
  {2880, 164, 166}, \
  {4096, 166, 168}, \
  {5120, 168, 170}, \
  {7168, 170, 172}, \
  {8192, 172, 174}, \
  {128, 174, 176}, \
  {256, 176, 178}, \
  {512, 178, 180}, \
  {1024, 180, 182}, \
  {2048, 182, 184}, \
  {2880, 184, 186}, \
  {4096, 186, 188}, \
  {5120, 188, 190}, \
  {7168, 190, 192}, \
  {8192, 192, 194}, \
  {128, 194, 196}, \
  {256, 196, 198}, \
  {512, 198, 200}, \
  {1024, 200, 204}, \
  {2048, 204, 206}, \
  {2880, 206, 208}, \
  {4096, 208, 210}, \
  {5120, 210, 212}, \
  {7168, 212, 214}, \
  {8192, 214, 216}, \
  {128, 216, 218}, \
  {256, 218, 220}, \
  {512, 220, 222}, \
  {1024, 222, 224}, \
  {2048, 224, 226}, \
  {2880, 226, 229}, \
  {4096, 229, 232}, \
  {5120, 232, 235}, \
  {7168, 235, 238}, \
  {8192, 238, 241}, \
  {128, 241, 243}, \
  {256, 243, 245}, \
  {512, 245, 247}, \
  {1024, 247, 249}, \
  {2048, 249, 251}, \
  {2880, 251, 253}, \
  {4096, 253, 255}, \
  {5120, 255, 257}, \
  {7168, 257, 259}, \
  {8192, 259, 261}, \
  {128, 261, 263}, \
  {256, 263, 265}, \
  {512, 265, 267}, \
  {1024, 267, 269}, \
  {2048, 269, 271}, \
  {2880, 271, 273}, \
  {4096, 273, 275}, \
  {5120, 275, 277}, \
  {7168, 277, 279}, \
  {8192, 279, 281}, \
  {128, 281, 283}, \
  {256, 283, 285}, \
  {512, 285, 287}, \
  {1024, 287, 289}, \
  {2048, 289, 291}, \
  {2880, 291, 293}, \
  {4096, 293, 295}, \
  {5120, 295, 297}, \
  {7168, 297, 299}, \
  {8192, 299, 301}, \
  {128, 301, 303}, \
  {256, 303, 305}, \
  {512, 305, 307}, \
  {1024, 307, 309}, \
  {2048, 309, 311}, \
  {2880, 311, 314}, \
  {4096, 314, 317}, \
  {5120, 317, 320}, \
  {7168, 320, 323}, \
  {8192, 323, 326}, \
  {128, 326, 328}, \
  {256, 328, 330}, \
  {512, 330, 332}, \
  {1024, 332, 334}, \
  {2048, 334, 336}, \
  {2880, 336, 338}, \
  {4096, 338, 340}, \
  {5120, 340, 342}, \
  {7168, 342, 344}, \
  {8192, 344, 346}, \
  {128, 346, 348}, \
  {256, 348, 350}, \
  {512, 350, 352}, \
  {1024, 352, 354}, \
  {2048, 354, 356}, \
  {2880, 356, 358}, \
  {4096, 358, 360}, \
  {5120, 360, 362}, \
  {7168, 362, 364}, \
  {8192, 364, 366}, \
  {128, 366, 368}, \
  {256, 368, 370}, \
  {512, 370, 372}, \
  {1024, 372, 374}, \
  {2048, 374, 376}, \
  {2880, 376, 378}, \
  {4096, 378, 380}, \
  {5120, 380, 382}, \
  {7168, 382, 384}, \
  {8192, 384, 386}, \
  {128, 386, 388}, \
  {256, 388, 390}, \
  {512, 390, 392}, \
  {1024, 392, 394}, \
  {2048, 394, 396}, \
  {2880, 396, 399}, \
  {4096, 399, 402}, \
  {5120, 402, 405}, \
  {7168, 405, 408}, \
  {8192, 408, 411}, \
  {128, 411, 413}, \
  {256, 413, 415}, \
  {512, 415, 417}, \
  {1024, 417, 419}, \
  {2048, 419, 421}, \
  {2880, 421, 423}, \
  {4096, 423, 425}, \
  {5120, 425, 427}, \
  {7168, 427, 429}, \
  {8192, 429, 431}, \
  {128, 431, 433}, \
  {256, 433, 435}, \
  {512, 435, 437}, \
  {1024, 437, 439}, \
  {2048, 439, 441}, \
  {2880, 441, 443}, \
  {4096, 443, 445}, \
  {5120, 445, 447}, \
  {7168, 447, 449}, \
  {8192, 449, 451}, \
  {128, 451, 453}, \
  {256, 453, 455}, \
  {512, 455, 457}, \
  {1024, 457, 459}, \
  {2048, 459, 461}, \
  {2880, 461, 463}, \
  {4096, 463, 465}, \
  {5120, 465, 467}, \
  {7168, 467, 469}, \
  {8192, 469, 471}, \
  {128, 471, 473}, \
  {256, 473, 475}, \
  {512, 475, 477}, \
  {1024, 477, 479}, \
  {2048, 479, 481}, \
  {2880, 481, 484}, \
  {4096, 484, 487}, \
  {5120, 487, 490}, \
  {7168, 490, 493}, \
  {8192, 493, 496}, \
  {128, 496, 498}, \
  {256, 498, 500}, \
  {512, 500, 502}, \
  {1024, 502, 504}, \
  {2048, 504, 506}, \
  {2880, 506, 508}, \
  {4096, 508, 510}, \
  {5120, 510, 512}, \
  {7168, 512, 514}, \
  {8192, 514, 516}, \
  {128, 516, 518}, \
  {256, 518, 520}, \
  {512, 520, 522}, \
  {1024, 522, 524}, \
  {2048, 524, 526}, \
  {2880, 526, 528}, \
  {4096, 528, 530}, \
  {5120, 530, 532}, \
  {7168, 532, 534}, \
  {8192, 534, 536}, \
  {128, 536, 538}, \
  {256, 538, 540}, \
  {512, 540, 542}, \
  {1024, 542, 544}, \
  {2048, 544, 546}, \
  {2880, 546, 548}, \
  {4096, 548, 550}, \
  {5120, 550, 552}, \
  {7168, 552, 554}, \
  {8192, 554, 556}
#define ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SEGMENTS \
  {0, Strategy::kTwoshotPush}, \
  {303, Strategy::kOneshot}, \
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
  {5931009, Strategy::kTwoshotPush}, \
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
  {265476, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {266667, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {264185, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {264311, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {269811, Strategy::kTwoshotPush}, \
  {66729601, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {265489, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {271802, Strategy::kTwoshotPush}, \
  {59320321, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {268488, Strategy::kTwoshotPush}, \
  {83048449, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {445190, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {437321, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205697, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {190239, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {168098, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200873, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {207332, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {211486, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {230033, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {185345, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {159661, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {168157, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {160443, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {168250, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {181519, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {198015, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {897601, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {887964, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {167508, Strategy::kTwoshotPush}, \
  {331555, Strategy::kOneshot}, \
  {874193, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {158478, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {141937, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {166171, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {188417, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {180857, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {229377, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {527009, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {532172, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {536279, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {527068, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524161, Strategy::kTwoshotPush}, \
  {66729601, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {527366, Strategy::kTwoshotPush}, \
  {94904321, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {507892, Strategy::kTwoshotPush}, \
  {61127077, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {536306, Strategy::kTwoshotPush}, \
  {83048449, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {549032, Strategy::kTwoshotPush}, \
  {94912513, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {853344, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {841898, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {756060, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {370689, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {315097, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {384553, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {388006, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {388708, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {458753, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {454688, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {977920, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {971150, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {904925, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {279596, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {313236, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {282563, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {327681, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {343497, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {378043, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1947072, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1878209, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1833200, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {294290, Strategy::kTwoshotPush}, \
  {785615, Strategy::kOneshot}, \
  {1663657, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {270513, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {379702, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {467756, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {163646, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {164817, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169111, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {168041, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {166620, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169062, Strategy::kTwoshotPush}, \
  {66729601, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {166759, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {170825, Strategy::kTwoshotPush}, \
  {59320321, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {169749, Strategy::kTwoshotPush}, \
  {58720257, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {166326, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {293128, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {289572, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {136929, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105960, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {136077, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {137565, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {136478, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {142583, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {147562, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {335138, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {326888, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {119789, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93534, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {103642, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {114407, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106403, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {112641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {120128, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {558357, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {552471, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106708, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {101835, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94209, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {114603, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {112641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {126196, Strategy::kTwoshotPush}, \
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
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132481, Strategy::kTwoshotPush}, \
  {66729601, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {127724, Strategy::kTwoshotPush}, \
  {59320321, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {130000, Strategy::kTwoshotPush}, \
  {58720257, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {221764, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {218342, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102062, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93725, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81967, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105720, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102484, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102140, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {114689, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {112103, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93185, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70543, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77844, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81950, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81921, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87510, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {98305, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {430212, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {418721, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81422, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77651, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70525, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {91467, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84125, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {91588, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {98305, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100666, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100951, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {103465, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102883, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102409, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104560, Strategy::kTwoshotPush}, \
  {66729601, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {102354, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {104997, Strategy::kTwoshotPush}, \
  {59320321, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {107239, Strategy::kTwoshotPush}, \
  {58720257, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {102063, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {185345, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {185345, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83923, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76012, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70767, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90113, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84295, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {87338, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90277, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {204774, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200555, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {74651, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {56692, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72776, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69344, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65150, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70834, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77424, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {352376, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {338679, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68649, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {73195, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76087, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68166, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {75685, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {80204, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {80800, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81728, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82791, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82950, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82221, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84852, Strategy::kTwoshotPush}, \
  {49875265, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {82609, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {86198, Strategy::kTwoshotPush}, \
  {59320321, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {86017, Strategy::kTwoshotPush}, \
  {58720257, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {82248, Strategy::kTwoshotPush}, \
  {67108865, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {149701, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {147695, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68861, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {54660, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70703, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69788, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68036, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69833, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {73031, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {166883, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {162338, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {47567, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {51205, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63361, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {55265, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {52413, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {57532, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {291048, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {277467, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {54185, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {51591, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {45057, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63361, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65537, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {55237, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61663, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65566, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_25cac1b2da259b83

#undef ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_25cac1b2da259b83;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_25CAC1B2DA259B83_H


#ifndef ALLREDUCE_TABLES_25CAC1B2DA259B83_H
#define ALLREDUCE_TABLES_25CAC1B2DA259B83_H

#if defined(__CUDACC__)
#define ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION constexpr
#endif

namespace allreduce_tables_25cac1b2da259b83 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION const char* name_of(Strategy strategy) {
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
};

namespace detail {

// Another launch counts more than any SM, and a newer SM than the asked one more than an older one.
ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION std::int64_t distance(std::int64_t table_sm,
                                     Launch table_launch,
                                     std::int64_t sm_version,
                                     Launch launch) {
  const std::int64_t below = sm_version - table_sm;
  const std::int64_t of_sm = below >= 0 ? below : (std::int64_t{1} << 34) - below;
  return of_sm + (table_launch == launch ? 0 : std::int64_t{1} << 36);
}

// Returns the table that answers: that of the SM and launch, else the nearest.
ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION int table_of(int sm_version, Launch launch) {
  int best = 0;
  std::int64_t least = distance(90, Launch::kGraph, sm_version, launch);
  return least < 0 ? 0 : best;
}

}  // namespace detail

// Returns the strategy for a message; any input has one.
ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION Match find(int sm_version,
                          Launch launch,
                          std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  switch (detail::table_of(sm_version, launch)) {
    default: {
      const ::allreduce_table_sm90_graph_25cac1b2da259b83::Match match =
          ::allreduce_table_sm90_graph_25cac1b2da259b83::find(world_size, static_cast<::allreduce_table_sm90_graph_25cac1b2da259b83::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_graph_25cac1b2da259b83::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kGraph, match.is_extrapolated};
    }
  }
}

ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION Strategy lookup(int sm_version,
                               Launch launch,
                               std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(sm_version, launch, world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

}  // namespace allreduce_tables_25cac1b2da259b83

#undef ALLREDUCE_TABLES_25CAC1B2DA259B83_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_tables = ::allreduce_tables_25cac1b2da259b83;
#endif

#endif  // ALLREDUCE_TABLES_25CAC1B2DA259B83_H
