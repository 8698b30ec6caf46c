// The four-dimensional table that TensorRT-LLM compiles in, [tp][fusion][hidden][tokens], as C++
// text: generated_lookup_table.cpp. The including project defines its type,
// AllReduceBestStrategyTableType: a vector of vectors of vectors of vectors of int.
//
// A lookup in TensorRT-LLM floors every axis to a power of two.
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
inline constexpr std::array kPublicFusions = {Fusion::kNone, Fusion::kResidualRmsNorm,
                                              Fusion::kResidualRmsNormQuantFp8,
                                              Fusion::kResidualRmsNormQuantNvfp4};
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
  Strategy fallback = Strategy::kNccl;  // the choice in rows without any data
  std::string base = {};                // the table that fills them instead, in words
  std::vector<int> world_sizes = {};
  std::vector<Fusion> fusions = {};
  std::vector<std::int64_t> hidden_sizes = {};
  std::vector<std::int64_t> num_tokens = {};
  std::vector<LookupCell> cells = {};  // the last axis varies fastest

  [[nodiscard]] const LookupCell& at(std::size_t world_size,
                                     std::size_t fusion,
                                     std::size_t hidden_size,
                                     std::size_t tokens) const;
  [[nodiscard]] std::size_t measured_count() const;

  // Looks up as TensorRT-LLM does: every axis is floored, and NCCL is used beyond the table.
  [[nodiscard]] Strategy lookup(int world_size,
                                Fusion fusion,
                                std::int64_t hidden_size,
                                std::int64_t tokens) const;
};

// Returns a table with the public axes whose cells all have the fallback and are not measured.
LookupTable empty_lookup_table(int sm_version, Strategy fallback);

// Takes the entries of each TP and fusion of which nothing was measured from another table: there
// the lookup gives what it gives with that one. Returns how many.
std::size_t fill_from(LookupTable& table, const LookupTable& base, const std::string& name);

// Returns a table with the choices of one data type on the public axes.
LookupTable lookup_table_of(const std::vector<DecidedSlice>& slices,
                            DataType data_type,
                            int sm_version,
                            Strategy fallback);

// kReadme names the hidden size after each row. kUpstream is the newest generator's layout, byte
// for byte where no data are missing. Both say in comments which parts hold no measured data.
enum class LookupLayout { kReadme, kUpstream };

std::string lookup_table_cpp(const LookupTable& table, LookupLayout layout);

// Reads the tables of either layout, or of TensorRT-LLM's own header, which has one for each SM;
// `name` is for messages. Braces tell how long the axes are, and comments what is on them; where
// none says so, they are the public ones, if as long. The comments on cells that were not measured
// are ignored, so every cell counts as measured. Fails when there is no table or two of an SM, when
// an axis does not fit, or when a number belongs to no strategy or to AUTO. Errors about a line
// name it.
core::Result<std::vector<LookupTable>> parse_lookup_tables(std::string_view text,
                                                           std::string_view name);

// The only table of a file, or that of the SM.
core::Result<LookupTable> read_lookup_table(const std::filesystem::path& path,
                                            std::optional<int> sm_version);

}  // namespace assay::allreduce
