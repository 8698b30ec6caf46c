#include "plan/price/state_space_bound.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

namespace assay::plan {
namespace {

constexpr double kActivation = 2;  // bytes of an element in bfloat16
constexpr double kState = 4;       // bytes of an element of the state, in float32

const model::PerfValue* find(const std::vector<model::PerfField>& fields, std::string_view column) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const model::PerfField& one) {
    return one.column == column;
  });
  return found == fields.end() ? nullptr : &found->value;
}

double number(const std::vector<model::PerfField>& fields, std::string_view column) {
  const model::PerfValue* value = find(fields, column);
  const auto* whole = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return whole == nullptr ? 0 : static_cast<double>(*whole);
}

bool has_text(const std::vector<model::PerfField>& fields,
              std::string_view column,
              std::string_view text) {
  const model::PerfValue* value = find(fields, column);
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return word != nullptr && *word == text;
}

std::size_t place_of(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

store::RooflineBinder state_space_bound(double bytes_per_s, double launch_ms) {
  return [=](const std::vector<model::PerfField>& exact,
             const std::vector<std::string>& sizes) -> store::Roofline {
    const double width = number(exact, "nheads") * number(exact, "head_dim");
    const bool is_scan = has_text(exact, "op_name", "mamba2_scan");
    // A scan keeps a matrix of each head, a convolution the last tokens of each column.
    const double kept = is_scan ? kState * width * number(exact, "d_state")
                                : kActivation * width * (number(exact, "d_conv") - 1);
    // Prompts begin without a state, and requests that decode read and write it.
    const double of_request = has_text(exact, "phase", "context") ? kept : 2 * kept;
    const double of_token = 2 * kActivation * width;
    const std::size_t requests_place = place_of(sizes, "batch_size");
    const std::size_t tokens_place = place_of(sizes, "seq_len");
    return [=](std::span<const double> values) {
      const double requests = values[requests_place];
      const double tokens =
          tokens_place < values.size() ? requests * values[tokens_place] : requests;
      const double bytes = of_request * requests + of_token * tokens;
      return launch_ms + 1e3 * bytes / bytes_per_s;
    };
  };
}

}  // namespace assay::plan
