// All-reduce strategies of 1 tables, by SM and launch.
// Made by assay allreduce codegen; do not edit.

// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-27, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H
#define ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_406bd17f4a3bc337 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SLICES \
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
#define ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_ROWS \
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
  {4096, 39, 42}, \
  {5120, 42, 43}, \
  {7168, 43, 46}, \
  {8192, 46, 47}, \
  {128, 47, 49}, \
  {256, 49, 51}, \
  {512, 51, 53}, \
  {1024, 53, 55}, \
  {2048, 55, 58}, \
  {2880, 58, 61}, \
  {4096, 61, 64}, \
  {5120, 64, 67}, \
  {7168, 67, 70}, \
  {8192, 70, 73}, \
  {128, 73, 75}, \
  {256, 75, 77}, \
  {512, 77, 79}, \
  {1024, 79, 81}, \
  {2048, 81, 83}, \
  {2880, 83, 85}, \
  {4096, 85, 87}, \
  {5120, 87, 89}, \
  {7168, 89, 91}, \
  {8192, 91, 93}, \
  {128, 93, 95}, \
  {256, 95, 97}, \
  {512, 97, 101}, \
  {1024, 101, 103}, \
  {2048, 103, 105}, \
  {2880, 105, 107}, \
  {4096, 107, 109}, \
  {5120, 109, 111}, \
  {7168, 111, 113}, \
  {8192, 113, 115}, \
  {128, 115, 117}, \
  {256, 117, 119}, \
  {512, 119, 123}, \
  {1024, 123, 125}, \
  {2048, 125, 127}, \
  {2880, 127, 129}, \
  {4096, 129, 131}, \
  {5120, 131, 133}, \
  {7168, 133, 135}, \
  {8192, 135, 137}, \
  {128, 137, 139}, \
  {256, 139, 141}, \
  {512, 141, 143}, \
  {1024, 143, 145}, \
  {2048, 145, 148}, \
  {2880, 148, 151}, \
  {4096, 151, 154}, \
  {5120, 154, 157}, \
  {7168, 157, 160}, \
  {8192, 160, 163}, \
  {128, 163, 165}, \
  {256, 165, 167}, \
  {512, 167, 169}, \
  {1024, 169, 171}, \
  {2048, 171, 173}, \
  {2880, 173, 175}, \
  {4096, 175, 177}, \
  {5120, 177, 179}, \
  {7168, 179, 181}, \
  {8192, 181, 183}, \
  {128, 183, 185}, \
  {256, 185, 187}, \
  {512, 187, 189}, \
  {1024, 189, 191}, \
  {2048, 191, 193}, \
  {2880, 193, 195}, \
  {4096, 195, 197}, \
  {5120, 197, 199}, \
  {7168, 199, 201}, \
  {8192, 201, 203}, \
  {128, 203, 205}, \
  {256, 205, 207}, \
  {512, 207, 209}, \
  {1024, 209, 213}, \
  {2048, 213, 215}, \
  {2880, 215, 217}, \
  {4096, 217, 219}, \
  {5120, 219, 221}, \
  {7168, 221, 223}, \
  {8192, 223, 225}, \
  {128, 225, 227}, \
  {256, 227, 229}, \
  {512, 229, 231}, \
  {1024, 231, 233}, \
  {2048, 233, 236}, \
  {2880, 236, 239}, \
  {4096, 239, 242}, \
  {5120, 242, 245}, \
  {7168, 245, 248}, \
  {8192, 248, 251}, \
  {128, 251, 253}, \
  {256, 253, 255}, \
  {512, 255, 257}, \
  {1024, 257, 259}, \
  {2048, 259, 261}, \
  {2880, 261, 263}, \
  {4096, 263, 265}, \
  {5120, 265, 267}, \
  {7168, 267, 269}, \
  {8192, 269, 271}, \
  {128, 271, 273}, \
  {256, 273, 275}, \
  {512, 275, 277}, \
  {1024, 277, 279}, \
  {2048, 279, 281}, \
  {2880, 281, 283}, \
  {4096, 283, 285}, \
  {5120, 285, 287}, \
  {7168, 287, 289}, \
  {8192, 289, 291}, \
  {128, 291, 293}, \
  {256, 293, 295}, \
  {512, 295, 297}, \
  {1024, 297, 299}, \
  {2048, 299, 301}, \
  {2880, 301, 303}, \
  {4096, 303, 305}, \
  {5120, 305, 307}, \
  {7168, 307, 309}, \
  {8192, 309, 311}, \
  {128, 311, 313}, \
  {256, 313, 315}, \
  {512, 315, 317}, \
  {1024, 317, 319}, \
  {2048, 319, 322}, \
  {2880, 322, 325}, \
  {4096, 325, 328}, \
  {5120, 328, 331}, \
  {7168, 331, 334}, \
  {8192, 334, 337}, \
  {128, 337, 339}, \
  {256, 339, 341}, \
  {512, 341, 343}, \
  {1024, 343, 345}, \
  {2048, 345, 347}, \
  {2880, 347, 349}, \
  {4096, 349, 351}, \
  {5120, 351, 353}, \
  {7168, 353, 355}, \
  {8192, 355, 357}, \
  {128, 357, 359}, \
  {256, 359, 361}, \
  {512, 361, 363}, \
  {1024, 363, 365}, \
  {2048, 365, 367}, \
  {2880, 367, 369}, \
  {4096, 369, 371}, \
  {5120, 371, 373}, \
  {7168, 373, 375}, \
  {8192, 375, 377}, \
  {128, 377, 379}, \
  {256, 379, 381}, \
  {512, 381, 383}, \
  {1024, 383, 385}, \
  {2048, 385, 387}, \
  {2880, 387, 389}, \
  {4096, 389, 391}, \
  {5120, 391, 393}, \
  {7168, 393, 395}, \
  {8192, 395, 397}, \
  {128, 397, 399}, \
  {256, 399, 401}, \
  {512, 401, 403}, \
  {1024, 403, 405}, \
  {2048, 405, 408}, \
  {2880, 408, 411}, \
  {4096, 411, 414}, \
  {5120, 414, 417}, \
  {7168, 417, 420}, \
  {8192, 420, 423}, \
  {128, 423, 425}, \
  {256, 425, 427}, \
  {512, 427, 429}, \
  {1024, 429, 431}, \
  {2048, 431, 433}, \
  {2880, 433, 435}, \
  {4096, 435, 437}, \
  {5120, 437, 439}, \
  {7168, 439, 441}, \
  {8192, 441, 443}, \
  {128, 443, 445}, \
  {256, 445, 447}, \
  {512, 447, 449}, \
  {1024, 449, 451}, \
  {2048, 451, 453}, \
  {2880, 453, 455}, \
  {4096, 455, 457}, \
  {5120, 457, 459}, \
  {7168, 459, 461}, \
  {8192, 461, 463}, \
  {128, 463, 465}, \
  {256, 465, 467}, \
  {512, 467, 469}, \
  {1024, 469, 471}, \
  {2048, 471, 473}, \
  {2880, 473, 475}, \
  {4096, 475, 477}, \
  {5120, 477, 479}, \
  {7168, 479, 481}, \
  {8192, 481, 483}, \
  {128, 483, 485}, \
  {256, 485, 487}, \
  {512, 487, 489}, \
  {1024, 489, 491}, \
  {2048, 491, 494}, \
  {2880, 494, 497}, \
  {4096, 497, 500}, \
  {5120, 500, 503}, \
  {7168, 503, 506}, \
  {8192, 506, 509}, \
  {128, 509, 511}, \
  {256, 511, 513}, \
  {512, 513, 515}, \
  {1024, 515, 517}, \
  {2048, 517, 519}, \
  {2880, 519, 521}, \
  {4096, 521, 523}, \
  {5120, 523, 525}, \
  {7168, 525, 527}, \
  {8192, 527, 529}, \
  {128, 529, 531}, \
  {256, 531, 533}, \
  {512, 533, 535}, \
  {1024, 535, 537}, \
  {2048, 537, 539}, \
  {2880, 539, 541}, \
  {4096, 541, 543}, \
  {5120, 543, 545}, \
  {7168, 545, 547}, \
  {8192, 547, 549}, \
  {128, 549, 551}, \
  {256, 551, 553}, \
  {512, 553, 555}, \
  {1024, 555, 557}, \
  {2048, 557, 559}, \
  {2880, 559, 561}, \
  {4096, 561, 563}, \
  {5120, 563, 565}, \
  {7168, 565, 567}, \
  {8192, 567, 569}
#define ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {73423760, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {89638055, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {94370993, Strategy::kTwoshot}, \
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
  {31005810, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {318992, Strategy::kTwoshotPush}, \
  {23869640, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {314811, Strategy::kTwoshotPush}, \
  {31484431, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {323379, Strategy::kTwoshotPush}, \
  {23583858, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {316539, Strategy::kTwoshotPush}, \
  {26714036, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {314722, Strategy::kTwoshotPush}, \
  {32497982, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {513140, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {506960, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {198124, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {191484, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {175266, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {193151, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205486, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {206279, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {224810, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {244983, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {659514, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {653129, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200795, Strategy::kTwoshotPush}, \
  {374369, Strategy::kOneshot}, \
  {621722, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {181512, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {162805, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {183986, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {194700, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205420, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {216520, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {232288, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1026313, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {982468, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {170771, Strategy::kTwoshotPush}, \
  {325085, Strategy::kOneshot}, \
  {915549, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {162199, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149341, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {153712, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {181301, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {188103, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {219722, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {238970, Strategy::kTwoshotPush}, \
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
  {35982581, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {580927, Strategy::kTwoshotPush}, \
  {30197367, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {605726, Strategy::kTwoshotPush}, \
  {37224507, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {577445, Strategy::kTwoshotPush}, \
  {30022095, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {599421, Strategy::kTwoshotPush}, \
  {31105797, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {605782, Strategy::kTwoshotPush}, \
  {38597789, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {999315, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {985107, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {849977, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {344613, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {317294, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {358824, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {372495, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {376088, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {403711, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {456606, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1383234, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1371690, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1244727, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {325901, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {299616, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {347028, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {343935, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {376909, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {400998, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {441139, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2116552, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2024054, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1844984, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {303476, Strategy::kTwoshotPush}, \
  {714075, Strategy::kOneshot}, \
  {1952100, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {288740, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {318471, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {334275, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {375323, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {430598, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {480665, Strategy::kTwoshotPush}, \
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
  {29919157, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {194798, Strategy::kTwoshotPush}, \
  {23079528, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {198789, Strategy::kTwoshotPush}, \
  {30478220, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {200309, Strategy::kTwoshotPush}, \
  {22149605, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {201904, Strategy::kTwoshotPush}, \
  {26021373, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {198829, Strategy::kTwoshotPush}, \
  {31303713, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {334255, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {332062, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132176, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {126735, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {113276, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {126067, Strategy::kTwoshotPush}, \
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
  {119372, Strategy::kTwoshotPush}, \
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
  {124573, Strategy::kTwoshotPush}, \
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
  {29193099, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {145996, Strategy::kTwoshotPush}, \
  {22655981, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150245, Strategy::kTwoshotPush}, \
  {29799552, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150231, Strategy::kTwoshotPush}, \
  {21239957, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {152721, Strategy::kTwoshotPush}, \
  {25540506, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {150203, Strategy::kTwoshotPush}, \
  {30515855, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {257149, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {256003, Strategy::kTwoshotPush}, \
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
  {88608, Strategy::kTwoshotPush}, \
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
  {124861, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {124981, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {124480, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123915, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123998, Strategy::kTwoshotPush}, \
  {28673426, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {120305, Strategy::kTwoshotPush}, \
  {22348667, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {123974, Strategy::kTwoshotPush}, \
  {29310613, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {122823, Strategy::kTwoshotPush}, \
  {20849111, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {125849, Strategy::kTwoshotPush}, \
  {25186954, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {123858, Strategy::kTwoshotPush}, \
  {29956853, Strategy::kTwoshot}, \
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
  {85421, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82642, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {85617, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94607, Strategy::kTwoshotPush}, \
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
  {82502, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {89430, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {373411, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {368503, Strategy::kTwoshotPush}, \
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
  {28283005, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {98861, Strategy::kTwoshotPush}, \
  {22115447, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {99180, Strategy::kTwoshotPush}, \
  {28941509, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {100454, Strategy::kTwoshotPush}, \
  {20687079, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {102477, Strategy::kTwoshotPush}, \
  {24915988, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {99197, Strategy::kTwoshotPush}, \
  {29539547, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {167319, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {166220, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {67667, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {62433, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61252, Strategy::kTwoshotPush}, \
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
  {63910, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {57183, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {63395, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69021, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_406bd17f4a3bc337

#undef ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_406bd17f4a3bc337;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_406BD17F4A3BC337_H


#ifndef ALLREDUCE_TABLES_406BD17F4A3BC337_H
#define ALLREDUCE_TABLES_406BD17F4A3BC337_H

#if defined(__CUDACC__)
#define ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION constexpr
#endif

namespace allreduce_tables_406bd17f4a3bc337 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION const char* name_of(Strategy strategy) {
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
ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION std::int64_t distance(std::int64_t table_sm,
                                     Launch table_launch,
                                     std::int64_t sm_version,
                                     Launch launch) {
  const std::int64_t below = sm_version - table_sm;
  const std::int64_t of_sm = below >= 0 ? below : (std::int64_t{1} << 34) - below;
  return of_sm + (table_launch == launch ? 0 : std::int64_t{1} << 36);
}

// Returns the table that answers: that of the SM and launch, else the nearest.
ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION int table_of(int sm_version, Launch launch) {
  int best = 0;
  std::int64_t least = distance(90, Launch::kGraph, sm_version, launch);
  return least < 0 ? 0 : best;
}

}  // namespace detail

// Returns the strategy for a message; any input has one.
ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION Match find(int sm_version,
                          Launch launch,
                          std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  switch (detail::table_of(sm_version, launch)) {
    default: {
      const ::allreduce_table_sm90_graph_406bd17f4a3bc337::Match match =
          ::allreduce_table_sm90_graph_406bd17f4a3bc337::find(world_size, static_cast<::allreduce_table_sm90_graph_406bd17f4a3bc337::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_graph_406bd17f4a3bc337::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kGraph, match.is_extrapolated};
    }
  }
}

ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION Strategy lookup(int sm_version,
                               Launch launch,
                               std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(sm_version, launch, world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

}  // namespace allreduce_tables_406bd17f4a3bc337

#undef ALLREDUCE_TABLES_406BD17F4A3BC337_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_tables = ::allreduce_tables_406bd17f4a3bc337;
#endif

#endif  // ALLREDUCE_TABLES_406BD17F4A3BC337_H
