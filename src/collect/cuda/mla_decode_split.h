// How the decoding of MLA distributes its work: query heads and keys to blocks, and a tile of fp8
// to lanes. This is plain arithmetic, which is tested without a GPU.
#pragma once

#include <algorithm>
#include <cstdint>

namespace assay::collect::mla {

inline constexpr int kHeadDim = 576;   // a key: the latent and the rotated part
inline constexpr int kValueDim = 512;  // a value: the latent
inline constexpr int kTileKeys = 64;   // keys that a block works on at a time
inline constexpr int kMostHeads = 64;  // query heads of a block
inline constexpr int kMostSplits = 256;

// Products have 8, 16, 32 or 64 columns, one for each head. Heads that do not exist are zeros.
constexpr int heads_of_block(std::int64_t heads) {
  int columns = 8;
  while (columns < heads && columns < kMostHeads)
    columns *= 2;
  return columns;
}

constexpr std::int64_t head_blocks(std::int64_t heads) {
  return (heads + kMostHeads - 1) / kMostHeads;
}

constexpr std::int64_t tiles_of(std::int64_t keys) {
  return (keys + kTileKeys - 1) / kTileKeys;
}

// The time of `splits` parts of each sequence, in tiles of one block. A part costs as much as two
// more tiles (H200): its first tile takes the latency of the memory, and its sums are written and
// joined.
constexpr std::int64_t time_of_splits(std::int64_t splits,
                                      std::int64_t groups,
                                      std::int64_t tiles,
                                      std::int64_t processors) {
  constexpr std::int64_t kPartTiles = 2;
  const std::int64_t rounds = (groups * splits + processors - 1) / processors;
  return rounds * ((tiles + splits - 1) / splits + kPartTiles);
}

// The number of parts into which the keys of each sequence are split. There are `groups` blocks
// without splits. One block keeps a multiprocessor's share of the memory busy, so that a second one
// on the same multiprocessor is as good as a second round.
constexpr std::int64_t splits_for(std::int64_t groups,
                                  std::int64_t tiles,
                                  std::int64_t processors) {
  std::int64_t best = 1;
  for (std::int64_t splits = 2; splits <= std::min<std::int64_t>(tiles, kMostSplits); ++splits) {
    if (time_of_splits(splits, groups, tiles, processors) <
        time_of_splits(best, groups, tiles, processors))
      best = splits;
  }
  return best;
}

// Whether the blocks of a sequence join its parts themselves, as they can where all run at a time.
// With fewer parts, each has so much to join that a second kernel with more blocks is as fast or
// faster (H200: 64 x 1024 tokens in 2 parts, 32 heads, take 33 us with it and 45 without).
constexpr bool joins_itself(std::int64_t splits, std::int64_t groups, std::int64_t processors) {
  constexpr std::int64_t kFewestParts = 16;
  return splits >= kFewestParts && groups * splits <= processors;
}

// The tiles of a part: first <= tile < last. No part is empty unless there are more parts than
// tiles.
struct TileRange {
  int first = 0;
  int last = 0;
};

constexpr TileRange tiles_of_part(int tiles, int part, int parts) {
  const int of_each = tiles / parts;
  const int longer = tiles % parts;  // the number of parts that have one more tile
  const int first = part * of_each + std::min(part, longer);
  return {.first = first, .last = first + of_each + (part < longer ? 1 : 0)};
}

// The order of a tile's keys and of the latent's elements is free. With fp8 it is such that a lane
// reads numbers that lie side by side, and lanes that are served together read different banks.

// The key of row `row` of 8 rows of S^T, and of as many summands of O^T.
constexpr int fp8_key_of_row(int row) {
  return row % 2 * 4 + row / 2;
}

// A lane's eight columns of the output, which are half of 16 bytes of a key. `group` is 0 or 1, and
// `row` is lane / 4.
struct Fp8Columns {
  int box = 0;    // of 128 columns
  int chunk = 0;  // of 16 columns
  int half = 0;
};

constexpr Fp8Columns fp8_columns(int group, int warp, int row) {
  return {.box = group * 2 + warp / 2,
          .chunk = row % 2 * 4 + warp % 2 * 2 + row / 4,
          .half = row / 2 % 2};
}

// The place of 16 bytes of a key in a box, whose rows of 128 bytes the copy engine swizzles.
constexpr int swizzled_place(int key, int chunk) {
  return key * 128 + (chunk ^ (key % 8)) * 16;
}

}  // namespace assay::collect::mla
