#include "goal/synth/memory_uses.h"

#include <string>
#include <variant>

namespace assay::goal {

using serving::OperatorUse;

std::int64_t number_in(const OperatorUse& use, std::string_view column) {
  const model::PerfValue* value = serving::find_key(use, column);
  if (value == nullptr) return 0;
  const auto* const number = std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

OperatorUse memory_use(const char* role, const char* op, std::int64_t columns) {
  return {.role = role,
          .op = op,
          .table = "memory_op_perf",
          .op_name = op,
          .key = {{"dtype", model::PerfValue(std::string("bfloat16"))}, {"columns", columns}},
          .sizes = {{"rows", serving::Amount::kTokens}}};
}

OperatorUse rotary_use(const OperatorUse& attention) {
  const std::int64_t heads =
      number_in(attention, "num_heads") + number_in(attention, "num_key_value_heads");
  return memory_use("rotary positions, as a copy of queries and keys", "copy",
                    heads * number_in(attention, "head_dim"));
}

OperatorUse rotary_and_cache_use(const OperatorUse& attention) {
  const std::int64_t heads =
      number_in(attention, "num_heads") + 2 * number_in(attention, "num_key_value_heads");
  const std::int64_t columns = heads * number_in(attention, "head_dim");
  // An activation reads two elements for each that it writes.
  return memory_use("rotary positions and the cache, as an activation of as many bytes", "silu_mul",
                    columns * 2 / 3);
}

}  // namespace assay::goal
