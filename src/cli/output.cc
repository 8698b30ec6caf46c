#include "cli/output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/help.h"
#include "core/terminal.h"

namespace assay::cli {
namespace {

constexpr std::size_t kHelpColumns = 100;
constexpr std::size_t kFewestColumns = 60;
constexpr const char* kRed = "\033[31m";
constexpr const char* kYellow = "\033[33m";

// errno of the first failed write to standard output; 0 while all went well.
int g_output_error = 0;

void flush_stdout() {
  if (std::fflush(stdout) != 0 && g_output_error == 0) g_output_error = errno;
}

void say(const char* color, std::string_view kind, std::string_view message) {
  // After the data printed so far, where both streams are one terminal.
  flush_stdout();
  const bool colored = core::shows_colors(stderr);
  const std::string line = fmt::format("{}assay: {}{}{}\n", colored ? color : "", kind,
                                       colored ? "\033[0m" : "", message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void print(std::string_view text) {
  if (g_output_error != 0) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) g_output_error = errno;
}

void print_help(const CommandSpec& spec) {
  const std::size_t columns = core::terminal_columns(stdout, kHelpColumns);
  const Headings headings = core::shows_colors(stdout) ? Headings::kBold : Headings::kPlain;
  print(help_text(spec, std::clamp(columns, kFewestColumns, kHelpColumns), headings));
}

void print_error(std::string_view message) {
  say(kRed, "", message);
}

void print_warning(std::string_view message) {
  say(kYellow, "warning: ", message);
}

void print_note(std::string_view message) {
  say("", "", message);
}

core::Status flush_output() {
  flush_stdout();
  if (g_output_error == 0 || g_output_error == EPIPE) return {};
  return core::Error{
      fmt::format("cannot write to standard output: {}", std::strerror(g_output_error))};
}

}  // namespace assay::cli
