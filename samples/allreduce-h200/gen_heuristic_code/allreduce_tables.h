// All-reduce strategies of 1 tables, by SM and launch.
// Made by assay allreduce codegen; do not edit.

// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-27, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H
#define ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_a38823ba980d0ab6 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 10}, \
  {2, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 10, 20}, \
  {2, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 20, 30}, \
  {2, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 30, 40}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 40, 50}, \
  {4, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 50, 67}, \
  {4, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 67, 92}, \
  {4, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 92, 119}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 119, 129}, \
  {3, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 129, 139}, \
  {3, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 139, 149}, \
  {3, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 149, 159}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 159, 169}, \
  {5, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 169, 179}, \
  {5, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 179, 189}, \
  {5, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 189, 199}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 199, 209}, \
  {6, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 209, 219}, \
  {6, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 219, 229}, \
  {6, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 229, 239}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 239, 249}, \
  {7, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 249, 259}, \
  {7, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 259, 269}, \
  {7, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 269, 279}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 279, 289}, \
  {8, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 289, 299}, \
  {8, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 299, 309}, \
  {8, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 309, 319}
#define ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_ROWS \
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
  {576, 75, 77}, \
  {1024, 77, 79}, \
  {1088, 79, 81}, \
  {1152, 81, 83}, \
  {1216, 83, 85}, \
  {1792, 85, 87}, \
  {2048, 87, 89}, \
  {2112, 89, 91}, \
  {2880, 91, 93}, \
  {3584, 93, 95}, \
  {4096, 95, 97}, \
  {5120, 97, 99}, \
  {7168, 99, 101}, \
  {8192, 101, 103}, \
  {128, 103, 105}, \
  {256, 105, 107}, \
  {320, 107, 109}, \
  {512, 109, 111}, \
  {576, 111, 113}, \
  {640, 113, 115}, \
  {704, 115, 117}, \
  {1024, 117, 119}, \
  {1216, 119, 121}, \
  {1280, 121, 123}, \
  {1344, 123, 125}, \
  {1408, 125, 127}, \
  {2048, 127, 129}, \
  {2240, 129, 131}, \
  {2304, 131, 133}, \
  {2368, 133, 135}, \
  {2432, 135, 137}, \
  {2496, 137, 139}, \
  {2880, 139, 141}, \
  {4096, 141, 143}, \
  {4544, 143, 145}, \
  {5120, 145, 147}, \
  {5184, 147, 149}, \
  {7168, 149, 151}, \
  {8192, 151, 153}, \
  {128, 153, 155}, \
  {256, 155, 157}, \
  {512, 157, 159}, \
  {576, 159, 161}, \
  {640, 161, 163}, \
  {1024, 163, 165}, \
  {1088, 165, 167}, \
  {1152, 167, 169}, \
  {1216, 169, 171}, \
  {1280, 171, 173}, \
  {1344, 173, 175}, \
  {2048, 175, 177}, \
  {2112, 177, 180}, \
  {2176, 180, 183}, \
  {2240, 183, 186}, \
  {2304, 186, 188}, \
  {2880, 188, 190}, \
  {3456, 190, 192}, \
  {3520, 192, 194}, \
  {3584, 194, 196}, \
  {4096, 196, 198}, \
  {5120, 198, 200}, \
  {7168, 200, 202}, \
  {7232, 202, 204}, \
  {7296, 204, 206}, \
  {7360, 206, 208}, \
  {8192, 208, 210}, \
  {128, 210, 212}, \
  {256, 212, 214}, \
  {512, 214, 216}, \
  {1024, 216, 218}, \
  {2048, 218, 221}, \
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
  {2048, 304, 307}, \
  {2880, 307, 310}, \
  {4096, 310, 313}, \
  {5120, 313, 316}, \
  {7168, 316, 319}, \
  {8192, 319, 322}, \
  {128, 322, 324}, \
  {256, 324, 326}, \
  {512, 326, 328}, \
  {1024, 328, 330}, \
  {2048, 330, 332}, \
  {2880, 332, 334}, \
  {4096, 334, 336}, \
  {5120, 336, 338}, \
  {7168, 338, 340}, \
  {8192, 340, 342}, \
  {128, 342, 344}, \
  {256, 344, 346}, \
  {512, 346, 348}, \
  {1024, 348, 350}, \
  {2048, 350, 352}, \
  {2880, 352, 354}, \
  {4096, 354, 356}, \
  {5120, 356, 358}, \
  {7168, 358, 360}, \
  {8192, 360, 362}, \
  {128, 362, 364}, \
  {256, 364, 366}, \
  {512, 366, 368}, \
  {1024, 368, 370}, \
  {2048, 370, 372}, \
  {2880, 372, 374}, \
  {4096, 374, 376}, \
  {5120, 376, 378}, \
  {7168, 378, 380}, \
  {8192, 380, 382}, \
  {128, 382, 384}, \
  {256, 384, 386}, \
  {512, 386, 388}, \
  {1024, 388, 390}, \
  {2048, 390, 393}, \
  {2880, 393, 396}, \
  {4096, 396, 399}, \
  {5120, 399, 402}, \
  {7168, 402, 405}, \
  {8192, 405, 408}, \
  {128, 408, 410}, \
  {256, 410, 412}, \
  {512, 412, 414}, \
  {1024, 414, 416}, \
  {2048, 416, 418}, \
  {2880, 418, 420}, \
  {4096, 420, 422}, \
  {5120, 422, 424}, \
  {7168, 424, 426}, \
  {8192, 426, 428}, \
  {128, 428, 430}, \
  {256, 430, 432}, \
  {512, 432, 434}, \
  {1024, 434, 436}, \
  {2048, 436, 438}, \
  {2880, 438, 440}, \
  {4096, 440, 442}, \
  {5120, 442, 444}, \
  {7168, 444, 446}, \
  {8192, 446, 448}, \
  {128, 448, 450}, \
  {256, 450, 452}, \
  {512, 452, 454}, \
  {1024, 454, 456}, \
  {2048, 456, 458}, \
  {2880, 458, 460}, \
  {4096, 460, 462}, \
  {5120, 462, 464}, \
  {7168, 464, 466}, \
  {8192, 466, 468}, \
  {128, 468, 470}, \
  {256, 470, 472}, \
  {512, 472, 474}, \
  {1024, 474, 476}, \
  {2048, 476, 479}, \
  {2880, 479, 482}, \
  {4096, 482, 485}, \
  {5120, 485, 488}, \
  {7168, 488, 491}, \
  {8192, 491, 494}, \
  {128, 494, 496}, \
  {256, 496, 498}, \
  {512, 498, 500}, \
  {1024, 500, 502}, \
  {2048, 502, 504}, \
  {2880, 504, 506}, \
  {4096, 506, 508}, \
  {5120, 508, 510}, \
  {7168, 510, 512}, \
  {8192, 512, 514}, \
  {128, 514, 516}, \
  {256, 516, 518}, \
  {512, 518, 520}, \
  {1024, 520, 522}, \
  {2048, 522, 524}, \
  {2880, 524, 526}, \
  {4096, 526, 528}, \
  {5120, 528, 530}, \
  {7168, 530, 532}, \
  {8192, 532, 534}, \
  {128, 534, 536}, \
  {256, 536, 538}, \
  {512, 538, 540}, \
  {1024, 540, 542}, \
  {2048, 542, 544}, \
  {2880, 544, 546}, \
  {4096, 546, 548}, \
  {5120, 548, 550}, \
  {7168, 550, 552}, \
  {8192, 552, 554}, \
  {128, 554, 556}, \
  {256, 556, 558}, \
  {512, 558, 560}, \
  {1024, 560, 562}, \
  {2048, 562, 565}, \
  {2880, 565, 568}, \
  {4096, 568, 571}, \
  {5120, 571, 574}, \
  {7168, 574, 577}, \
  {8192, 577, 580}, \
  {128, 580, 582}, \
  {256, 582, 584}, \
  {512, 584, 586}, \
  {1024, 586, 588}, \
  {2048, 588, 590}, \
  {2880, 590, 592}, \
  {4096, 592, 594}, \
  {5120, 594, 596}, \
  {7168, 596, 598}, \
  {8192, 598, 600}, \
  {128, 600, 602}, \
  {256, 602, 604}, \
  {512, 604, 606}, \
  {1024, 606, 608}, \
  {2048, 608, 610}, \
  {2880, 610, 612}, \
  {4096, 612, 614}, \
  {5120, 614, 616}, \
  {7168, 616, 618}, \
  {8192, 618, 620}, \
  {128, 620, 622}, \
  {256, 622, 624}, \
  {512, 624, 626}, \
  {1024, 626, 628}, \
  {2048, 628, 630}, \
  {2880, 630, 632}, \
  {4096, 632, 634}, \
  {5120, 634, 636}, \
  {7168, 636, 638}, \
  {8192, 638, 640}
#define ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SEGMENTS \
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
  {316133, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {314933, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {306164, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {303340, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {313145, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {318119, Strategy::kTwoshotPush}, \
  {23686271, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {314645, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {329978, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {329729, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {312378, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {482429, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {665515, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {487474, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {740562, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {715113, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {691189, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {503538, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {450331, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {577011, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {458346, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {492525, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {457133, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {462572, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {473834, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {611870, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {604521, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {783118, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {584095, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {915976, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {857322, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {809529, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {590124, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {950151, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {926721, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {833278, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {808355, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {565525, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {763736, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {742739, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {702824, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {691389, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {676369, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {578076, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {578655, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {655360, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {608946, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {708669, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {645121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {651240, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1049967, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {940005, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1547282, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1470820, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1768611, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1727621, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1679123, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1624585, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1472069, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {930484, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1389416, Strategy::kTwoshotPush}, \
  {52040126, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1359347, Strategy::kTwoshotPush}, \
  {55177903, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1327901, Strategy::kTwoshotPush}, \
  {58946566, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1283785, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {897329, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1051542, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1030280, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1005716, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {868449, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {931841, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {917505, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1004160, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1003365, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1002453, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {938225, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {596842, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {591452, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {586412, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {579149, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {590823, Strategy::kTwoshotPush}, \
  {47452161, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {586652, Strategy::kTwoshotPush}, \
  {33367681, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {596067, Strategy::kTwoshotPush}, \
  {47456257, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {587022, Strategy::kTwoshotPush}, \
  {30950307, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {601478, Strategy::kTwoshotPush}, \
  {41517057, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {593370, Strategy::kTwoshotPush}, \
  {47448065, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {974263, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {901905, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {943581, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {862847, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {858695, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {840860, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {931841, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {917505, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {949790, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1293703, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1257793, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1180302, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1198639, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1131591, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1117100, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1089556, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1150359, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1141466, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1239586, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2183554, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2097153, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1897550, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2097153, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1943983, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {2085121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1796972, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1853441, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1674235, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1809291, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201500, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201134, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196945, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {197290, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {200454, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {197615, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {200649, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {206021, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {205075, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {200409, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {335315, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {332201, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {317109, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {322915, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {300828, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {298389, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {304014, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {304751, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {311191, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {333395, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {393754, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {391427, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {377339, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {379357, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {372751, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {386297, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {373078, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {391487, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {391531, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {412861, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {638724, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {628712, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {589091, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {618729, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {559741, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {571566, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {570567, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {571891, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {565831, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {606670, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {151430, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {151806, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149612, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149080, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {151288, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {149590, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {151683, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {163841, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {157697, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {152030, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {243529, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {247480, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {228995, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {229634, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {233461, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {235521, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {240182, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {301131, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {299652, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {289597, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {290527, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {288499, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {287051, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {289644, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {298120, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {291044, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {310161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {468554, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {464368, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {439026, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {457216, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {423949, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {430141, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {423232, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {432416, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {426772, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {455232, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {123452, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {121495, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {122981, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {126536, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {127759, Strategy::kTwoshotPush}, \
  {29360129, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {206942, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {205778, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {196518, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {199173, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {186100, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {194428, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {188619, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {189001, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {192796, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {204758, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {247014, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {244579, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {235972, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {236812, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {236495, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {236797, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {238919, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {240025, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {241057, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {379528, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {376104, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {356599, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {370689, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {341652, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {347261, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {349966, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {355150, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {343908, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {376833, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100511, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {98938, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {100176, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {101215, Strategy::kTwoshotPush}, \
  {23592961, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {100481, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {103281, Strategy::kTwoshotPush}, \
  {29655041, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {103818, Strategy::kTwoshotPush}, \
  {24948583, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {100666, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {167281, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {166316, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {159129, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {161224, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {152281, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {153309, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {152523, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {154224, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {157697, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {163583, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {194992, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {192113, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {187168, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {187675, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {189628, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {194917, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {188417, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {193829, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {190389, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201998, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {309927, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {307251, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {292377, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {301733, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {279682, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {283767, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {290901, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {286498, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {279479, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {300869, Strategy::kTwoshotPush}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_a38823ba980d0ab6

#undef ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_a38823ba980d0ab6;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_A38823BA980D0AB6_H


#ifndef ALLREDUCE_TABLES_A38823BA980D0AB6_H
#define ALLREDUCE_TABLES_A38823BA980D0AB6_H

#if defined(__CUDACC__)
#define ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION constexpr
#endif

namespace allreduce_tables_a38823ba980d0ab6 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION const char* name_of(Strategy strategy) {
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
ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION std::int64_t distance(std::int64_t table_sm,
                                     Launch table_launch,
                                     std::int64_t sm_version,
                                     Launch launch) {
  const std::int64_t below = sm_version - table_sm;
  const std::int64_t of_sm = below >= 0 ? below : (std::int64_t{1} << 34) - below;
  return of_sm + (table_launch == launch ? 0 : std::int64_t{1} << 36);
}

// Returns the table that answers: that of the SM and launch, else the nearest.
ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION int table_of(int sm_version, Launch launch) {
  int best = 0;
  std::int64_t least = distance(90, Launch::kGraph, sm_version, launch);
  return least < 0 ? 0 : best;
}

}  // namespace detail

// Returns the strategy for a message; any input has one.
ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION Match find(int sm_version,
                          Launch launch,
                          std::int64_t world_size,
                          Fusion fusion,
                          DataType data_type,
                          std::int64_t hidden_size,
                          std::int64_t num_tokens) {
  switch (detail::table_of(sm_version, launch)) {
    default: {
      const ::allreduce_table_sm90_graph_a38823ba980d0ab6::Match match =
          ::allreduce_table_sm90_graph_a38823ba980d0ab6::find(world_size, static_cast<::allreduce_table_sm90_graph_a38823ba980d0ab6::Fusion>(fusion),
              static_cast<::allreduce_table_sm90_graph_a38823ba980d0ab6::DataType>(data_type), hidden_size, num_tokens);
      return Match{static_cast<Strategy>(match.strategy), 90, Launch::kGraph, match.is_extrapolated};
    }
  }
}

ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION Strategy lookup(int sm_version,
                               Launch launch,
                               std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(sm_version, launch, world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

}  // namespace allreduce_tables_a38823ba980d0ab6

#undef ALLREDUCE_TABLES_A38823BA980D0AB6_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_tables = ::allreduce_tables_a38823ba980d0ab6;
#endif

#endif  // ALLREDUCE_TABLES_A38823BA980D0AB6_H
