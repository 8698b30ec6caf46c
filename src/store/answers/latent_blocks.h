// Rows of whole blocks of latent attention, as sums. Planners have tables of them
// (mla_context_module_perf, mla_generation_module_perf), measured of an engine's module at once;
// assay measures the kernels of such a block one by one. A sum has every kernel that serving
// launches in the block (model/serving/uses.h): the norms of the latents, all projections, and
// attention, with the products into and out of the latent where it decodes. It lacks what assay
// does not measure: the rotary embedding, the update of the cache, and what happens between
// launches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "store/answers/work_index.h"
#include "store/files/frame.h"

namespace assay::store {

// What the kernel_source of a sum says, and the columns that tell more of it: the operators that
// it adds up, and one sigma of the sum in percent, 0 where each of them was measured.
inline constexpr std::string_view kSumOfRows = "sum_of_rows";
inline constexpr std::string_view kSumOfColumn = "sum_of";
inline constexpr std::string_view kSumErrorColumn = "sum_error";

// What the rows of prompts say of the type of attention's products. Release 0.11.0 of the planner
// asks vLLM's blocks of a checkpoint in 8 bits for fp8 where the table of other attention has that
// type, though vLLM computes these prompts in bfloat16 on Hopper GPUs. kAlsoFp8 has the sums with a
// cache of fp8 a second time under that name; kMeasuredTypeColumn then says what was measured.
enum class PromptTypes : std::uint8_t { kMeasured, kAlsoFp8 };
inline constexpr std::string_view kMeasuredTypeColumn = "measured_mla_dtype";

struct RowsOfTable {
  std::string table;
  Frame rows;
};

struct BlockTable {
  std::string table;
  Frame rows;
  std::int64_t without_answer = 0;  // points at which some kernel has none
};

using BinderOfTable = std::function<core::Result<RooflineBinder>(const std::string& table)>;

// The sums for a model with latent attention, at the numbers of heads, requests and tokens of the
// rows of attention, with points between those of the two latter: projections are no straight line
// there. Each kernel has the answer of its table (family.h), which may lie between rows, but past
// them for attention never, and for the others only as far as a query goes. The columns that name
// framework, version and device are those of the rows of attention. Without rows of attention there
// are no sums.
core::Result<std::vector<BlockTable>> latent_blocks(const std::vector<RowsOfTable>& tables,
                                                    const serving::Model& model,
                                                    const BinderOfTable& binder,
                                                    PromptTypes types);

}  // namespace assay::store
