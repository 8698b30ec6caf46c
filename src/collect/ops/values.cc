#include "collect/ops/values.h"

#include <algorithm>

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

// The time rises in steps over the tokens, because of tiles and waves: these are the points on both
// sides of each step.
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

// Libraries go from one kernel to another between two sizes, the more often the fewer tokens there
// are for a tile. All weights have the same sizes, so that one curve tells of the others.
std::vector<model::PerfValue> model_tokens() {
  return integers({1,   2,   4,   8,   16,  32,  64,  80,   96,   112,  128,  160,  192,  224, 256,
                   320, 384, 448, 512, 640, 768, 896, 1024, 1536, 2048, 3072, 4096, 6144, 8192});
}

}  // namespace

std::vector<model::PerfValue> integers(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<model::PerfValue> texts(std::initializer_list<const char*> values) {
  std::vector<model::PerfValue> made;
  for (const char* value : values)
    made.emplace_back(std::string(value));
  return made;
}

std::vector<model::PerfValue> powers(std::int64_t first, std::int64_t last, std::int64_t factor) {
  std::vector<model::PerfValue> made;
  for (std::int64_t value = first; value <= last; value *= factor)
    made.emplace_back(value);
  return made;
}

std::vector<model::PerfValue> decoding_steps(std::int64_t factor) {
  constexpr std::int64_t kLongest = 131072;
  std::vector<model::PerfValue> made;
  for (std::int64_t length = 2; length <= kLongest; length *= factor)
    made.emplace_back(length - 1);
  return made;
}

std::vector<model::PerfValue> decoding_steps_for_models() {
  return integers({1, 127, 1023, 4095, 8191, 32767, 131071});
}

std::vector<model::PerfValue> joined(std::vector<model::PerfValue> first,
                                     const std::vector<model::PerfValue>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

AxisGroup::Rows integer_rows(std::initializer_list<std::initializer_list<std::int64_t>> rows) {
  AxisGroup::Rows made;
  for (const auto& row : rows)
    made.push_back(integers(row));
  return made;
}

std::vector<model::PerfValue> column_of(const AxisGroup::Rows& rows, std::size_t column) {
  std::vector<model::PerfValue> made;
  for (const auto& row : rows) {
    if (std::find(made.begin(), made.end(), row[column]) == made.end()) {
      made.push_back(row[column]);
    }
  }
  return made;
}

std::vector<model::PerfField> key_of(const Case& point) {
  std::vector<model::PerfField> made;
  for (std::size_t i = 0; i < point.values().size(); ++i) {
    made.push_back({point.op().axes[i].column, point.values()[i]});
  }
  return made;
}

std::vector<model::PerfValue> gemm_tokens(Grid grid) {
  if (grid == Grid::kFine) return fine_tokens();
  if (grid == Grid::kCommon) return common_tokens();
  if (grid == Grid::kModels) return model_tokens();
  return integers({1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 8192});
}

std::vector<model::PerfValue> gemm_widths(Grid grid) {
  if (grid == Grid::kFine) return joined(common_widths(), integers({51200}));
  if (grid == Grid::kCommon) return common_widths();
  return integers({64, 256, 1024, 2048, 4096, 8192, 16384, 65536});
}

}  // namespace assay::collect
