#include "store/systems/version_order.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/text.h"

namespace assay::store {
namespace {

constexpr std::size_t kMostDigits = 18;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool is_separator(char c) {
  return c == '.' || c == '-' || c == '_';
}

}  // namespace

// Takes the parts of a version one after the other. A number that is too long ends it: `is_sound`.
class Version::Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool is_done() const { return is_sound_ && rest_.empty(); }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::uint64_t> take_number() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), core::is_digit);
    const auto count = static_cast<std::size_t>(end - rest_.begin());
    if (count == 0) return std::nullopt;
    is_sound_ = is_sound_ && count <= kMostDigits;
    std::uint64_t number = 0;
    for (const char c : rest_.substr(0, std::min(count, kMostDigits)))
      number = number * 10 + static_cast<std::uint64_t>(c - '0');
    rest_.remove_prefix(count);
    return number;
  }

  // One of the words with its number, which may be left out: ".post2", "rc-1", "dev". std::nullopt:
  // there is none of them, and nothing is taken.
  template <std::size_t kWords>
  std::optional<std::pair<std::size_t, std::uint64_t>> take_marked(
      const std::array<std::string_view, kWords>& words) {
    const std::string_view before = rest_;
    take_separator();
    for (std::size_t i = 0; i < kWords; ++i) {
      if (!take(words[i])) continue;
      const std::string_view after_word = rest_;
      take_separator();
      const auto number = take_number();
      if (!number) rest_ = after_word;
      return std::pair(i, number.value_or(0));
    }
    rest_ = before;
    return std::nullopt;
  }

  std::optional<std::uint64_t> take_hyphen_and_number() {
    if (rest_.size() < 2 || rest_[0] != '-' || !core::is_digit(rest_[1])) return std::nullopt;
    rest_.remove_prefix(1);
    return take_number();
  }

  std::optional<LocalPart> take_local_part() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), [](char c) {
      return core::is_digit(c) || (c >= 'a' && c <= 'z');
    });
    const std::string_view part = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    if (part.empty()) return std::nullopt;
    if (std::all_of(part.begin(), part.end(), core::is_digit))
      return LocalPart{.is_number = true, .number = *take_number(), .text = {}};
    rest_.remove_prefix(part.size());
    return LocalPart{.is_number = false, .number = 0, .text = std::string(part)};
  }

  bool take_separator() {
    if (rest_.empty() || !is_separator(rest_.front())) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::vector<std::uint64_t> take_release() {
    std::vector<std::uint64_t> numbers;
    std::string_view before = rest_;
    for (auto number = take_number(); number; number = take_number()) {
      numbers.push_back(*number);
      before = rest_;
      if (!take(".")) return numbers;
    }
    rest_ = before;
    return numbers;
  }

 private:
  std::string_view rest_;
  bool is_sound_ = true;
};

std::optional<Version> Version::parse(std::string_view text) {
  constexpr std::array<std::string_view, 8> kPhases = {"alpha",   "a",   "beta", "b",
                                                       "preview", "pre", "rc",   "c"};
  constexpr std::array<std::string_view, 3> kPosts = {"post", "rev", "r"};
  constexpr std::array<std::string_view, 1> kDevelopments = {"dev"};
  const std::string lower = lower_case(text);
  Reader reader(lower);
  Version version;
  reader.take("v");
  version.release_ = reader.take_release();
  if (version.release_.size() == 1 && reader.take("!")) {
    version.epoch_ = version.release_.front();
    version.release_ = reader.take_release();
  }
  if (version.release_.empty()) return std::nullopt;
  while (version.release_.size() > 1 && version.release_.back() == 0)
    version.release_.pop_back();
  if (const auto phase = reader.take_marked(kPhases)) {
    version.phase_ = phase->first < 2   ? Phase::kAlpha
                     : phase->first < 4 ? Phase::kBeta
                                        : Phase::kCandidate;
    version.phase_number_ = phase->second;
  }
  if (const auto post = reader.take_marked(kPosts)) {
    version.post_ = post->second + 1;
  } else if (const auto number = reader.take_hyphen_and_number()) {
    version.post_ = *number + 1;
  }
  if (const auto development = reader.take_marked(kDevelopments)) {
    version.development_ = development->second;
    if (version.phase_ == Phase::kFinal && version.post_ == 0) version.phase_ = Phase::kDevelopment;
  }
  if (reader.take("+")) {
    do {
      auto part = reader.take_local_part();
      if (!part) return std::nullopt;
      version.local_.push_back(std::move(*part));
    } while (reader.take_separator());
  }
  if (!reader.is_done()) return std::nullopt;
  return version;
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  return key() <=> other.key();
}

bool Version::operator==(const Version& other) const {
  return key() == other.key();
}

}  // namespace assay::store
