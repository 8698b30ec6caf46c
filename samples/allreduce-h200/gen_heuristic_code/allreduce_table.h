// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-27, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H
#define ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_96df7c0c9ed059bb {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SLICES \
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
#define ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_ROWS \
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
  {1024, 307, 309}, \
  {2048, 309, 312}, \
  {2880, 312, 315}, \
  {4096, 315, 318}, \
  {5120, 318, 321}, \
  {7168, 321, 324}, \
  {8192, 324, 327}, \
  {128, 327, 329}, \
  {256, 329, 331}, \
  {512, 331, 333}, \
  {1024, 333, 335}, \
  {2048, 335, 337}, \
  {2880, 337, 339}, \
  {4096, 339, 341}, \
  {5120, 341, 343}, \
  {7168, 343, 345}, \
  {8192, 345, 347}, \
  {128, 347, 349}, \
  {256, 349, 351}, \
  {512, 351, 353}, \
  {1024, 353, 355}, \
  {2048, 355, 357}, \
  {2880, 357, 359}, \
  {4096, 359, 361}, \
  {5120, 361, 363}, \
  {7168, 363, 365}, \
  {8192, 365, 367}, \
  {128, 367, 369}, \
  {256, 369, 371}, \
  {512, 371, 373}, \
  {1024, 373, 375}, \
  {2048, 375, 377}, \
  {2880, 377, 379}, \
  {4096, 379, 381}, \
  {5120, 381, 383}, \
  {7168, 383, 385}, \
  {8192, 385, 387}, \
  {128, 387, 389}, \
  {256, 389, 391}, \
  {512, 391, 393}, \
  {1024, 393, 395}, \
  {2048, 395, 398}, \
  {2880, 398, 401}, \
  {4096, 401, 404}, \
  {5120, 404, 407}, \
  {7168, 407, 410}, \
  {8192, 410, 413}, \
  {128, 413, 415}, \
  {256, 415, 417}, \
  {512, 417, 419}, \
  {1024, 419, 421}, \
  {2048, 421, 423}, \
  {2880, 423, 425}, \
  {4096, 425, 427}, \
  {5120, 427, 429}, \
  {7168, 429, 431}, \
  {8192, 431, 433}, \
  {128, 433, 435}, \
  {256, 435, 437}, \
  {512, 437, 439}, \
  {1024, 439, 441}, \
  {2048, 441, 443}, \
  {2880, 443, 445}, \
  {4096, 445, 447}, \
  {5120, 447, 449}, \
  {7168, 449, 451}, \
  {8192, 451, 453}, \
  {128, 453, 455}, \
  {256, 455, 457}, \
  {512, 457, 459}, \
  {1024, 459, 461}, \
  {2048, 461, 463}, \
  {2880, 463, 465}, \
  {4096, 465, 467}, \
  {5120, 467, 469}, \
  {7168, 469, 471}, \
  {8192, 471, 473}, \
  {128, 473, 475}, \
  {256, 475, 477}, \
  {512, 477, 479}, \
  {1024, 479, 481}, \
  {2048, 481, 484}, \
  {2880, 484, 487}, \
  {4096, 487, 490}, \
  {5120, 490, 493}, \
  {7168, 493, 496}, \
  {8192, 496, 499}, \
  {128, 499, 501}, \
  {256, 501, 503}, \
  {512, 503, 505}, \
  {1024, 505, 507}, \
  {2048, 507, 509}, \
  {2880, 509, 511}, \
  {4096, 511, 513}, \
  {5120, 513, 515}, \
  {7168, 515, 517}, \
  {8192, 517, 519}, \
  {128, 519, 521}, \
  {256, 521, 523}, \
  {512, 523, 525}, \
  {1024, 525, 527}, \
  {2048, 527, 529}, \
  {2880, 529, 531}, \
  {4096, 531, 533}, \
  {5120, 533, 535}, \
  {7168, 535, 537}, \
  {8192, 537, 539}, \
  {128, 539, 541}, \
  {256, 541, 543}, \
  {512, 543, 545}, \
  {1024, 545, 547}, \
  {2048, 547, 549}, \
  {2880, 549, 551}, \
  {4096, 551, 553}, \
  {5120, 553, 555}, \
  {7168, 555, 557}, \
  {8192, 557, 559}
#define ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SEGMENTS \
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
  {487474, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {450331, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {458346, Strategy::kTwoshotPush}, \
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
  {584095, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {590124, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {565525, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {578076, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {578655, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {608946, Strategy::kTwoshotPush}, \
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
  {1048577, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {930484, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {897329, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {868449, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {931841, Strategy::kTwoshotPush}, \
  {0, Strategy::kOneshot}, \
  {917505, Strategy::kTwoshotPush}, \
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

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_96df7c0c9ed059bb

#undef ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_96df7c0c9ed059bb;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_96DF7C0C9ED059BB_H
