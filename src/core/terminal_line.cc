#include "core/terminal_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/terminal.h"

namespace assay::core {
namespace {

constexpr const char* kWipeLine = "\r\033[K";
constexpr std::size_t kUsualColumns = 80;

}  // namespace

TerminalLine::TerminalLine(Show show, std::FILE* stream)
    : stream_(stream), shown_(show == Show::kOnTerminal && is_terminal(stream)) {}

TerminalLine::~TerminalLine() {
  clear();
}

void TerminalLine::draw(std::string text) {
  if (!shown_) return;
  // A line that wraps could not be wiped.
  text.resize(std::min(text.size(), terminal_columns(stream_, kUsualColumns) - 1));
  fmt::print(stream_, "{}{}", kWipeLine, text);
  std::fflush(stream_);
  on_screen_ = true;
}

void TerminalLine::clear() {
  if (!on_screen_) return;
  std::fputs(kWipeLine, stream_);
  std::fflush(stream_);
  on_screen_ = false;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace assay::core
