#include "collect/ops/gemm_sizes.h"

#include "collect/ops/values.h"

namespace assay::collect {
namespace {

std::vector<model::PerfValue> common_tokens() {
  return integers({1,   2,   4,   8,   16,  32,  48,   64,   80,   96,  128,
                   160, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192});
}

std::vector<model::PerfValue> common_widths() {
  return integers({32,   64,   128,  256,  512,  768,  1024,  1536,  2048,  2560, 3072,
                   3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 16384, 65536});
}

// Tiles and waves make steps in the tokens: these are the points at both sides of each.
std::vector<model::PerfValue> fine_tokens() {
  std::vector<model::PerfValue> made;
  const auto add_edge = [&](std::int64_t edge) {
    made.emplace_back(edge);
    made.emplace_back(edge + 1);
  };
  for (std::int64_t tokens = 1; tokens <= 17; ++tokens)
    made.emplace_back(tokens);
  for (const std::int64_t edge : {32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512, 768}) {
    add_edge(edge);
  }
  for (std::int64_t edge = 1024; edge <= 4352; edge += 256)
    add_edge(edge);
  return joined(std::move(made), powers(8192, 32768));
}

}  // namespace

std::vector<model::PerfValue> gemm_tokens(Grid grid) {
  if (grid == Grid::kFine) return fine_tokens();
  if (grid == Grid::kCommon) return common_tokens();
  return integers({1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 8192});
}

std::vector<model::PerfValue> gemm_widths(Grid grid) {
  if (grid == Grid::kFine) return joined(common_widths(), integers({51200}));
  if (grid == Grid::kCommon) return common_widths();
  return integers({64, 256, 1024, 2048, 4096, 8192, 16384, 65536});
}

}  // namespace assay::collect
