// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.9, 2026-11-21, of 5748 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H
#define ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_7fc599b38b77175b {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SLICES \
  {2, 0, Fusion::kNone, DataType::kBfloat16, 0, 10}, \
  {2, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 10, 20}, \
  {2, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 20, 30}, \
  {2, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 30, 48}, \
  {4, 0, Fusion::kNone, DataType::kBfloat16, 48, 58}, \
  {4, 0, Fusion::kResidualRmsNorm, DataType::kBfloat16, 58, 78}, \
  {4, 0, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 78, 97}, \
  {4, 0, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 97, 116}, \
  {3, 4, Fusion::kNone, DataType::kBfloat16, 116, 126}, \
  {3, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 126, 136}, \
  {3, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 136, 146}, \
  {3, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 146, 156}, \
  {5, 4, Fusion::kNone, DataType::kBfloat16, 156, 166}, \
  {5, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 166, 176}, \
  {5, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 176, 186}, \
  {5, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 186, 196}, \
  {6, 4, Fusion::kNone, DataType::kBfloat16, 196, 206}, \
  {6, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 206, 216}, \
  {6, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 216, 226}, \
  {6, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 226, 236}, \
  {7, 4, Fusion::kNone, DataType::kBfloat16, 236, 246}, \
  {7, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 246, 256}, \
  {7, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 256, 266}, \
  {7, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 266, 276}, \
  {8, 4, Fusion::kNone, DataType::kBfloat16, 276, 286}, \
  {8, 4, Fusion::kResidualRmsNorm, DataType::kBfloat16, 286, 296}, \
  {8, 4, Fusion::kResidualRmsNormQuantFp8, DataType::kBfloat16, 296, 306}, \
  {8, 4, Fusion::kResidualRmsNormQuantNvfp4, DataType::kBfloat16, 306, 316}
#define ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_ROWS \
  {128, 0, 1}, \
  {256, 1, 2}, \
  {512, 2, 3}, \
  {1024, 3, 4}, \
  {2048, 4, 6}, \
  {2880, 6, 8}, \
  {4096, 8, 10}, \
  {5120, 10, 12}, \
  {7168, 12, 14}, \
  {8192, 14, 16}, \
  {128, 16, 17}, \
  {256, 17, 18}, \
  {512, 18, 19}, \
  {1024, 19, 20}, \
  {2048, 20, 22}, \
  {2880, 22, 24}, \
  {4096, 24, 26}, \
  {5120, 26, 28}, \
  {7168, 28, 30}, \
  {8192, 30, 32}, \
  {128, 32, 33}, \
  {256, 33, 34}, \
  {512, 34, 35}, \
  {1024, 35, 38}, \
  {2048, 38, 40}, \
  {2880, 40, 42}, \
  {4096, 42, 44}, \
  {5120, 44, 46}, \
  {7168, 46, 48}, \
  {8192, 48, 50}, \
  {128, 50, 52}, \
  {256, 52, 54}, \
  {512, 54, 56}, \
  {576, 56, 57}, \
  {640, 57, 58}, \
  {704, 58, 59}, \
  {768, 59, 60}, \
  {1024, 60, 62}, \
  {1088, 62, 64}, \
  {1152, 64, 66}, \
  {1216, 66, 68}, \
  {1280, 68, 70}, \
  {2048, 70, 72}, \
  {2880, 72, 74}, \
  {4096, 74, 76}, \
  {5120, 76, 78}, \
  {7168, 78, 80}, \
  {8192, 80, 82}, \
  {128, 82, 84}, \
  {256, 84, 86}, \
  {512, 86, 88}, \
  {1024, 88, 90}, \
  {2048, 90, 93}, \
  {2880, 93, 96}, \
  {4096, 96, 99}, \
  {5120, 99, 102}, \
  {7168, 102, 105}, \
  {8192, 105, 108}, \
  {128, 108, 110}, \
  {256, 110, 112}, \
  {512, 112, 114}, \
  {576, 114, 116}, \
  {1024, 116, 118}, \
  {1088, 118, 121}, \
  {1152, 121, 124}, \
  {1216, 124, 127}, \
  {2048, 127, 130}, \
  {2112, 130, 133}, \
  {2176, 133, 136}, \
  {2240, 136, 139}, \
  {2304, 139, 142}, \
  {2368, 142, 145}, \
  {2880, 145, 148}, \
  {4096, 148, 151}, \
  {4160, 151, 154}, \
  {5120, 154, 157}, \
  {7168, 157, 160}, \
  {8192, 160, 163}, \
  {128, 163, 165}, \
  {256, 165, 167}, \
  {320, 167, 169}, \
  {512, 169, 171}, \
  {640, 171, 173}, \
  {704, 173, 175}, \
  {1024, 175, 177}, \
  {1216, 177, 180}, \
  {1280, 180, 183}, \
  {1344, 183, 186}, \
  {1408, 186, 189}, \
  {2048, 189, 192}, \
  {2880, 192, 195}, \
  {4096, 195, 198}, \
  {5120, 198, 201}, \
  {5184, 201, 204}, \
  {5248, 204, 207}, \
  {7168, 207, 210}, \
  {8192, 210, 213}, \
  {128, 213, 215}, \
  {256, 215, 217}, \
  {512, 217, 219}, \
  {576, 219, 221}, \
  {832, 221, 223}, \
  {1024, 223, 225}, \
  {1088, 225, 228}, \
  {1152, 228, 231}, \
  {1216, 231, 234}, \
  {1664, 234, 237}, \
  {1728, 237, 240}, \
  {2048, 240, 243}, \
  {2112, 243, 246}, \
  {2880, 246, 249}, \
  {3456, 249, 252}, \
  {4096, 252, 255}, \
  {5120, 255, 258}, \
  {7168, 258, 261}, \
  {8192, 261, 264}, \
  {128, 264, 266}, \
  {256, 266, 268}, \
  {512, 268, 270}, \
  {1024, 270, 272}, \
  {2048, 272, 275}, \
  {2880, 275, 278}, \
  {4096, 278, 281}, \
  {5120, 281, 284}, \
  {7168, 284, 287}, \
  {8192, 287, 290}, \
  {128, 290, 292}, \
  {256, 292, 294}, \
  {512, 294, 296}, \
  {1024, 296, 298}, \
  {2048, 298, 301}, \
  {2880, 301, 304}, \
  {4096, 304, 307}, \
  {5120, 307, 310}, \
  {7168, 310, 313}, \
  {8192, 313, 316}, \
  {128, 316, 318}, \
  {256, 318, 320}, \
  {512, 320, 322}, \
  {1024, 322, 324}, \
  {2048, 324, 327}, \
  {2880, 327, 330}, \
  {4096, 330, 333}, \
  {5120, 333, 336}, \
  {7168, 336, 339}, \
  {8192, 339, 342}, \
  {128, 342, 344}, \
  {256, 344, 346}, \
  {512, 346, 348}, \
  {1024, 348, 350}, \
  {2048, 350, 353}, \
  {2880, 353, 356}, \
  {4096, 356, 359}, \
  {5120, 359, 362}, \
  {7168, 362, 365}, \
  {8192, 365, 368}, \
  {128, 368, 370}, \
  {256, 370, 372}, \
  {512, 372, 374}, \
  {1024, 374, 376}, \
  {2048, 376, 379}, \
  {2880, 379, 382}, \
  {4096, 382, 385}, \
  {5120, 385, 388}, \
  {7168, 388, 391}, \
  {8192, 391, 394}, \
  {128, 394, 396}, \
  {256, 396, 398}, \
  {512, 398, 400}, \
  {1024, 400, 402}, \
  {2048, 402, 405}, \
  {2880, 405, 408}, \
  {4096, 408, 411}, \
  {5120, 411, 414}, \
  {7168, 414, 417}, \
  {8192, 417, 420}, \
  {128, 420, 422}, \
  {256, 422, 424}, \
  {512, 424, 426}, \
  {1024, 426, 428}, \
  {2048, 428, 431}, \
  {2880, 431, 434}, \
  {4096, 434, 437}, \
  {5120, 437, 440}, \
  {7168, 440, 443}, \
  {8192, 443, 446}, \
  {128, 446, 448}, \
  {256, 448, 450}, \
  {512, 450, 452}, \
  {1024, 452, 454}, \
  {2048, 454, 457}, \
  {2880, 457, 460}, \
  {4096, 460, 463}, \
  {5120, 463, 466}, \
  {7168, 466, 469}, \
  {8192, 469, 472}, \
  {128, 472, 474}, \
  {256, 474, 476}, \
  {512, 476, 478}, \
  {1024, 478, 480}, \
  {2048, 480, 483}, \
  {2880, 483, 486}, \
  {4096, 486, 489}, \
  {5120, 489, 492}, \
  {7168, 492, 495}, \
  {8192, 495, 498}, \
  {128, 498, 500}, \
  {256, 500, 502}, \
  {512, 502, 504}, \
  {1024, 504, 506}, \
  {2048, 506, 509}, \
  {2880, 509, 512}, \
  {4096, 512, 515}, \
  {5120, 515, 518}, \
  {7168, 518, 521}, \
  {8192, 521, 524}, \
  {128, 524, 526}, \
  {256, 526, 528}, \
  {512, 528, 530}, \
  {1024, 530, 532}, \
  {2048, 532, 535}, \
  {2880, 535, 538}, \
  {4096, 538, 541}, \
  {5120, 541, 544}, \
  {7168, 544, 547}, \
  {8192, 547, 550}, \
  {128, 550, 552}, \
  {256, 552, 554}, \
  {512, 554, 556}, \
  {1024, 556, 558}, \
  {2048, 558, 561}, \
  {2880, 561, 564}, \
  {4096, 564, 567}, \
  {5120, 567, 570}, \
  {7168, 570, 573}, \
  {8192, 573, 576}, \
  {128, 576, 578}, \
  {256, 578, 580}, \
  {512, 580, 582}, \
  {1024, 582, 584}, \
  {2048, 584, 587}, \
  {2880, 587, 590}, \
  {4096, 590, 593}, \
  {5120, 593, 596}, \
  {7168, 596, 599}, \
  {8192, 599, 602}, \
  {128, 602, 604}, \
  {256, 604, 606}, \
  {512, 606, 608}, \
  {1024, 608, 610}, \
  {2048, 610, 613}, \
  {2880, 613, 616}, \
  {4096, 616, 619}, \
  {5120, 619, 622}, \
  {7168, 622, 625}, \
  {8192, 625, 628}, \
  {128, 628, 630}, \
  {256, 630, 632}, \
  {512, 632, 634}, \
  {1024, 634, 636}, \
  {2048, 636, 639}, \
  {2880, 639, 642}, \
  {4096, 642, 645}, \
  {5120, 645, 648}, \
  {7168, 648, 651}, \
  {8192, 651, 654}, \
  {128, 654, 656}, \
  {256, 656, 658}, \
  {512, 658, 660}, \
  {1024, 660, 662}, \
  {2048, 662, 665}, \
  {2880, 665, 668}, \
  {4096, 668, 671}, \
  {5120, 671, 674}, \
  {7168, 674, 677}, \
  {8192, 677, 680}, \
  {128, 680, 682}, \
  {256, 682, 684}, \
  {512, 684, 686}, \
  {1024, 686, 688}, \
  {2048, 688, 691}, \
  {2880, 691, 694}, \
  {4096, 694, 697}, \
  {5120, 697, 700}, \
  {7168, 700, 703}, \
  {8192, 703, 706}, \
  {128, 706, 708}, \
  {256, 708, 710}, \
  {512, 710, 712}, \
  {1024, 712, 714}, \
  {2048, 714, 717}, \
  {2880, 717, 720}, \
  {4096, 720, 723}, \
  {5120, 723, 726}, \
  {7168, 726, 729}, \
  {8192, 729, 732}, \
  {128, 732, 734}, \
  {256, 734, 736}, \
  {512, 736, 738}, \
  {1024, 738, 740}, \
  {2048, 740, 743}, \
  {2880, 743, 746}, \
  {4096, 746, 749}, \
  {5120, 749, 752}, \
  {7168, 752, 755}, \
  {8192, 755, 758}, \
  {128, 758, 760}, \
  {256, 760, 762}, \
  {512, 762, 764}, \
  {1024, 764, 766}, \
  {2048, 766, 769}, \
  {2880, 769, 772}, \
  {4096, 772, 775}, \
  {5120, 775, 778}, \
  {7168, 778, 781}, \
  {8192, 781, 784}
#define ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SEGMENTS \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {3449098, Strategy::kTwoshotPush}, \
  {6207978, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {3610410, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {3598614, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {3045288, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {0, Strategy::kOneshot}, \
  {3480504, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {25165825, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {25165825, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {25165825, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {25165825, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {281087, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {273958, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {281800, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {296188, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {299195, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {280174, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {327681, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {329729, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {294411, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {552062, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {536746, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {669118, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {736151, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {716932, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {701321, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {538163, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {661911, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {663370, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {665420, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {664792, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {655429, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {648547, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {575371, Strategy::kTwoshotPush}, \
  {19922945, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {460801, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {458753, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {626448, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {618985, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {748908, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {610787, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {804911, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {769149, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {607446, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {880385, Strategy::kTwoshotPush}, \
  {23068673, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {848867, Strategy::kTwoshotPush}, \
  {23068673, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {794311, Strategy::kTwoshotPush}, \
  {23068673, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {779282, Strategy::kTwoshotPush}, \
  {23068673, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {619975, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {763487, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {582414, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {660259, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {723382, Strategy::kTwoshotPush}, \
  {23068673, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {718929, Strategy::kTwoshotPush}, \
  {23068673, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {571001, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {595575, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {890180, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {881146, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {838964, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1308499, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {937512, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {848121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1448028, Strategy::kTwoshotPush}, \
  {28311553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1398969, Strategy::kTwoshotPush}, \
  {28311553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1352250, Strategy::kTwoshotPush}, \
  {28311553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {978348, Strategy::kTwoshotPush}, \
  {28311553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {958879, Strategy::kTwoshotPush}, \
  {28311553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {823281, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1156003, Strategy::kTwoshotPush}, \
  {28311553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {930650, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {962139, Strategy::kTwoshotPush}, \
  {28311553, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {745473, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {846234, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {820584, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {872137, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {783890, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {778481, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {776554, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {773227, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {784877, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {841724, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {772889, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {811403, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {917505, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {793764, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1173006, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1136563, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1097195, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1119137, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1140123, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1306011, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1049754, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {989864, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1061450, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1065730, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1306145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1305679, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1283966, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1275996, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1319675, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1474561, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1206909, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1199813, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1304577, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1275036, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1828634, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1824378, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1707551, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1746247, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {1694336, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1903643, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1545530, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1654301, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1569259, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {1719965, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {161849, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {159057, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {160877, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {160501, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {166810, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {166009, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {158820, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {163841, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {165059, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {163431, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {215651, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {217023, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {202880, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {209577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {219963, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {297093, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {203886, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {188844, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {181022, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {206943, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {302310, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {288535, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {272462, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {276842, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {295771, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {402226, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {290437, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {278765, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {293034, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {539337, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {536601, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {526557, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {524289, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {538876, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {408951, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {498439, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {483608, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {539518, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {117807, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {115348, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {116355, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {116387, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {120255, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {114506, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {114295, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {120458, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {118728, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {152404, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {154092, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {141488, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {145902, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {156984, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {184321, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {144501, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {127392, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {125061, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {149314, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {199316, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {192585, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {185345, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {186369, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {201967, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {259201, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {188417, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {192248, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {185758, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {195768, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {342425, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {330111, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {311096, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {323121, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {331294, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {382275, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {263400, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {341225, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {329729, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {376833, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {92673, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92673, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {93185, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92161, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94209, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {92353, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {90113, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {84440, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {93892, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {98305, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {116262, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {106054, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {108005, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {133001, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {107619, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {96930, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {95918, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {154008, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {149949, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {141247, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {145239, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {158023, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {184321, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {140309, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {163841, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {144181, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {152821, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {233683, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {262145, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {282656, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {196214, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {254975, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {245275, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {283545, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {68359, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {68661, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69961, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {69784, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {70327, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {74279, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {69589, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {68905, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {73620, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {71542, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {92673, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {92673, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {79124, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {77920, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {94209, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {101801, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {78444, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {81921, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {71634, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {84321, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {114232, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {110835, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {102159, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {105739, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {131073, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {133298, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {102426, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {112641, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {114689, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {116004, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {191312, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {185345, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {170722, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {186369, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {192062, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {209711, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {147466, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {191601, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {182209, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}, \
  {0, Strategy::kOneshot}, \
  {213497, Strategy::kTwoshotPush}, \
  {33554433, Strategy::kTwoshot}

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_7fc599b38b77175b

#undef ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_7fc599b38b77175b;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_7FC599B38B77175B_H
