// The tiles in which a grouped product takes the rows of a mixture's experts.
#pragma once

#include <array>
#include <cstdint>

namespace assay::collect {

// The tokens of a tile. A tile with fewer takes the smallest of kTileWidths that holds them.
inline constexpr int kTileTokens = 128;
inline constexpr std::array<int, 4> kTileWidths = {16, 32, 64, 128};

// Some rows of an expert. The tiles of an expert follow each other.
struct alignas(16) GroupedTile {
  std::int32_t expert;
  std::int32_t row;    // the first of the tile, among the rows of all experts
  std::int32_t rows;   // at most kTileTokens
  std::int32_t first;  // the expert's first tile
  std::int32_t tiles;  // the number of the expert's tiles
  std::int32_t begin;  // the expert's first row
  std::int32_t end;    // and where the next expert's begin
  std::int32_t unused;
};

// Where a row of an expert goes, and its factor there.
struct alignas(8) RowShare {
  std::int32_t token;
  float share;
};

// The number of tiles that these rows may have at most.
constexpr std::int64_t most_tiles(std::int64_t rows, std::int64_t experts) {
  return rows / kTileTokens + experts;
}

}  // namespace assay::collect
