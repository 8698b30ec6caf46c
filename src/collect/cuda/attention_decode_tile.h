// How the decoding kernel distributes its work: keys to blocks, and the numbers of a tile of 16
// keys to the lanes of a warp. This is plain arithmetic, which is tested without a GPU.
//
// A tile's scores are products m16n8k16 of tensor cores, S [16 heads, 8 keys] = Q [16, 16] K^T, and
// its output is O [16 heads, 8 columns] += P [16, 16 keys] V. The order of the summands of a
// product is free, as long as both factors have the same order, and so is the order of its columns.
// The orders here make a lane's numbers lie side by side: it reads 16 bytes of a key, and as many
// of a value. Another lane may copy them from the cache. A number of the cache has one byte (fp8)
// or two (bfloat16), and a row, the key or the value of a head, `row_bytes`.
#pragma once

#include <algorithm>
#include <cstdint>

namespace assay::collect::decode {

inline constexpr int kLanes = 32;
inline constexpr int kTileKeys = 16;
inline constexpr int kTileRows = 16;     // query heads of one head of keys in a product
inline constexpr int kWarps = 4;         // warps of a block, each with its own tiles
inline constexpr int kKeyChunk = 64;     // bytes of a key that four lanes load at a time
inline constexpr int kMostSplits = 256;  // parts of a sequence's keys

// The number of tiles of query heads for which a block reads its keys once. Registers limit it.
constexpr int row_tiles_of_block(std::int64_t group, std::int64_t head_dim) {
  return group > kTileRows && head_dim <= 128 ? 2 : 1;
}

// The bytes of a value that a lane loads at a time. Eight lanes load those of a row.
constexpr int value_bytes(int row_bytes) {
  return row_bytes % 128 == 0 ? 16 : 8;
}

// The place in a row of the 16 bytes of key lane / 4 + 8 half that a lane takes for its scores.
constexpr int loaded_key_byte(int lane, int chunk) {
  return chunk * kKeyChunk + lane % 4 * 16;
}

// The 16 bytes of a row of a tile that a lane copies at a time.
struct Piece {
  int key = 0;
  int byte = 0;
};

// The i-th piece of a lane. Eight neighbours copy 128 bytes that lie together, because the L2 cache
// needs as long for a part of a line as for a line.
constexpr Piece copied_piece(int lane, int i, int row_bytes) {
  const int pieces = row_bytes / 16;  // pieces in a row
  const int at = i * kLanes + lane;
  return {.key = at / pieces, .byte = at % pieces * 16};
}

// The places of a tile's keys and values in shared memory. Each lane's bytes of a load have a slot,
// in an order in which neither copies nor loads have bank conflicts.

// The place of the 16 bytes of key lane / 4 + 8 half.
constexpr int key_place(int lane, int half, int chunk, int row_bytes) {
  const int chunks = row_bytes / kKeyChunk;
  return ((half * chunks + chunk) * kLanes + (lane ^ (chunk % 2 * 4))) * 16;
}

constexpr int key_place_of(const Piece& piece, int row_bytes) {
  const int lane = piece.key % 8 * 4 + piece.byte % kKeyChunk / 16;
  return key_place(lane, piece.key / 8, piece.byte / kKeyChunk, row_bytes);
}

// The place of the values of key score_key(lane, i / 2, i % 2). The lane that has a weight also
// reads the weight's values.
constexpr int value_place(int lane, int i, int chunk, int row_bytes) {
  const int width = value_bytes(row_bytes);
  const int chunks = row_bytes / (8 * width);
  const int keys = lane % 4;
  const int slot = keys * 8 + ((lane / 4) ^ (keys * 2));
  return ((i * chunks + chunk) * kLanes + slot) * width;
}

constexpr int value_place_of(const Piece& piece, int row_bytes) {
  const int width = value_bytes(row_bytes);
  const int lane = piece.byte / width % 8 * 4 + piece.key % 8 / 2;
  const int i = piece.key / 8 * 2 + piece.key % 2;
  return value_place(lane, i, piece.byte / (8 * width), row_bytes);
}

// The key of score `i` (0 to 3) of a lane; scores 0 and 1 belong to row lane / 4, the others 8 rows
// below.
constexpr int score_key(int lane, int half, int i) {
  return half * 8 + lane % 4 * 2 + i % 2;
}

// The column of number `i` (0 to 3) of a lane in the output's product `tile` of 8 columns.
constexpr int output_column(int lane, int tile, int i, int head_dim, int number_bytes) {
  const int width = value_bytes(head_dim * number_bytes) / number_bytes;
  return (tile / width * 8 + lane % 4 * 2 + i % 2) * width + tile % width;
}

// The places of a warp's sums of a row in shared memory, and the number of words of a row. One word
// is left out after every 32, so that the lanes of a warp write to different banks.
constexpr int sum_place(int column) {
  return column + column / 32;
}

constexpr int sum_words(int head_dim) {
  return sum_place(head_dim);
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The time of a launch depends on these, beside its keys.
struct Machine {
  std::int64_t processors = 0;
  std::int64_t blocks = 0;  // that a multiprocessor runs at a time
  int row_bytes = 0;
  int number_bytes = 1;  // of a number of the cache
};

// A division distributes the keys of a group, which is a head of keys of a sequence. `sharers`
// warps share a part: those of a block, or one, where every warp has a group of its own.
struct Division {
  std::int64_t sharers = kWarps;
  std::int64_t splits = 1;  // parts of a group's keys
};

// The time of so many warps with so many tiles each, in that of a tile. Warps that begin and end
// take two tiles longer. The memory keeps up with so many warps of a multiprocessor; where more run
// together, each takes longer. fp8 becomes halves in registers, so that more warps are needed.
// Fitted to 35 shapes with 12 divisions each, and judged on the shapes of all models (H200,
// docs/performance.md).
constexpr double time_of(std::int64_t warps, std::int64_t tiles, const Machine& machine) {
  constexpr double kEnds = 2;
  const double fed_warps = machine.row_bytes > 128 && machine.number_bytes > 1 ? 3.0 : 6.5;
  const auto fed = fed_warps * static_cast<double>(machine.processors);
  const std::int64_t at_once = machine.processors * machine.blocks * kWarps;
  const std::int64_t rounds = warps / at_once;
  const std::int64_t rest = warps % at_once;
  double slowed = static_cast<double>(rounds) * std::max(1.0, static_cast<double>(at_once) / fed);
  if (rest > 0) slowed += std::max(1.0, static_cast<double>(rest) / fed);
  return slowed * (kEnds + static_cast<double>(tiles));
}

// The time of the kernel that joins the parts of so many outputs. It begins and ends, and has a
// block of few threads for each of them.
constexpr double time_of_joining(std::int64_t outputs, const Machine& machine) {
  constexpr double kOutputsOfProcessor = 8;  // in the time of a tile
  return 2 + static_cast<double>(outputs) /
                 (kOutputsOfProcessor * static_cast<double>(machine.processors));
}

// The fastest division of `groups` of `rows` query heads each over so many tiles of keys. A group
// with a single tile has nothing to share, but the few rows of few groups are joined at once.
constexpr Division division_for(std::int64_t groups,
                                std::int64_t rows,
                                std::int64_t tiles,
                                const Machine& machine) {
  constexpr std::int64_t kFewRows = 4;
  const bool are_few = rows <= kFewRows && groups <= machine.processors * machine.blocks;
  if (tiles == 1) return {.sharers = are_few ? kWarps : 1};
  const double joining = time_of_joining(groups * rows, machine);
  const std::int64_t steps = ceil_div(tiles, kWarps);
  Division best;
  double least = time_of(groups * kWarps, steps, machine);
  for (std::int64_t splits = 2; splits <= std::min<std::int64_t>(steps, kMostSplits); ++splits) {
    const double time =
        time_of(groups * splits * kWarps, ceil_div(steps, splits), machine) + joining;
    if (time >= least) continue;
    least = time;
    best.splits = splits;
  }
  if (time_of(groups, tiles, machine) < least) return {.sharers = 1};
  return best;
}

// The tiles of a part: first <= tile < last.
struct TileRange {
  int first = 0;
  int last = 0;
};

// The tiles of one of `parts` parts of the keys begin <= key < end. No part is empty unless there
// are more parts than tiles.
constexpr TileRange tiles_of_part(int begin, int end, int part, int parts) {
  const int first = begin / kTileKeys;
  const int count = (end + kTileKeys - 1) / kTileKeys - first;
  const int of_each = count / parts;
  const int longer = count % parts;  // the number of parts that have one more tile
  const int begins = first + part * of_each + std::min(part, longer);
  return {.first = begins, .last = begins + of_each + (part < longer ? 1 : 0)};
}

}  // namespace assay::collect::decode
