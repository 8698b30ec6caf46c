#include "trace/fuse/event_text.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace assay::trace::fuse {
namespace {

struct NamedMember {
  std::string_view key;
  Member member;
};

constexpr std::array kOfEvent = {
    NamedMember{"\"pid\"", Member::kPid}, NamedMember{"\"tid\"", Member::kTid},
    NamedMember{"\"ts\"", Member::kTime}, NamedMember{"\"dur\"", Member::kDuration},
    NamedMember{"\"id\"", Member::kId}};
constexpr std::array kOfArgs = {NamedMember{"\"correlation\"", Member::kCorrelation},
                                NamedMember{"\"External id\"", Member::kExternalId}};

bool is_blank(char c) {
  return static_cast<unsigned char>(c) <= ' ';
}

// Reads a text from its start on. Every function returns false, or an empty view, where the text
// ends too early.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Calls on_member(key, value) for each member of the object that begins here.
  template <class OnMember>
  bool object(const OnMember& on_member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    while (true) {
      const std::string_view key = string();
      if (key.empty() || !take(':')) return false;
      skip_blanks();
      const std::string_view item = value();
      if (item.empty()) return false;
      on_member(key, item);
      if (take('}')) return true;
      if (!take(',')) return false;
    }
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_]))
      ++at_;
  }

  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view string() {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != '"') return {};
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"')
      at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return {};
    ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::string_view value() {
    if (at_ == text_.size()) return {};
    if (text_[at_] == '"') return string();
    const std::size_t begin = at_;
    if (text_[at_] == '{' || text_[at_] == '[')
      return nested() ? text_.substr(begin, at_ - begin) : std::string_view();
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && !is_blank(text_[at_]))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool nested() {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (string().empty()) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

template <std::size_t N>
void note(const std::array<NamedMember, N>& wanted,
          std::string_view key,
          std::string_view value,
          std::array<std::string_view, kMemberCount>& values) {
  const auto found = std::find_if(wanted.begin(), wanted.end(),
                                  [&](const NamedMember& named) { return named.key == key; });
  if (found != wanted.end()) values[static_cast<std::size_t>(found->member)] = value;
}

}  // namespace

std::optional<EventText> EventText::scan(std::string_view text) {
  EventText event;
  event.text_ = text;
  std::string_view args;
  const bool whole = Scanner(text).object([&](std::string_view key, std::string_view value) {
    note(kOfEvent, key, value, event.values_);
    if (key == "\"ph\"") event.phase_ = value;
    if (key == "\"name\"") event.name_ = value;
    if (key == "\"args\"" && value.front() == '{') args = value;
  });
  if (!whole) return std::nullopt;
  if (!args.empty())
    Scanner(args).object([&](std::string_view key, std::string_view value) {
      note(kOfArgs, key, value, event.values_);
    });
  return event;
}

void EventText::replace(Member member, std::string value) {
  replacements_[static_cast<std::size_t>(member)] = std::move(value);
}

void EventText::append_to(std::string& out) const {
  const std::size_t from = out.size();
  std::array<std::size_t, kMemberCount> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values_[a].data() < values_[b].data(); });
  const char* at = text_.data();
  for (const std::size_t member : order) {
    if (replacements_[member].empty() || values_[member].empty()) continue;
    out.append(at, values_[member].data());
    out += replacements_[member];
    at = values_[member].data() + values_[member].size();
  }
  out.append(at, text_.data() + text_.size());
  for (std::size_t i = from; i < out.size(); ++i)
    if (is_blank(out[i])) out[i] = ' ';
}

}  // namespace assay::trace::fuse
