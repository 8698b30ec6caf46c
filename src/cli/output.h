// The output of the program. Data goes to standard output and everything else to standard error,
// and an output never replaces an input.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "cli/manual.h"
#include "core/result.h"
#include "core/task.h"
#include "model/table.h"

namespace assay::cli {

// Takes what a command says instead of the terminal: a caller of libassay is one.
class Listener : public core::Task {
 public:
  using Task::Task;

  virtual void take_text(std::string_view text) = 0;
  virtual void take_book(const model::Book& book) = 0;
  // The code is that of another program that the command ran, as a shell tells it.
  virtual void take_exit_code(int code) = 0;
  // Any thread may call these two.
  virtual void take_warning(std::string_view message) = 0;
  virtual void take_note(std::string_view message) = 0;

  // Returns that of this thread, or nullptr.
  static Listener* current();
};

// Prints data, in which nothing acts on a terminal: what would is replaced (core::printable).
// flush_output() reports a failure to write.
void print(std::string_view text);

// Prints text that holds escape sequences of our own, and none of an input.
void print_styled(std::string_view text);

// Prints the book as JSON.
void print_book(const model::Book& book);

// Prints a manual page as wide as the terminal, but at most 100 columns wide.
void print_help(const ManualPage& page);

// Print "assay: <message>" on standard error, with its first words in colour on a terminal and with
// nothing in the message that acts on one.
void print_error(std::string_view message);
void print_warning(std::string_view message);
void print_note(std::string_view message);

// Fails unless all printed data has reached standard output. It does not fail if the reader closed
// the pipe (`assay … | head`), because that reader has all that it needs.
core::Status flush_output();

// Fails when the output is the same file as one of the inputs, under any name.
core::Status refuse_to_replace(std::span<const std::filesystem::path> inputs,
                               const std::filesystem::path& output);

}  // namespace assay::cli
