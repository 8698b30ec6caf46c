#include "cli/output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "cli/manual.h"
#include "core/terminal.h"
#include "core/text.h"
#include "report/book.h"

namespace assay::cli {
namespace {

constexpr std::size_t kHelpColumns = 100;
constexpr std::size_t kFewestColumns = 60;
constexpr std::size_t kMessageIndent = 2;
constexpr const char* kRed = "\033[31m";
constexpr const char* kYellow = "\033[33m";

// The errno of the first failed write to standard output, or 0.
int g_output_error = 0;

void flush_stdout() {
  if (std::fflush(stdout) != 0 && g_output_error == 0) g_output_error = errno;
}

// Breaks the first line of a message between words, where the terminal would break it anywhere.
// More lines are commands to copy and stay as they are.
std::string fitted(std::string_view message, std::size_t begin) {
  if (!core::is_terminal(stderr)) return std::string(message);
  const std::size_t end = std::min(message.find('\n'), message.size());
  const std::size_t columns = core::terminal_columns(stderr, kHelpColumns);
  return core::wrapped(message.substr(0, end), columns, begin, kMessageIndent) +
         std::string(message.substr(end));
}

void say(const char* color, std::string_view kind, std::string_view message) {
  // If both streams are the same terminal, the message must follow the data printed before it.
  flush_stdout();
  const bool colored = core::shows_colors(stderr);
  const std::string begin = fmt::format("assay: {}", kind);
  const std::string line =
      fmt::format("{}{}{}{}\n", colored ? color : "", begin, colored ? "\033[0m" : "",
                  fitted(core::printable(message), begin.size()));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

Listener* Listener::current() {
  return dynamic_cast<Listener*>(Task::current());
}

void print(std::string_view text) {
  if (Listener* listener = Listener::current()) return listener->take_text(text);
  print_styled(core::printable(text));
}

void print_book(const model::Book& book) {
  if (Listener* listener = Listener::current()) return listener->take_book(book);
  print(report::json(book));
}

void print_styled(std::string_view text) {
  if (Listener* listener = Listener::current()) return listener->take_text(text);
  if (g_output_error != 0) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) g_output_error = errno;
}

void print_help(const ManualPage& page) {
  const std::size_t columns = core::terminal_columns(stdout, kHelpColumns);
  const Headings headings = core::shows_colors(stdout) ? Headings::kBold : Headings::kPlain;
  print_styled(manual_text(page, std::clamp(columns, kFewestColumns, kHelpColumns), headings));
}

void print_error(std::string_view message) {
  say(kRed, "", message);
}

void print_warning(std::string_view message) {
  if (Listener* listener = Listener::current()) return listener->take_warning(message);
  say(kYellow, "warning: ", message);
}

void print_note(std::string_view message) {
  if (Listener* listener = Listener::current()) return listener->take_note(message);
  say("", "", message);
}

core::Status flush_output() {
  flush_stdout();
  if (g_output_error == 0 || g_output_error == EPIPE) return {};
  return core::Error{
      fmt::format("cannot write to standard output: {}", std::strerror(g_output_error))};
}

core::Status refuse_to_replace(std::span<const std::filesystem::path> inputs,
                               const std::filesystem::path& output) {
  for (const std::filesystem::path& input : inputs) {
    std::error_code code;
    if (!std::filesystem::equivalent(input, output, code) || code) continue;
    return core::Error{
        fmt::format("'{}' is an input; name another output with -o", output.string())};
  }
  return {};
}

}  // namespace assay::cli
