// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-27, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H
#define ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_011928dd6d3f973d {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SLICES \
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
#define ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_ROWS \
  {128, 0, 1}, \
  {256, 1, 2}, \
  {512, 2, 3}, \
  {1024, 3, 4}, \
  {2048, 4, 5}, \
  {2880, 5, 6}, \
  {4096, 6, 7}, \
  {5120, 7, 9}, \
  {7168, 9, 11}, \
  {8192, 11, 13}, \
  {128, 13, 14}, \
  {256, 14, 15}, \
  {512, 15, 16}, \
  {1024, 16, 17}, \
  {2048, 17, 18}, \
  {2880, 18, 19}, \
  {4096, 19, 20}, \
  {5120, 20, 21}, \
  {7168, 21, 22}, \
  {8192, 22, 23}, \
  {128, 23, 24}, \
  {256, 24, 25}, \
  {512, 25, 26}, \
  {1024, 26, 27}, \
  {2048, 27, 28}, \
  {2880, 28, 29}, \
  {4096, 29, 30}, \
  {5120, 30, 31}, \
  {7168, 31, 32}, \
  {8192, 32, 33}, \
  {128, 33, 34}, \
  {256, 34, 35}, \
  {512, 35, 36}, \
  {1024, 36, 37}, \
  {2048, 37, 38}, \
  {2880, 38, 39}, \
  {4096, 39, 40}, \
  {5120, 40, 41}, \
  {7168, 41, 42}, \
  {8192, 42, 43}, \
  {128, 43, 45}, \
  {256, 45, 47}, \
  {512, 47, 49}, \
  {1024, 49, 51}, \
  {2048, 51, 54}, \
  {2880, 54, 57}, \
  {4096, 57, 60}, \
  {5120, 60, 63}, \
  {7168, 63, 66}, \
  {8192, 66, 69}, \
  {128, 69, 71}, \
  {256, 71, 73}, \
  {512, 73, 75}, \
  {1024, 75, 77}, \
  {2048, 77, 79}, \
  {2880, 79, 81}, \
  {4096, 81, 83}, \
  {5120, 83, 85}, \
  {7168, 85, 87}, \
  {8192, 87, 89}, \
  {128, 89, 91}, \
  {256, 91, 93}, \
  {512, 93, 95}, \
  {1024, 95, 97}, \
  {2048, 97, 99}, \
  {2880, 99, 101}, \
  {4096, 101, 103}, \
  {5120, 103, 105}, \
  {7168, 105, 107}, \
  {8192, 107, 109}, \
  {128, 109, 111}, \
  {256, 111, 113}, \
  {512, 113, 115}, \
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
  {2048, 137, 140}, \
  {2880, 140, 143}, \
  {4096, 143, 146}, \
  {5120, 146, 149}, \
  {7168, 149, 152}, \
  {8192, 152, 155}, \
  {128, 155, 157}, \
  {256, 157, 159}, \
  {512, 159, 161}, \
  {1024, 161, 163}, \
  {2048, 163, 165}, \
  {2880, 165, 167}, \
  {4096, 167, 169}, \
  {5120, 169, 171}, \
  {7168, 171, 173}, \
  {8192, 173, 175}, \
  {128, 175, 177}, \
  {256, 177, 179}, \
  {512, 179, 181}, \
  {1024, 181, 183}, \
  {2048, 183, 185}, \
  {2880, 185, 187}, \
  {4096, 187, 189}, \
  {5120, 189, 191}, \
  {7168, 191, 193}, \
  {8192, 193, 195}, \
  {128, 195, 197}, \
  {256, 197, 199}, \
  {512, 199, 201}, \
  {1024, 201, 203}, \
  {2048, 203, 205}, \
  {2880, 205, 207}, \
  {4096, 207, 209}, \
  {5120, 209, 211}, \
  {7168, 211, 213}, \
  {8192, 213, 215}, \
  {128, 215, 217}, \
  {256, 217, 219}, \
  {512, 219, 221}, \
  {1024, 221, 223}, \
  {2048, 223, 226}, \
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
  {1024, 307, 310}, \
  {2048, 310, 313}, \
  {2880, 313, 316}, \
  {4096, 316, 319}, \
  {5120, 319, 322}, \
  {7168, 322, 325}, \
  {8192, 325, 328}, \
  {128, 328, 330}, \
  {256, 330, 332}, \
  {512, 332, 334}, \
  {1024, 334, 336}, \
  {2048, 336, 338}, \
  {2880, 338, 340}, \
  {4096, 340, 342}, \
  {5120, 342, 344}, \
  {7168, 344, 346}, \
  {8192, 346, 348}, \
  {128, 348, 350}, \
  {256, 350, 352}, \
  {512, 352, 354}, \
  {1024, 354, 356}, \
  {2048, 356, 358}, \
  {2880, 358, 360}, \
  {4096, 360, 362}, \
  {5120, 362, 364}, \
  {7168, 364, 366}, \
  {8192, 366, 368}, \
  {128, 368, 370}, \
  {256, 370, 372}, \
  {512, 372, 374}, \
  {1024, 374, 376}, \
  {2048, 376, 378}, \
  {2880, 378, 380}, \
  {4096, 380, 382}, \
  {5120, 382, 384}, \
  {7168, 384, 386}, \
  {8192, 386, 388}, \
  {128, 388, 390}, \
  {256, 390, 392}, \
  {512, 392, 394}, \
  {1024, 394, 397}, \
  {2048, 397, 400}, \
  {2880, 400, 403}, \
  {4096, 403, 406}, \
  {5120, 406, 409}, \
  {7168, 409, 412}, \
  {8192, 412, 415}, \
  {128, 415, 417}, \
  {256, 417, 419}, \
  {512, 419, 421}, \
  {1024, 421, 423}, \
  {2048, 423, 425}, \
  {2880, 425, 427}, \
  {4096, 427, 429}, \
  {5120, 429, 431}, \
  {7168, 431, 433}, \
  {8192, 433, 435}, \
  {128, 435, 437}, \
  {256, 437, 439}, \
  {512, 439, 441}, \
  {1024, 441, 443}, \
  {2048, 443, 445}, \
  {2880, 445, 447}, \
  {4096, 447, 449}, \
  {5120, 449, 451}, \
  {7168, 451, 453}, \
  {8192, 453, 455}, \
  {128, 455, 457}, \
  {256, 457, 459}, \
  {512, 459, 461}, \
  {1024, 461, 463}, \
  {2048, 463, 465}, \
  {2880, 465, 467}, \
  {4096, 467, 469}, \
  {5120, 469, 471}, \
  {7168, 471, 473}, \
  {8192, 473, 475}, \
  {128, 475, 477}, \
  {256, 477, 479}, \
  {512, 479, 481}, \
  {1024, 481, 484}, \
  {2048, 484, 487}, \
  {2880, 487, 490}, \
  {4096, 490, 493}, \
  {5120, 493, 496}, \
  {7168, 496, 499}, \
  {8192, 499, 502}, \
  {128, 502, 504}, \
  {256, 504, 506}, \
  {512, 506, 508}, \
  {1024, 508, 510}, \
  {2048, 510, 512}, \
  {2880, 512, 514}, \
  {4096, 514, 516}, \
  {5120, 516, 518}, \
  {7168, 518, 520}, \
  {8192, 520, 522}, \
  {128, 522, 524}, \
  {256, 524, 526}, \
  {512, 526, 528}, \
  {1024, 528, 530}, \
  {2048, 530, 532}, \
  {2880, 532, 534}, \
  {4096, 534, 536}, \
  {5120, 536, 538}, \
  {7168, 538, 540}, \
  {8192, 540, 542}, \
  {128, 542, 544}, \
  {256, 544, 546}, \
  {512, 546, 548}, \
  {1024, 548, 550}, \
  {2048, 550, 552}, \
  {2880, 552, 554}, \
  {4096, 554, 556}, \
  {5120, 556, 558}, \
  {7168, 558, 560}, \
  {8192, 560, 562}
#define ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {118630401, Strategy::kTwoshot}, \
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
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {309797, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {310344, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {305104, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {307088, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {308704, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {317801, Strategy::kTwoshotPush}, \
  {33367681, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {309642, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {328010, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {329729, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {308912, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {475966, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {486594, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {444532, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {470314, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {465706, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {469828, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {471990, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {495974, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {658658, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {647263, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {615926, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {625783, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {601141, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {627817, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {630315, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {655361, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {645121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {674634, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {934907, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {992801, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {913285, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {928402, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {879808, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {931841, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {857478, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {919175, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {588636, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {600683, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {587809, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {587073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {592471, Strategy::kTwoshotPush}, \
  {47452161, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {575028, Strategy::kTwoshotPush}, \
  {33367681, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {593104, Strategy::kTwoshotPush}, \
  {47456257, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {584754, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {645121, Strategy::kTwoshotPush}, \
  {41517057, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {589306, Strategy::kTwoshotPush}, \
  {47448065, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {904171, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {932819, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {854904, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {910221, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {866631, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {931841, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {917505, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {941167, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1483009, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1362717, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1239664, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1281667, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1216706, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1240878, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1206821, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1204421, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1166175, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1292526, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2128379, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2097153, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1932074, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2097153, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2097153, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2085121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1841064, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1853441, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1646934, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1788676, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {197892, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200067, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196568, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196626, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196407, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {194684, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {197920, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {203874, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {203191, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {197668, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {332441, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {327358, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {314417, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {319959, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {296849, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {306005, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {307134, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {308693, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {311688, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {332336, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {421764, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {414846, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {399139, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {404102, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {396237, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {419071, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {410304, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {415396, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {404684, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {435446, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {630572, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {628571, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {588465, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {614468, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {546991, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {584505, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {576022, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {573187, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {556929, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {600501, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149724, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {153007, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149705, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149357, Strategy::kTwoshotPush}, \
  {28227355, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {149206, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {147695, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150497, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {153701, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {157697, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150103, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {241271, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {243651, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {224386, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {235318, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {236297, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {235521, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {240224, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {320612, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {314770, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {305365, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {309246, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {305126, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {316124, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {315674, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {327681, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {304559, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {328591, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {464231, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {464401, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {438997, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {453663, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {415378, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {440238, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {425927, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {430644, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {420892, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {451011, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123290, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123141, Strategy::kTwoshotPush}, \
  {27601950, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {123229, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {121511, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {125695, Strategy::kTwoshotPush}, \
  {20971521, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {126813, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {123756, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {205755, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201878, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196119, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {197295, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {184321, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {198181, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {191462, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {190876, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {193201, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {203184, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {265678, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {259651, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {266231, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {253629, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {250957, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {272623, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {375630, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {375607, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {356141, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {370689, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {335415, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368641, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {351230, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {353301, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {340793, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {376833, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99079, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {101113, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99462, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {99386, Strategy::kTwoshotPush}, \
  {27147656, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {98965, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {99885, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {99451, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {102808, Strategy::kTwoshotPush}, \
  {20971521, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {103034, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {99328, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {167054, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {163433, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {159706, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {160450, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149978, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {158603, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {155169, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {163841, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {157697, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {162869, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {209414, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {204790, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {199498, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201369, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201757, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {214135, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {209241, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {203980, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201906, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {216054, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {306730, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {306267, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {291571, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {299800, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {275043, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {290401, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {291454, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {284298, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {278219, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {300624, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_011928dd6d3f973d

#undef ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_011928dd6d3f973d;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_011928DD6D3F973D_H
