// All-reduce strategies for SM 90, for calls launched by CUDA graphs.
// Made by assay allreduce codegen; do not edit. Measured on:
// NVIDIA H200, CUDA 13.0, NCCL 2.28.3, 2026-11-28, of 6000 times in benchmark.tp2.sm90.csv benchmark.tp4.sm90.csv.

#ifndef ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H
#define ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H

#include <cstdint>

#if defined(__CUDACC__)
#define ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION __host__ __device__ constexpr
#else
#define ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION constexpr
#endif

namespace allreduce_table_sm90_graph_69632fe34192ff85 {

// Below 100 the numbers are TensorRT-LLM's.
enum class Strategy : std::uint8_t {
  kOneshot = 4,
  kTwoshotPush = 100,
  kTwoshot = 5,
  kNcclSymmetric = 8,
  kNccl = 0,
};

ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION const char* name_of(Strategy strategy) {
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

#define ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SLICES \
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
#define ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_ROWS \
  {128, 0, 1}, \
  {256, 1, 2}, \
  {512, 2, 3}, \
  {1024, 3, 4}, \
  {2048, 4, 5}, \
  {2880, 5, 6}, \
  {4096, 6, 7}, \
  {5120, 7, 8}, \
  {7168, 8, 9}, \
  {8192, 9, 10}, \
  {128, 10, 11}, \
  {256, 11, 12}, \
  {512, 12, 13}, \
  {1024, 13, 14}, \
  {2048, 14, 15}, \
  {2880, 15, 16}, \
  {4096, 16, 17}, \
  {5120, 17, 18}, \
  {7168, 18, 19}, \
  {8192, 19, 20}, \
  {128, 20, 21}, \
  {256, 21, 22}, \
  {512, 22, 23}, \
  {1024, 23, 24}, \
  {2048, 24, 25}, \
  {2880, 25, 26}, \
  {4096, 26, 27}, \
  {5120, 27, 28}, \
  {7168, 28, 29}, \
  {8192, 29, 30}, \
  {128, 30, 31}, \
  {256, 31, 32}, \
  {512, 32, 33}, \
  {1024, 33, 34}, \
  {2048, 34, 35}, \
  {2880, 35, 36}, \
  {4096, 36, 37}, \
  {5120, 37, 38}, \
  {7168, 38, 39}, \
  {8192, 39, 40}, \
  {128, 40, 42}, \
  {256, 42, 44}, \
  {512, 44, 46}, \
  {1024, 46, 48}, \
  {2048, 48, 50}, \
  {2880, 50, 53}, \
  {4096, 53, 56}, \
  {5120, 56, 59}, \
  {7168, 59, 62}, \
  {8192, 62, 65}, \
  {128, 65, 67}, \
  {256, 67, 69}, \
  {512, 69, 71}, \
  {1024, 71, 73}, \
  {2048, 73, 75}, \
  {2880, 75, 77}, \
  {4096, 77, 79}, \
  {5120, 79, 81}, \
  {7168, 81, 83}, \
  {8192, 83, 85}, \
  {128, 85, 87}, \
  {256, 87, 89}, \
  {512, 89, 91}, \
  {1024, 91, 93}, \
  {2048, 93, 95}, \
  {2880, 95, 97}, \
  {4096, 97, 99}, \
  {5120, 99, 101}, \
  {7168, 101, 103}, \
  {8192, 103, 105}, \
  {128, 105, 107}, \
  {256, 107, 109}, \
  {512, 109, 111}, \
  {1024, 111, 113}, \
  {2048, 113, 115}, \
  {2880, 115, 117}, \
  {4096, 117, 119}, \
  {5120, 119, 121}, \
  {7168, 121, 123}, \
  {8192, 123, 125}, \
  {128, 125, 127}, \
  {256, 127, 129}, \
  {512, 129, 131}, \
  {1024, 131, 133}, \
  {2048, 133, 135}, \
  {2880, 135, 138}, \
  {4096, 138, 141}, \
  {5120, 141, 144}, \
  {7168, 144, 147}, \
  {8192, 147, 150}, \
  {128, 150, 152}, \
  {256, 152, 154}, \
  {512, 154, 156}, \
  {1024, 156, 158}, \
  {2048, 158, 160}, \
  {2880, 160, 162}, \
  {4096, 162, 164}, \
  {5120, 164, 166}, \
  {7168, 166, 168}, \
  {8192, 168, 170}, \
  {128, 170, 172}, \
  {256, 172, 174}, \
  {512, 174, 176}, \
  {1024, 176, 178}, \
  {2048, 178, 180}, \
  {2880, 180, 182}, \
  {4096, 182, 184}, \
  {5120, 184, 186}, \
  {7168, 186, 188}, \
  {8192, 188, 190}, \
  {128, 190, 192}, \
  {256, 192, 194}, \
  {512, 194, 196}, \
  {1024, 196, 198}, \
  {2048, 198, 200}, \
  {2880, 200, 202}, \
  {4096, 202, 204}, \
  {5120, 204, 208}, \
  {7168, 208, 210}, \
  {8192, 210, 212}, \
  {128, 212, 214}, \
  {256, 214, 216}, \
  {512, 216, 218}, \
  {1024, 218, 220}, \
  {2048, 220, 222}, \
  {2880, 222, 225}, \
  {4096, 225, 228}, \
  {5120, 228, 231}, \
  {7168, 231, 234}, \
  {8192, 234, 237}, \
  {128, 237, 239}, \
  {256, 239, 241}, \
  {512, 241, 243}, \
  {1024, 243, 245}, \
  {2048, 245, 247}, \
  {2880, 247, 249}, \
  {4096, 249, 251}, \
  {5120, 251, 253}, \
  {7168, 253, 255}, \
  {8192, 255, 257}, \
  {128, 257, 259}, \
  {256, 259, 261}, \
  {512, 261, 263}, \
  {1024, 263, 265}, \
  {2048, 265, 267}, \
  {2880, 267, 269}, \
  {4096, 269, 271}, \
  {5120, 271, 273}, \
  {7168, 273, 275}, \
  {8192, 275, 277}, \
  {128, 277, 279}, \
  {256, 279, 281}, \
  {512, 281, 283}, \
  {1024, 283, 285}, \
  {2048, 285, 287}, \
  {2880, 287, 289}, \
  {4096, 289, 291}, \
  {5120, 291, 293}, \
  {7168, 293, 295}, \
  {8192, 295, 297}, \
  {128, 297, 299}, \
  {256, 299, 301}, \
  {512, 301, 303}, \
  {1024, 303, 305}, \
  {2048, 305, 307}, \
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
  {2048, 390, 392}, \
  {2880, 392, 395}, \
  {4096, 395, 398}, \
  {5120, 398, 401}, \
  {7168, 401, 404}, \
  {8192, 404, 407}, \
  {128, 407, 409}, \
  {256, 409, 411}, \
  {512, 411, 413}, \
  {1024, 413, 415}, \
  {2048, 415, 417}, \
  {2880, 417, 419}, \
  {4096, 419, 421}, \
  {5120, 421, 423}, \
  {7168, 423, 425}, \
  {8192, 425, 427}, \
  {128, 427, 429}, \
  {256, 429, 431}, \
  {512, 431, 433}, \
  {1024, 433, 435}, \
  {2048, 435, 437}, \
  {2880, 437, 439}, \
  {4096, 439, 441}, \
  {5120, 441, 443}, \
  {7168, 443, 445}, \
  {8192, 445, 447}, \
  {128, 447, 449}, \
  {256, 449, 451}, \
  {512, 451, 453}, \
  {1024, 453, 455}, \
  {2048, 455, 457}, \
  {2880, 457, 459}, \
  {4096, 459, 461}, \
  {5120, 461, 463}, \
  {7168, 463, 465}, \
  {8192, 465, 467}, \
  {128, 467, 469}, \
  {256, 469, 471}, \
  {512, 471, 473}, \
  {1024, 473, 475}, \
  {2048, 475, 477}, \
  {2880, 477, 480}, \
  {4096, 480, 483}, \
  {5120, 483, 486}, \
  {7168, 486, 489}, \
  {8192, 489, 492}, \
  {128, 492, 494}, \
  {256, 494, 496}, \
  {512, 496, 498}, \
  {1024, 498, 500}, \
  {2048, 500, 502}, \
  {2880, 502, 504}, \
  {4096, 504, 506}, \
  {5120, 506, 508}, \
  {7168, 508, 510}, \
  {8192, 510, 512}, \
  {128, 512, 514}, \
  {256, 514, 516}, \
  {512, 516, 518}, \
  {1024, 518, 520}, \
  {2048, 520, 522}, \
  {2880, 522, 524}, \
  {4096, 524, 526}, \
  {5120, 526, 528}, \
  {7168, 528, 530}, \
  {8192, 530, 532}, \
  {128, 532, 534}, \
  {256, 534, 536}, \
  {512, 536, 538}, \
  {1024, 538, 540}, \
  {2048, 540, 542}, \
  {2880, 542, 544}, \
  {4096, 544, 546}, \
  {5120, 546, 548}, \
  {7168, 548, 550}, \
  {8192, 550, 552}
#define ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SEGMENTS \
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
  {68285448, Strategy::kTwoshot}, \
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
  {60497216, Strategy::kTwoshot}, \
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
  {131880, Strategy::kTwoshotPush}, \
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
  {130984, Strategy::kTwoshotPush}, \
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
  {131592, Strategy::kTwoshotPush}, \
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
  {112952, Strategy::kTwoshotPush}, \
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
  {46249745, Strategy::kTwoshot}, \
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
  {81454, Strategy::kTwoshotPush}, \
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
  {65345, Strategy::kTwoshotPush}, \
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
  {64251, Strategy::kTwoshotPush}, \
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

inline constexpr Slice kSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SLICES};
inline constexpr Row kRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_ROWS};
inline constexpr Segment kSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SEGMENTS};
#if defined(__CUDACC__)
static __device__ constexpr Slice kDeviceSlices[] = {ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SLICES};
static __device__ constexpr Row kDeviceRows[] = {ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_ROWS};
static __device__ constexpr Segment kDeviceSegments[] = {ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SEGMENTS};
#endif
#undef ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SLICES
#undef ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_ROWS
#undef ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_SEGMENTS

ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION const Slice& slice(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSlices[index];
#else
  return kSlices[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION const Row& row(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceRows[index];
#else
  return kRows[index];
#endif
}

ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION const Segment& segment(int index) {
#if defined(__CUDA_ARCH__)
  return kDeviceSegments[index];
#else
  return kSegments[index];
#endif
}

// Returns whether b is nearer to `wanted` than a by ratio; the larger one wins a tie. The numbers
// of the table are at most 2^28, so products fit.
ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION bool is_nearer(std::int64_t b, std::int64_t a, std::int64_t wanted) {
  const std::int64_t low = a < b ? a : b;
  const std::int64_t high = a < b ? b : a;
  if (wanted <= low) return b < a;
  if (wanted >= high) return b > a;
  return (wanted * wanted < low * high) == (b < a);
}

ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION bool is_better(const Slice& b,
                              const Slice& a,
                              std::int64_t world_size,
                              DataType data_type) {
  if (a.world_size != b.world_size) return is_nearer(b.world_size, a.world_size, world_size);
  if (a.data_type == data_type) return false;
  return b.data_type == data_type || b.data_type < a.data_type;
}

}  // namespace detail

// Returns the size of a message, or INT64_MAX if it overflows. Counts below 1 are taken as 1.
ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION std::int64_t message_bytes(std::int64_t num_tokens,
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
ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION Match find(std::int64_t world_size,
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

ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION Strategy lookup(std::int64_t world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) {
  return find(world_size, fusion, data_type, hidden_size, num_tokens).strategy;
}

// Returns the least microseconds that NVLink 4, at 450 GB/s, needs for what a GPU sends: (N-1) S
// with ONESHOT, 2 (N-1)/N S with all others. No time is below it, extrapolated or not.
ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION double link_limit_us(Strategy strategy, int world_size, std::int64_t size_bytes) {
  const double sent = strategy == Strategy::kOneshot ? world_size - 1.0
                                                     : 2.0 * (world_size - 1.0) / world_size;
  return sent * static_cast<double>(size_bytes) / 450e3;
}

}  // namespace allreduce_table_sm90_graph_69632fe34192ff85

#undef ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H_FUNCTION

#if !defined(ALLREDUCE_TABLE_NO_ALIAS)
namespace allreduce_table_sm90_graph = ::allreduce_table_sm90_graph_69632fe34192ff85;
#endif

#endif  // ALLREDUCE_TABLE_SM90_GRAPH_69632FE34192FF85_H
