// Commands behind the C interface.
#include <assay/assay.h>
#include <fmt/core.h>

#include <cstring>
#include <string>
#include <vector>

#include "cli/command_tree.h"
#include "cli/program.h"
#include "cli/version.h"
#include "library/arrow_stream.h"
#include "library/commands.h"
#include "library/error.h"
#include "library/result.h"

namespace assay::library {
namespace {

constexpr const char* kNoTable = "the result has no such table";

// Why a command did not end with ASSAY_OK. One that found what it looks for says nothing itself.
std::string why(const cli::Ending& ending, const std::vector<std::string>& words) {
  if (!ending.error.empty() || ending.exit_code == ASSAY_OK) return ending.error;
  const auto command = cli::follow_words(words);
  if (ending.exit_code == ASSAY_FOUND && command.ok()) {
    std::string means = command.value().spec->regression_means;
    if (!means.empty()) return means;
  }
  return fmt::format("the command ended with exit code {}", ending.exit_code);
}

int run(const char* const* arguments, size_t count, assay_result& result) {
  for (size_t i = 0; i < count; ++i)
    if (arguments[i] == nullptr) return ended(ASSAY_WRONG_USAGE, "an argument is null");
  const std::vector<std::string> words(arguments, arguments + count);
  const cli::Ending ending = cli::run_for(result.taken, words);
  return ended(ending.exit_code, why(ending, words));
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;  // NOLINT: what follows is C's

const char* assay_version(void) {
  static const std::string version = assay::cli::program_version().substr(std::strlen("assay "));
  return version.c_str();
}

const char* assay_error(void) {
  return last_error();
}

const char* assay_commands(void) {
  static const std::string document = commands_json();
  return document.c_str();
}

int assay_run(const char* const* arguments,
              size_t count,
              const assay_call* call,
              assay_result** result) {
  return guarded([&] {
    if (result != nullptr) make_result(call, result);
    if (result == nullptr || (arguments == nullptr && count > 0))
      return ended(ASSAY_WRONG_USAGE, "arguments and result must not be null");
    if (!is_whole(call)) return ended(ASSAY_WRONG_USAGE, kCallWithoutSize);
    return run(arguments, count, **result);
  });
}

size_t assay_result_table_count(const assay_result* result) {
  return result == nullptr ? 0 : result->taken.tables().size();
}

const char* assay_result_table_name(const assay_result* result, size_t table) {
  if (table >= assay_result_table_count(result)) return nullptr;
  return result->taken.tables()[table]->name.c_str();
}

int assay_result_table(const assay_result* result, size_t table, struct ArrowArrayStream* stream) {
  return guarded([&] {
    if (stream == nullptr) return ended(ASSAY_WRONG_USAGE, "stream must not be null");
    *stream = {};  // which is released
    if (table >= assay_result_table_count(result)) return ended(ASSAY_WRONG_USAGE, kNoTable);
    hand_out(result->taken.tables()[table], *stream);
    return ended(ASSAY_OK, "");
  });
}

const char* assay_result_text(const assay_result* result, size_t* bytes) {
  if (bytes != nullptr) *bytes = result == nullptr ? 0 : result->taken.text().size();
  return result == nullptr ? "" : result->taken.text().c_str();
}

int assay_result_exit_code(const assay_result* result) {
  return result == nullptr ? 0 : result->taken.exit_code();
}

size_t assay_result_message_count(const assay_result* result) {
  return result == nullptr ? 0 : result->taken.num_messages();
}

const char* assay_result_message(const assay_result* result, size_t message, int* is_warning) {
  return text_of(result == nullptr ? nullptr : result->taken.message(message), is_warning);
}

void assay_result_free(assay_result* result) {
  delete result;
}
