// Several generated tables in one program: the answers of the dispatcher for each of its tables,
// and those of a table that only another source knows, are compared with a file, one byte for each
// point of the grid in grid.h. Compiled by src/allreduce/codegen/header_test.cc.
#include <cstddef>
#include <cstdio>
#include <vector>

#include "allreduce_tables.h"
#include "first_table.h"
#include "grid.h"

namespace tables = allreduce_tables;

int answer_of_other(long long world_size,
                    long long fusion,
                    long long data_type,
                    long long hidden_size,
                    long long num_tokens);

static int byte_of(const tables::Match& match) {
  return static_cast<int>(match.strategy) | (match.is_extrapolated ? 128 : 0) |
         (match.is_measured ? 16 : 0);
}

struct Key {
  int sm_version;
  tables::Launch launch;
};

// SM 103 has no table: that of SM 100 answers, and nothing was measured on it.
constexpr Key kKeys[] = {{90, tables::Launch::kGraph},
                         {90, tables::Launch::kEager},
                         {103, tables::Launch::kGraph},
                         {90, tables::Launch::kIsolated}};

static_assert(
    tables::find(
        80, tables::Launch::kEager, 2, tables::Fusion::kNone, tables::DataType::kBfloat16, 4096, 1)
        .sm_version == 90);

// The switches of SM 90 may sum what NCCL sends; the links of SM 100 are twice as fast.
namespace sm90 = allreduce_table_sm90_graph;
namespace sm100 = allreduce_table_sm100_graph;
static_assert(sm90::link_limit_us(sm90::Strategy::kOneshot, 8, 450000) == 7);
static_assert(sm90::link_limit_us(sm90::Strategy::kNccl, 8, 450000) == 1);
static_assert(sm100::link_limit_us(sm100::Strategy::kTwoshot, 8, 450000) == 0.875);

static int answer_of(std::size_t table,
                     long long world_size,
                     long long fusion,
                     long long data_type,
                     long long hidden_size,
                     long long num_tokens) {
  if (table == 4) return answer_of_other(world_size, fusion, data_type, hidden_size, num_tokens);
  const tables::Match match = tables::find(
      kKeys[table].sm_version, kKeys[table].launch, world_size, static_cast<tables::Fusion>(fusion),
      static_cast<tables::DataType>(data_type), hidden_size, num_tokens);
  return byte_of(match);
}

static int compare(std::FILE* file, std::size_t table) {
  for (const long long world_size : kWorldSizes) {
    for (const long long fusion : kFusions) {
      for (const long long data_type : kDataTypes) {
        for (const long long hidden_size : kSizes) {
          for (const long long num_tokens : kSizes) {
            const int expected = std::fgetc(file);
            const int actual =
                answer_of(table, world_size, fusion, data_type, hidden_size, num_tokens);
            if (actual == expected) continue;
            std::printf(
                "table %zu: tp %lld fusion %lld type %lld hidden %lld tokens %lld: %d, not %d\n",
                table, world_size, fusion, data_type, hidden_size, num_tokens, actual, expected);
            return 1;
          }
        }
      }
    }
  }
  return 0;
}

int main(int count, char** arguments) {
  std::FILE* file = count == 2 ? std::fopen(arguments[1], "rb") : nullptr;
  if (file == nullptr) return 2;
  for (std::size_t table = 0; table < 5; ++table) {
    if (compare(file, table) != 0) return 1;
  }
  const bool whole = std::fgetc(file) == EOF;
  std::fclose(file);
  return whole ? 0 : 2;
}
