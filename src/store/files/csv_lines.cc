#include "store/files/csv_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/csv.h"

namespace assay::store {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineCutter::LineCutter(std::string_view text) : text_(text) {
  while (text_.substr(at_).starts_with(kByteOrderMark))
    at_ += kByteOrderMark.size();
}

core::Result<bool> LineCutter::next(std::vector<std::string_view>& fields) {
  fields.clear();
  while (at_ < text_.size() && at_line_end())
    pass_line_end();
  if (at_ >= text_.size()) return false;
  line_ = next_line_;
  begin_ = at_;
  if (plain_line(fields)) return true;
  const core::Status cut = quoted_line(fields);
  if (!cut.ok()) return cut.error();
  return true;
}

bool LineCutter::is_unended() const {
  return at_ >= text_.size() && text_.find('\n', begin_) == std::string_view::npos;
}

// The usual case. False, with nothing consumed: the line has a quote.
bool LineCutter::plain_line(std::vector<std::string_view>& fields) {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string_view line = text_.substr(at_, end - at_);
  if (line.find('"') != std::string_view::npos) return false;
  if (line.ends_with('\r')) line.remove_suffix(1);
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  at_ = std::min(end + 1, text_.size());
  ++next_line_;
  return true;
}

// core/csv.h knows the rules; it is given the lines up to the one where all quotes are closed.
core::Status LineCutter::quoted_line(std::vector<std::string_view>& fields) {
  std::size_t end = at_;
  std::int64_t quotes = 0;
  do {
    const std::size_t begin = end;
    end = std::min(std::min(text_.find('\n', begin), text_.size() - 1) + 1, text_.size());
    const std::string_view line = text_.substr(begin, end - begin);
    quotes += std::count(line.begin(), line.end(), '"');
    ++next_line_;
  } while (quotes % 2 != 0 && end < text_.size());
  const std::string_view record = text_.substr(std::exchange(at_, end), end - begin_);
  if (quotes % 2 != 0) {
    return core::Error{fmt::format("line {}: a quote that is never closed", line_)};
  }
  auto records = core::parse_csv(record);
  if (!records.ok() || records.value().size() != 1) {
    return core::Error{fmt::format("line {}: text stands beside a quoted field", line_)};
  }
  unquoted_ = std::move(records.value().front().fields);
  fields.assign(unquoted_.begin(), unquoted_.end());
  return {};
}

bool LineCutter::at_line_end() const {
  return text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

void LineCutter::pass_line_end() {
  at_ += text_[at_] == '\n' ? 1 : 2;
  ++next_line_;
}

}  // namespace assay::store
