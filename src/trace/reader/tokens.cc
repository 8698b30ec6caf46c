#include "trace/reader/tokens.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

namespace assay::trace {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view inside_quotes(std::string_view token) {
  const bool quoted = token.size() >= 2 && token.front() == '"' && token.back() == '"';
  return quoted ? token.substr(1, token.size() - 2) : token;
}

std::optional<std::int64_t> scaled_real(std::string_view text, double scale) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const double scaled = std::round(value * scale);
  constexpr double kLimit = 9.2e18;  // just below 2^63
  if (!(std::fabs(scaled) < kLimit)) return std::nullopt;
  return static_cast<std::int64_t>(scaled);
}

// digits[.digits] with at most 15 digits before the point: what Kineto writes.
std::optional<std::int64_t> plain_decimal(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  constexpr std::size_t kMaxDigits = 15;
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && i <= kMaxDigits && is_digit(text[i]); ++i)
    value = value * 10 + (text[i] - '0');
  if (i == 0 || i > kMaxDigits) return std::nullopt;
  std::size_t decimals = 0;
  bool round_up = false;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && is_digit(text[i]); ++i, ++decimals) {
      if (decimals < 3) value = value * 10 + (text[i] - '0');
      if (decimals == 3) round_up = text[i] >= '5';
    }
  }
  if (i != text.size()) return std::nullopt;
  for (; decimals < 3; ++decimals)
    value *= 10;
  if (round_up) ++value;
  return negative ? -value : value;
}

template <class Read>
Number read_number(std::string_view token, const Read& read) {
  if (token.empty() || token == "null") return {};
  const std::string_view text = inside_quotes(token);
  const std::optional<std::int64_t> value = read(text);
  if (!value) return {NumberForm::kNotANumber, 0};
  return {text.size() == token.size() ? NumberForm::kNumber : NumberForm::kNumberInText, *value};
}

}  // namespace

Number nanoseconds(std::string_view token) {
  return read_number(token, [](std::string_view text) {
    const auto plain = plain_decimal(text);
    return plain ? plain : scaled_real(text, 1000);
  });
}

Number integer(std::string_view token) {
  return read_number(token, [](std::string_view text) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
    return scaled_real(text, 1);
  });
}

std::string_view unquoted(std::string_view token, std::string& scratch) {
  const std::string_view text = inside_quotes(token);
  if (text.size() == token.size() || text.find('\\') == std::string_view::npos) return text;
  const auto parsed = nlohmann::json::parse(token, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_string()) return text;
  scratch = parsed.get<std::string>();
  return scratch;
}

}  // namespace assay::trace
