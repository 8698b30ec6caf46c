#include "report/xlsx_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/text.h"

namespace assay::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_plain(char c) {
  return (c >= ' ' && c <= '~') || c == '\t' || c == '\n';
}

bool is_forbidden_in_xml(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7F;
}

bool is_noncharacter(std::string_view text) {
  return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF");
}

// In ECMA-376 part 1, 22.9.2.19 (ST_Xstring), "_xHHHH_" stands for one UTF-16 unit.
bool is_escape(std::string_view text) {
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  return text.size() >= 7 && text.starts_with("_x") && text[6] == '_' &&
         std::all_of(text.begin() + 2, text.begin() + 6, is_hex);
}

std::string cut_to_limit(std::string text) {
  if (core::utf16_length(text) <= kMaxCellUnits) return text;
  const std::size_t kept = kMaxCellUnits - core::utf16_length(kCutMark);
  return std::string(core::first_utf16_units(text, kept)) + kCutMark;
}

std::string with_escapes_escaped(std::string_view text) {
  std::string result;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (is_escape(text)) result += "_x005F";
    result += text[0];
  }
  return result;
}

}  // namespace

std::string xml_text(std::string_view text) {
  const std::string valid = core::valid_utf8(text);
  text = valid;
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t taken = is_noncharacter(text) ? 3 : 1;
    if (taken == 3 || is_forbidden_in_xml(text[0])) {
      result += kReplacement;
    } else {
      result += text[0];
    }
    text.remove_prefix(taken);
  }
  return result;
}

const std::string& worksheet_text(const std::string& text, std::string& buffer) {
  const bool plain = std::all_of(text.begin(), text.end(), is_plain);
  const bool may_hold_escape = text.find("_x") != std::string::npos;
  if (plain && !may_hold_escape && text.size() <= kMaxCellUnits) return text;
  buffer = cut_to_limit(xml_text(text));
  if (may_hold_escape) buffer = with_escapes_escaped(buffer);
  return buffer;
}

}  // namespace assay::report
