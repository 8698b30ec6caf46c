// The text of one entry of traceEvents, copied with some of its values replaced. All other members
// stay as the file spells them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::trace::fuse {

// The values that are replaced. Those of kCorrelation and kExternalId are members of "args".
enum class Member : std::uint8_t { kPid, kTid, kTime, kDuration, kId, kCorrelation, kExternalId };

inline constexpr std::size_t kMemberCount = 7;

class EventText {
 public:
  // Returns std::nullopt for what is no JSON object with matching brackets and quotes.
  static std::optional<EventText> scan(std::string_view text);

  // Return the value as it is spelt, quotes included; empty when there is none.
  [[nodiscard]] std::string_view value(Member member) const {
    return values_[static_cast<std::size_t>(member)];
  }

  [[nodiscard]] std::string_view phase() const { return phase_; }

  [[nodiscard]] std::string_view name() const { return name_; }

  // The value must exist.
  void replace(Member member, std::string value);

  // Appends the text with its replacements. Control characters, which JSON forbids in texts and
  // which some profilers write, become blanks.
  void append_to(std::string& out) const;

 private:
  std::string_view text_;
  std::string_view phase_;
  std::string_view name_;
  std::array<std::string_view, kMemberCount> values_ = {};
  std::array<std::string, kMemberCount> replacements_ = {};
};

}  // namespace assay::trace::fuse
