#include "trace/reader/raw_event.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "core/text.h"

namespace assay::trace {
namespace {

using Entry = std::pair<std::string_view, RawField>;

constexpr std::array kEventFields{
    Entry{"ph", &RawEvent::phase},  Entry{"cat", &RawEvent::category},
    Entry{"name", &RawEvent::name}, Entry{"pid", &RawEvent::pid},
    Entry{"tid", &RawEvent::tid},   Entry{"ts", &RawEvent::ts},
    Entry{"dur", &RawEvent::dur},   Entry{"id", &RawEvent::id},
};

constexpr std::array kArgsFields{
    Entry{"External id", &RawEvent::external_id},
    Entry{"correlation", &RawEvent::correlation},
    Entry{"Sequence number", &RawEvent::sequence},
    Entry{"device", &RawEvent::device},
    Entry{"stream", &RawEvent::stream},
    Entry{"grid", &RawEvent::grid},
    Entry{"block", &RawEvent::block},
    Entry{"Input Dims", &RawEvent::input_dims},
    Entry{"Input type", &RawEvent::input_types},
    Entry{"Input Strides", &RawEvent::input_strides},
    Entry{"Concrete Inputs", &RawEvent::concrete_inputs},
    Entry{"Module Hierarchy", &RawEvent::module_hierarchy},
    Entry{"Call stack", &RawEvent::call_stack},
    Entry{"Collective name", &RawEvent::collective_name},
    Entry{"dtype", &RawEvent::dtype},
    Entry{"Process Group Name", &RawEvent::group_name},
    Entry{"Process Group Description", &RawEvent::group_description},
    Entry{"Process Group Ranks", &RawEvent::group_ranks},
    Entry{"Group size", &RawEvent::group_size},
    Entry{"In msg nelems", &RawEvent::in_elements},
    Entry{"Out msg nelems", &RawEvent::out_elements},
    Entry{"In split size", &RawEvent::in_split},
    Entry{"Out split size", &RawEvent::out_split},
    Entry{"Rank", &RawEvent::rank},
    Entry{"Src Rank", &RawEvent::source_rank},
    Entry{"Dst Rank", &RawEvent::destination_rank},
    Entry{"name", &RawEvent::args_name},
    Entry{"labels", &RawEvent::args_labels},
    Entry{"wait_on_stream", &RawEvent::waits_for_stream},
    Entry{"wait_on_cuda_event_record_corr_id", &RawEvent::waits_for_record},
};

constexpr std::size_t kSlots = 64;

// The length and a few characters distinguish all keys of a table. This is checked at compile time
// below.
constexpr std::size_t slot_of(std::string_view key) {
  const auto at = [&](std::size_t i) {
    return static_cast<unsigned char>(key[std::min(i, key.size() - 1)]);
  };
  return (key.size() * 30 + at(0) * 9U + at(1) * 13U + at(key.size() - 1) * 9U + at(9) * 4U) %
         kSlots;
}

template <std::size_t N>
constexpr std::array<std::uint8_t, kSlots> slots_for(const std::array<Entry, N>& entries) {
  std::array<std::uint8_t, kSlots> slots{};
  for (std::size_t i = 0; i < N; ++i) {
    slots[slot_of(entries[i].first)] = static_cast<std::uint8_t>(i + 1);
  }
  return slots;
}

template <std::size_t N>
constexpr bool all_distinct(const std::array<Entry, N>& entries) {
  const auto slots = slots_for(entries);
  for (std::size_t i = 0; i < N; ++i) {
    if (slots[slot_of(entries[i].first)] != i + 1) return false;
  }
  return true;
}

constexpr auto kEventSlots = slots_for(kEventFields);
constexpr auto kArgsSlots = slots_for(kArgsFields);
static_assert(all_distinct(kEventFields) && all_distinct(kArgsFields), "change slot_of");

template <class Word>
Word word_at(const char* text) {
  Word word{};
  std::memcpy(&word, text, sizeof(word));
  return word;
}

// Compares texts of equal size, from one to two words long, by their first and their last word.
template <class Word>
bool same_ends(std::string_view a, std::string_view b) {
  const std::size_t last = a.size() - sizeof(Word);
  return word_at<Word>(a.data()) == word_at<Word>(b.data()) &&
         word_at<Word>(a.data() + last) == word_at<Word>(b.data() + last);
}

// Most keys have 2 to 16 characters, for which the call of memcmp is most of a comparison.
bool same_key(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.size() < 2 || a.size() > 16) return a == b;
  if (a.size() < 4) return same_ends<std::uint16_t>(a, b);
  return a.size() < 8 ? same_ends<std::uint32_t>(a, b) : same_ends<std::uint64_t>(a, b);
}

template <std::size_t N>
RawField look_up(const std::array<Entry, N>& entries,
                 const std::array<std::uint8_t, kSlots>& slots,
                 std::string_view key) {
  if (key.empty()) return nullptr;
  const std::uint8_t slot = slots[slot_of(key)];
  if (slot == 0 || !same_key(entries[slot - 1U].first, key)) return nullptr;
  return entries[slot - 1U].second;
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

// Reads digits[.digits] with at most 16 digits before the point: microseconds since 1970 have them.
std::optional<std::int64_t> plain_decimal(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  constexpr std::size_t kMaxDigits = 16;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000 - 1;
  std::int64_t value = 0;
  std::size_t i = 0;
  for (; i < text.size() && i <= kMaxDigits && core::is_digit(text[i]); ++i)
    value = value * 10 + (text[i] - '0');
  if (i == 0 || i > kMaxDigits || value > kMost) return std::nullopt;
  std::size_t decimals = 0;
  bool round_up = false;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && core::is_digit(text[i]); ++i, ++decimals) {
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

RawField event_field(std::string_view key) {
  return look_up(kEventFields, kEventSlots, key);
}

RawField args_field(std::string_view key) {
  return look_up(kArgsFields, kArgsSlots, key);
}

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
