// Reads JSON scalar tokens as they stand in a trace, forgiving what producers get wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::trace {

enum class NumberForm { kNumber, kNumberInText, kNotANumber, kAbsent };

struct Number {
  NumberForm form = NumberForm::kAbsent;
  std::int64_t value = 0;

  [[nodiscard]] bool usable() const {
    return form == NumberForm::kNumber || form == NumberForm::kNumberInText;
  }
};

// Decimal microseconds as integer nanoseconds, rounded to the nearest. kNotANumber for NaN,
// infinities, text without a number, and what does not fit 63 bits.
Number nanoseconds(std::string_view token);

// An integer; a real one is rounded.
Number integer(std::string_view token);

// A string token without its quotes, escapes resolved; any other token as it is.
// `scratch` holds the text when it had escapes.
std::string_view unquoted(std::string_view token, std::string& scratch);

}  // namespace assay::trace
