#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/serving/regex.h"

#include <fmt/core.h>
#include <pcre2.h>

#include <array>

namespace assay::serving {
namespace {

// A name of a module takes some hundred steps.
constexpr std::uint32_t kMostSteps = 1'000'000;

std::string text_of(int problem) {
  std::array<PCRE2_UCHAR, 256> text = {};
  pcre2_get_error_message(problem, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// Returns where the flags of a group that begins there end; `begin` if it has none.
std::size_t end_of_flags(std::string_view pattern, std::size_t begin) {
  const std::size_t end = pattern.find_first_not_of("aimsux", begin);
  const bool has_flags = end != std::string_view::npos &&
                         std::string_view("):-").find(pattern[end]) != std::string_view::npos;
  return has_flags ? end : begin;
}

// Translates what PCRE2 reads otherwise. Python's "{,3}" is "{0,3}", which PCRE2 before 10.43 takes
// for these five characters. Its flags a and u, of "(?a)" and "(?ai:x)", say which letters \w has:
// PCRE2 knows no such flags, and takes ASCII's, of which the names of modules are.
std::string in_words_of_pcre2(std::string_view pattern) {
  std::string made;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    made += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      made += pattern[++i];
    } else if (pattern[i] == '[' || pattern[i] == ']') {
      in_class = pattern[i] == '[';
    } else if (!in_class && pattern.substr(i).starts_with("{,")) {
      made += '0';
    } else if (!in_class && pattern.substr(i).starts_with("(?")) {
      made += pattern[++i];
      for (const std::size_t end = end_of_flags(pattern, i + 1); i + 1 < end; ++i) {
        if (pattern[i + 1] != 'a' && pattern[i + 1] != 'u') made += pattern[i + 1];
      }
    }
  }
  return made;
}

}  // namespace

core::Result<Regex> Regex::of(const std::string& pattern) {
  const std::string text = in_words_of_pcre2(pattern);
  int problem = 0;
  PCRE2_SIZE place = 0;
  Regex made;
  made.pattern_ = pattern;
  made.code_ = {pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_ANCHORED, &problem, &place, nullptr),
                pcre2_code_free};
  if (!made.code_) {
    return core::Error{fmt::format("the regular expression '{}' cannot be read: {} at character {}",
                                   pattern, text_of(problem), place + 1)};
  }
  // A system may allow no generated code: the match is then slower, and the same.
  pcre2_jit_compile(made.code_.get(), PCRE2_JIT_COMPLETE);
  made.found_ = {pcre2_match_data_create(1, nullptr), pcre2_match_data_free};
  made.limits_ = {pcre2_match_context_create(nullptr), pcre2_match_context_free};
  pcre2_set_match_limit(made.limits_.get(), kMostSteps);
  return made;
}

core::Result<bool> Regex::matches(std::string_view text) const {
  const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                0, 0, found_.get(), limits_.get());
  if (found >= 0) return true;
  if (found == PCRE2_ERROR_NOMATCH) return false;
  return core::Error{fmt::format("the regular expression '{}' cannot be matched with '{}': {}",
                                 pattern_, text, text_of(found))};
}

}  // namespace assay::serving
