// The four-dimensional table that TensorRT-LLM compiles in, [tp][fusion][hidden][tokens], as C++
// text: generated_lookup_table.cpp. Its type, AllReduceBestStrategyTableType, is the including
// project's: a vector of vectors of vectors of vectors of int.
//
// TensorRT-LLM floors every axis to a power of two when it looks up.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/decision.h"
#include "core/result.h"

namespace assay::allreduce {

inline constexpr std::array<int, 3> kPublicWorldSizes = {2, 4, 8};
inline constexpr std::array<std::int64_t, 7> kPublicHiddenSizes = {128,  256,  512, 1024,
                                                                   2048, 4096, 8192};
inline constexpr std::array<std::int64_t, 15> kPublicTokens = {
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

struct LookupCell {
  Strategy strategy = Strategy::kNccl;
  bool is_measured = false;

  bool operator==(const LookupCell&) const = default;
};

struct LookupTable {
  int sm_version = 0;
  Strategy fallback = Strategy::kNccl;  // of rows without any data
  std::vector<int> world_sizes = {};
  std::vector<Fusion> fusions = {};
  std::vector<std::int64_t> hidden_sizes = {};
  std::vector<std::int64_t> num_tokens = {};
  std::vector<LookupCell> cells = {};  // the last axis runs fastest

  [[nodiscard]] const LookupCell& at(std::size_t world_size,
                                     std::size_t fusion,
                                     std::size_t hidden_size,
                                     std::size_t tokens) const;
  [[nodiscard]] std::size_t measured_count() const;

  // As TensorRT-LLM looks it up: every axis floored, NCCL beyond the table.
  [[nodiscard]] Strategy lookup(int world_size,
                                Fusion fusion,
                                std::int64_t hidden_size,
                                std::int64_t tokens) const;
};

// The public axes, all cells filled with the fallback and not measured.
LookupTable empty_lookup_table(int sm_version, Strategy fallback);

// The choices of one data type on the public axes.
LookupTable lookup_table_of(const std::vector<DecidedSlice>& slices,
                            DataType data_type,
                            int sm_version,
                            Strategy fallback);

// kReadme: hidden sizes behind each row. kUpstream: the newest generator's layout, byte for byte
// where nothing is missing. Both say in comments which parts hold no measured data.
enum class LookupLayout { kReadme, kUpstream };

std::string lookup_table_cpp(const LookupTable& table, LookupLayout layout);

// Reads either layout back; `name` is for messages. Axes come from the comments; what was measured
// is not known, so every cell counts as measured. Errors name the line: no table, several tables,
// an axis that does not fit, a number that is no strategy's or AUTO's.
core::Result<LookupTable> parse_lookup_table(std::string_view text, std::string_view name);
core::Result<LookupTable> read_lookup_table(const std::filesystem::path& path);

}  // namespace assay::allreduce
