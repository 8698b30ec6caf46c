// What a command gave to a caller of the library.
#pragma once

#include <assay/assay.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"
#include "library/columns.h"

namespace assay::library {

struct Message {
  std::string text;
  bool is_warning = false;
};

// Takes what a command says. Only messages come from several threads.
class Result final : public cli::Listener {
 public:
  using Listener::Listener;

  void take_text(std::string_view text) override { text_ += text; }

  void take_book(const model::Book& book) override;

  void take_columns(std::shared_ptr<const Columns> columns) {
    tables_.push_back(std::move(columns));
  }

  void take_exit_code(int code) override { exit_code_ = code; }

  void take_warning(std::string_view message) override { take(message, true); }

  void take_note(std::string_view message) override { take(message, false); }

  [[nodiscard]] const std::vector<std::shared_ptr<const Columns>>& tables() const {
    return tables_;
  }

  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] int exit_code() const { return exit_code_; }

  // Returns null past the last. A message stays where it is. Any thread may call these two.
  [[nodiscard]] const Message* message(std::size_t number) const;
  [[nodiscard]] std::size_t num_messages() const;

 private:
  void take(std::string_view message, bool is_warning);

  std::vector<std::shared_ptr<const Columns>> tables_;
  std::string text_;
  int exit_code_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<Message> messages_;
};

// What the pointers of the C interface are.
}  // namespace assay::library

struct assay_result {
  assay::library::Result taken;
};

namespace assay::library {

// Returns whether a call's settings, which may be null, say by their size that they have all
// members of the first header.
bool is_whole(const assay_call* call);

inline constexpr const char* kCallWithoutSize =
    "the size of assay_call is less than its members take; set it to sizeof(assay_call)";

// Makes the result of a call.
void make_result(const assay_call* call, assay_result** result);

// The text of a message, or null.
const char* text_of(const Message* message, int* is_warning);

// The task of a call's settings, which may be null; none where they are not whole.
core::Task::Progress progress_of(const assay_call* call);
const std::int32_t* stop_of(const assay_call* call);

}  // namespace assay::library
