// All-reduce strategies of 1 tables, by SM and launch.
// Made by assay allreduce codegen; do not edit.

// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-28, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H
#define ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_f53502e83b849d40 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SLICES \
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
#define ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_ROWS \
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
  {4096, 17, 18}, \
  {5120, 18, 19}, \
  {7168, 19, 20}, \
  {8192, 20, 21}, \
  {128, 21, 22}, \
  {256, 22, 23}, \
  {512, 23, 24}, \
  {1024, 24, 25}, \
  {2048, 25, 26}, \
  {2880, 26, 27}, \
  {4096, 27, 28}, \
  {5120, 28, 29}, \
  {7168, 29, 30}, \
  {8192, 30, 31}, \
  {128, 31, 32}, \
  {256, 32, 33}, \
  {512, 33, 34}, \
  {1024, 34, 35}, \
  {2048, 35, 36}, \
  {2880, 36, 37}, \
  {4096, 37, 38}, \
  {5120, 38, 39}, \
  {7168, 39, 40}, \
  {8192, 40, 41}, \
  {128, 41, 43}, \
  {256, 43, 45}, \
  {512, 45, 47}, \
  {1024, 47, 49}, \
  {2048, 49, 51}, \
  {2880, 51, 54}, \
  {4096, 54, 57}, \
  {5120, 57, 60}, \
  {7168, 60, 63}, \
  {8192, 63, 66}, \
  {128, 66, 68}, \
  {256, 68, 70}, \
  {512, 70, 72}, \
  {1024, 72, 74}, \
  {2048, 74, 76}, \
  {2880, 76, 78}, \
  {4096, 78, 80}, \
  {5120, 80, 82}, \
  {7168, 82, 84}, \
  {8192, 84, 86}, \
  {128, 86, 88}, \
  {256, 88, 90}, \
  {512, 90, 92}, \
  {1024, 92, 94}, \
  {2048, 94, 96}, \
  {2880, 96, 98}, \
  {4096, 98, 100}, \
  {5120, 100, 102}, \
  {7168, 102, 104}, \
  {8192, 104, 106}, \
  {128, 106, 108}, \
  {256, 108, 110}, \
  {512, 110, 112}, \
  {1024, 112, 114}, \
  {2048, 114, 116}, \
  {2880, 116, 118}, \
  {4096, 118, 120}, \
  {5120, 120, 122}, \
  {7168, 122, 124}, \
  {8192, 124, 126}, \
  {128, 126, 128}, \
  {256, 128, 130}, \
  {512, 130, 132}, \
  {1024, 132, 134}, \
  {2048, 134, 136}, \
  {2880, 136, 139}, \
  {4096, 139, 142}, \
  {5120, 142, 145}, \
  {7168, 145, 148}, \
  {8192, 148, 151}, \
  {128, 151, 153}, \
  {256, 153, 155}, \
  {512, 155, 157}, \
  {1024, 157, 159}, \
  {2048, 159, 161}, \
  {2880, 161, 163}, \
  {4096, 163, 165}, \
  {5120, 165, 167}, \
  {7168, 167, 169}, \
  {8192, 169, 171}, \
  {128, 171, 173}, \
  {256, 173, 175}, \
  {512, 175, 177}, \
  {1024, 177, 179}, \
  {2048, 179, 181}, \
  {2880, 181, 183}, \
  {4096, 183, 185}, \
  {5120, 185, 187}, \
  {7168, 187, 189}, \
  {8192, 189, 191}, \
  {128, 191, 193}, \
  {256, 193, 195}, \
  {512, 195, 197}, \
  {1024, 197, 199}, \
  {2048, 199, 201}, \
  {2880, 201, 203}, \
  {4096, 203, 205}, \
  {5120, 205, 207}, \
  {7168, 207, 209}, \
  {8192, 209, 211}, \
  {128, 211, 213}, \
  {256, 213, 215}, \
  {512, 215, 217}, \
  {1024, 217, 219}, \
  {2048, 219, 221}, \
  {2880, 221, 224}, \
  {4096, 224, 227}, \
  {5120, 227, 230}, \
  {7168, 230, 233}, \
  {8192, 233, 236}, \
  {128, 236, 238}, \
  {256, 238, 240}, \
  {512, 240, 242}, \
  {1024, 242, 244}, \
  {2048, 244, 246}, \
  {2880, 246, 248}, \
  {4096, 248, 250}, \
  {5120, 250, 252}, \
  {7168, 252, 254}, \
  {8192, 254, 256}, \
  {128, 256, 258}, \
  {256, 258, 260}, \
  {512, 260, 262}, \
  {1024, 262, 264}, \
  {2048, 264, 266}, \
  {2880, 266, 268}, \
  {4096, 268, 270}, \
  {5120, 270, 272}, \
  {7168, 272, 274}, \
  {8192, 274, 276}, \
  {128, 276, 278}, \
  {256, 278, 280}, \
  {512, 280, 282}, \
  {1024, 282, 284}, \
  {2048, 284, 286}, \
  {2880, 286, 288}, \
  {4096, 288, 290}, \
  {5120, 290, 292}, \
  {7168, 292, 294}, \
  {8192, 294, 296}, \
  {128, 296, 298}, \
  {256, 298, 300}, \
  {512, 300, 302}, \
  {1024, 302, 304}, \
  {2048, 304, 306}, \
  {2880, 306, 309}, \
  {4096, 309, 312}, \
  {5120, 312, 315}, \
  {7168, 315, 318}, \
  {8192, 318, 321}, \
  {128, 321, 323}, \
  {256, 323, 325}, \
  {512, 325, 327}, \
  {1024, 327, 329}, \
  {2048, 329, 331}, \
  {2880, 331, 333}, \
  {4096, 333, 335}, \
  {5120, 335, 337}, \
  {7168, 337, 339}, \
  {8192, 339, 341}, \
  {128, 341, 343}, \
  {256, 343, 345}, \
  {512, 345, 347}, \
  {1024, 347, 349}, \
  {2048, 349, 351}, \
  {2880, 351, 353}, \
  {4096, 353, 355}, \
  {5120, 355, 357}, \
  {7168, 357, 359}, \
  {8192, 359, 361}, \
  {128, 361, 363}, \
  {256, 363, 365}, \
  {512, 365, 367}, \
  {1024, 367, 369}, \
  {2048, 369, 371}, \
  {2880, 371, 373}, \
  {4096, 373, 375}, \
  {5120, 375, 377}, \
  {7168, 377, 379}, \
  {8192, 379, 381}, \
  {128, 381, 383}, \
  {256, 383, 385}, \
  {512, 385, 387}, \
  {1024, 387, 389}, \
  {2048, 389, 391}, \
  {2880, 391, 394}, \
  {4096, 394, 397}, \
  {5120, 397, 400}, \
  {7168, 400, 403}, \
  {8192, 403, 406}, \
  {128, 406, 408}, \
  {256, 408, 410}, \
  {512, 410, 412}, \
  {1024, 412, 414}, \
  {2048, 414, 416}, \
  {2880, 416, 418}, \
  {4096, 418, 420}, \
  {5120, 420, 422}, \
  {7168, 422, 424}, \
  {8192, 424, 426}, \
  {128, 426, 428}, \
  {256, 428, 430}, \
  {512, 430, 432}, \
  {1024, 432, 434}, \
  {2048, 434, 436}, \
  {2880, 436, 438}, \
  {4096, 438, 440}, \
  {5120, 440, 442}, \
  {7168, 442, 444}, \
  {8192, 444, 446}, \
  {128, 446, 448}, \
  {256, 448, 450}, \
  {512, 450, 452}, \
  {1024, 452, 454}, \
  {2048, 454, 456}, \
  {2880, 456, 458}, \
  {4096, 458, 460}, \
  {5120, 460, 462}, \
  {7168, 462, 464}, \
  {8192, 464, 466}, \
  {128, 466, 468}, \
  {256, 468, 470}, \
  {512, 470, 472}, \
  {1024, 472, 474}, \
  {2048, 474, 476}, \
  {2880, 476, 479}, \
  {4096, 479, 482}, \
  {5120, 482, 485}, \
  {7168, 485, 488}, \
  {8192, 488, 491}, \
  {128, 491, 493}, \
  {256, 493, 495}, \
  {512, 495, 497}, \
  {1024, 497, 499}, \
  {2048, 499, 501}, \
  {2880, 501, 503}, \
  {4096, 503, 505}, \
  {5120, 505, 507}, \
  {7168, 507, 509}, \
  {8192, 509, 511}, \
  {128, 511, 513}, \
  {256, 513, 515}, \
  {512, 515, 517}, \
  {1024, 517, 519}, \
  {2048, 519, 521}, \
  {2880, 521, 523}, \
  {4096, 523, 525}, \
  {5120, 525, 527}, \
  {7168, 527, 529}, \
  {8192, 529, 531}, \
  {128, 531, 533}, \
  {256, 533, 535}, \
  {512, 535, 537}, \
  {1024, 537, 539}, \
  {2048, 539, 541}, \
  {2880, 541, 543}, \
  {4096, 543, 545}, \
  {5120, 545, 547}, \
  {7168, 547, 549}, \
  {8192, 549, 551}
#define ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SEGMENTS \
  {0, Strategy::kTwoshotPush}, \
  {319, Strategy::kOneshot}, \
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
  {263710, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {268419, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {269546, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {269840, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {272189, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {275479, Strategy::kTwoshotPush}, \
  {55492815, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {269077, Strategy::kTwoshotPush}, \
  {68721383, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {271224, Strategy::kTwoshotPush}, \
  {54789751, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {268345, Strategy::kTwoshotPush}, \
  {66491884, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {268756, Strategy::kTwoshotPush}, \
  {66599449, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {214867, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {210323, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {191831, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {173266, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196671, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {207369, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {209826, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {231381, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {248338, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196359, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {197014, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {182176, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {157108, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {157722, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169376, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {163988, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169811, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {209102, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200010, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {172503, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169830, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {165429, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {154828, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {147156, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {167813, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {175149, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {179194, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {221358, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {241709, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {523674, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {532932, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {531107, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {527529, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {542638, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {521482, Strategy::kTwoshotPush}, \
  {60728471, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {527184, Strategy::kTwoshotPush}, \
  {76499446, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {510361, Strategy::kTwoshotPush}, \
  {60256993, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {534508, Strategy::kTwoshotPush}, \
  {71205299, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {541825, Strategy::kTwoshotPush}, \
  {74496974, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {380716, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {375080, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {374595, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {352198, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {323246, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {380503, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {385284, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {386923, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {430597, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {463339, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {343916, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {341225, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {330782, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {289240, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {284864, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {311387, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {290154, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {318199, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {374106, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {386997, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {322499, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {321369, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {310725, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {297731, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {277363, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {349511, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {326472, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {367045, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {474987, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {513652, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {167094, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {168096, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169040, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {169169, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {170747, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {170763, Strategy::kTwoshotPush}, \
  {52183286, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {168324, Strategy::kTwoshotPush}, \
  {64134125, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {170573, Strategy::kTwoshotPush}, \
  {52280276, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {171216, Strategy::kTwoshotPush}, \
  {62497323, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {168523, Strategy::kTwoshotPush}, \
  {62200663, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {144696, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {139467, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {136233, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {126520, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {109509, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {136302, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {139156, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {134820, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {143971, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {153644, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {132675, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {135553, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {119017, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {103360, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102653, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {114873, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {109759, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106651, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {122138, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {125677, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {110576, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {108181, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106996, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {101306, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90285, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {116126, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {118852, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {115846, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123740, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {135268, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {127745, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {128399, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {128823, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {129293, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {130710, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {127955, Strategy::kTwoshotPush}, \
  {50097604, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {128270, Strategy::kTwoshotPush}, \
  {61329309, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {127561, Strategy::kTwoshotPush}, \
  {50526629, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {130531, Strategy::kTwoshotPush}, \
  {59924937, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {128408, Strategy::kTwoshotPush}, \
  {59595155, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {109850, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104920, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102382, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94111, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84829, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {107276, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104431, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100042, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {109298, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {116261, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {96889, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100154, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90188, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {79191, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {78959, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90908, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83116, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81852, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {90838, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94761, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83081, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81545, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82263, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77702, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {72040, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {91170, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {89697, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {88654, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {91490, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100243, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102784, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {103450, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {103902, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {103615, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104700, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {104899, Strategy::kTwoshotPush}, \
  {48656014, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {103413, Strategy::kTwoshotPush}, \
  {59487767, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {104497, Strategy::kTwoshotPush}, \
  {49231694, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {106995, Strategy::kTwoshotPush}, \
  {57709422, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {103000, Strategy::kTwoshotPush}, \
  {57872127, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {88265, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {85058, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84266, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76064, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {73540, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {89408, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {85550, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82399, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {88380, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94024, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {80283, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {81249, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76538, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65857, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66750, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {74222, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68460, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66608, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {74998, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {78510, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68160, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {67338, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69327, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {64437, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61626, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {74372, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {73838, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {71987, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {75210, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82565, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {82823, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83319, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83838, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83122, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {83908, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {84991, Strategy::kTwoshotPush}, \
  {47597816, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {83380, Strategy::kTwoshotPush}, \
  {58186071, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {85712, Strategy::kTwoshotPush}, \
  {48236242, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {85268, Strategy::kTwoshotPush}, \
  {55613091, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {82740, Strategy::kTwoshotPush}, \
  {56648206, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {71630, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69512, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69252, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {62091, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {58226, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {71574, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70044, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65600, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {71366, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {76009, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {65918, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {66451, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {62517, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {52667, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {52712, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {60391, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {55897, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {54001, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61282, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {64688, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {55270, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {54121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {54959, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {51601, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {45538, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {60856, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {60647, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {57775, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {61461, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {67495, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_f53502e83b849d40

#undef ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_f53502e83b849d40;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_F53502E83B849D40_H


#ifndef ALLREDUCE_TABLES_F53502E83B849D40_H
#define ALLREDUCE_TABLES_F53502E83B849D40_H

#if defined(__CUDACC__)
#define ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION constexpr
#endif

namespace allreduce_tables_f53502e83b849d40 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION const char* name_of(Strategy strategy) {
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
ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION std::int64_t distance(std::int64_t table_sm,
                                     Launch table_launch,
                                     std::int64_t sm_version,
                                     Launch launch) {
  const std::int64_t below = sm_version - table_sm;
  const std::int64_t of_sm = below >= 0 ? below : (std::int64_t{1} << 34) - below;
  return of_sm + (table_launch == launch ? 0 : std::int64_t{1} << 36);
}

// Returns the table that answers: that of the SM and launch, else the nearest.
ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION int table_of(int sm_version, Launch launch) {
  int best = 0;
  std::int64_t least = distance(90, Launch::kGraph, sm_version, launch);
  return least < 0 ? 0 : best;
}

}  // namespace detail

// Returns the strategy for a message; any input has one.
ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION Match find(int sm_version,
                          Launch launch,
                          std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  switch (detail::table_of(sm_version, launch)) {
    default: {
      const ::allreduce_table_sm90_graph_f53502e83b849d40::Match match =
          ::allreduce_table_sm90_graph_f53502e83b849d40::find(world_size, static_cast<::allreduce_table_sm90_graph_f53502e83b849d40::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_graph_f53502e83b849d40::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kGraph, match.is_extrapolated};
    }
  }
}

ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION Strategy lookup(int sm_version,
                               Launch launch,
                               std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(sm_version, launch, world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

}  // namespace allreduce_tables_f53502e83b849d40

#undef ALLREDUCE_TABLES_F53502E83B849D40_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_tables = ::allreduce_tables_f53502e83b849d40;
#endif

#endif  // ALLREDUCE_TABLES_F53502E83B849D40_H
