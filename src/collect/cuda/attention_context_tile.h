// How the attention of new tokens in fp8 distributes its work: queries of a head to tiles, and
// tiles to blocks. This is plain arithmetic, which is tested without a GPU.
#pragma once

#include <cstdint>

namespace assay::collect::context {

inline constexpr int kTileKeys = 128;

// Shapes of an attention whose last query belongs to its last key.
struct Shape {
  int batch = 1;
  int queries = 1;
  int keys = 1;
  int heads = 1;
  int kv_heads = 1;
  int window = 0;  // 0: all keys
  bool causal = true;
  int tile_queries = 128;
};

struct Tile {
  int batch = 0;
  int head = 0;
  int first_query = 0;
};

constexpr int tiles_of_head(const Shape& shape) {
  return (shape.queries + shape.tile_queries - 1) / shape.tile_queries;
}

constexpr int tiles_of(const Shape& shape) {
  return shape.batch * shape.heads * tiles_of_head(shape);
}

// The tiles in order of their work: those of the last queries, which see most keys, come first.
// Neighbours have the same keys as far as possible.
constexpr Tile tile_at(const Shape& shape, int place) {
  const int heads = shape.batch * shape.heads;
  return {.batch = place % heads / shape.heads,
          .head = place % shape.heads,
          .first_query = (tiles_of_head(shape) - 1 - place / heads) * shape.tile_queries};
}

// The place of a block's tile number `round`. Every other round is dealt backwards, so that no
// block has the longer tile of every round.
constexpr int place_of(int round, int block, int blocks) {
  return round * blocks + (round % 2 == 0 ? block : blocks - 1 - block);
}

// The keys that a query sees: begin <= key < end.
struct Keys {
  int begin = 0;
  int end = 0;
};

constexpr Keys keys_of(const Shape& shape, int query) {
  const int own = query + shape.keys - shape.queries;
  Keys keys{.begin = 0, .end = shape.keys};
  if (shape.causal || shape.window > 0) keys.end = own + 1;
  if (shape.window > 0 && own >= shape.window) keys.begin = own - shape.window + 1;
  return keys;
}

// The tiles of keys that some query of a tile sees: first <= tile < last.
struct KeyTiles {
  int first = 0;
  int last = 0;

  [[nodiscard]] constexpr int count() const { return last - first; }
};

constexpr KeyTiles key_tiles_of(const Shape& shape, int first_query) {
  const int behind = first_query + shape.tile_queries;
  const int last_query = (behind < shape.queries ? behind : shape.queries) - 1;
  return {.first = keys_of(shape, first_query).begin / kTileKeys,
          .last = (keys_of(shape, last_query).end + kTileKeys - 1) / kTileKeys};
}

// The time of a launch on this many multiprocessors, by what a step over a tile of keys takes, and
// what a tile of queries takes besides.
constexpr std::int64_t time_of_tiles(const Shape& shape, int processors, int step, int ends) {
  std::int64_t of_head = 0;
  std::int64_t longest = 0;
  for (int first = 0; first < shape.queries; first += shape.tile_queries) {
    const std::int64_t time = std::int64_t{step} * key_tiles_of(shape, first).count() + ends;
    of_head += time;
    longest = time > longest ? time : longest;
  }
  const std::int64_t shared = of_head * shape.batch * shape.heads / processors;
  return shared > longest ? shared : longest;
}

// The queries of a tile: 64 for each of two warp groups. Heads of 64 leave registers for a third
// one, which is faster for long prompts: a step then takes 7 / 6 of the time for 3 / 2 of the
// queries, but a tile's other work longer (H200).
constexpr int tile_queries_of(Shape shape, int head_dim, int processors) {
  shape.tile_queries = 128;
  const std::int64_t of_two = time_of_tiles(shape, processors, 6, 9);
  shape.tile_queries = 192;
  return head_dim == 64 && time_of_tiles(shape, processors, 7, 28) < of_two ? 192 : 128;
}

// Returns whether some of the queries first <= query <= last do not see some of a tile's keys.
constexpr bool needs_mask(const Shape& shape, int first, int last, int key_tile) {
  const int key = key_tile * kTileKeys;
  return key < keys_of(shape, last).begin || key + kTileKeys > keys_of(shape, first).end;
}

// The queries are the rows of both products, and a product's sums become the other's left factor in
// registers. There a lane has four keys in turn where the sums gave it two and two, so that the
// transposed values have the keys in this order: the key at place `place` of 32.
constexpr int key_at(int place) {
  return place / 16 * 16 + place % 4 / 2 * 8 + place % 16 / 4 * 2 + place % 2;
}

}  // namespace assay::collect::context
