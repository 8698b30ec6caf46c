// Tables of what the public planner would answer.
#pragma once

#include <string>

#include "core/result.h"
#include "model/table.h"
#include "plan/compat/measured.h"
#include "plan/compat/search.h"

namespace assay::plan::compat {

// kShort: what the public planner prints. kPublic: the columns of its CSV files.
enum class Columns : std::uint8_t { kShort, kPublic };

struct Named {
  const serving::Model* model = nullptr;
  std::string title;
  std::string system;
  Setting setting = {};
  Quantization attention = Quantization::kBfloat16;  // in which attention to prompts is priced
};

struct EstimateAsked {
  Worker worker = {};
  std::int64_t batch = 16;         // of a group
  std::int64_t prompt_tokens = 0;  // of a mixed step; 0: one prompt
};

// Static batching, operator by operator, continuous batching, and memory.
// Error: no row answers for an operator, or not at this size.
core::Result<model::Book> estimate_book(const Named& named,
                                        const EstimateAsked& asked,
                                        Measured& measured);

model::Book search_book(const Named& named,
                        const SearchAsked& asked,
                        const SearchFound& found,
                        Columns columns);

}  // namespace assay::plan::compat
