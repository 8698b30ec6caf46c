// Strategies of all-reduces behind the C interface.
#include <assay/assay.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "allreduce/lookup.h"
#include "cli/allreduce_commands.h"
#include "core/text.h"
#include "library/error.h"
#include "library/questions.h"
#include "library/result.h"

struct assay_strategies {
  assay::allreduce::StrategySource source;
  assay::allreduce::Cell defaults;                // of columns that questions leave out
  std::vector<assay::library::Message> messages;  // about the files that it is made of
};

namespace assay::library {
namespace {

using allreduce::Cell;

constexpr std::size_t kRequired = 3;
const std::vector<std::string> kColumns = {"tp", "hidden", "tokens", "fusion", "dtype"};

// One value stands for all questions.
std::size_t place_of(const store::QuestionColumn& column, std::size_t question) {
  return column.size() == 1 ? 0 : question;
}

template <class Size>
core::Status set_sizes(const store::QuestionColumn& column,
                       Size Cell::*size,
                       std::vector<Cell>& messages) {
  if (!column.texts.empty())
    return core::Error{fmt::format("column '{}' takes numbers, not texts", column.name)};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const double number = column.numbers[place_of(column, i)];
    constexpr auto kMost = static_cast<double>(cli::kMostMessageSize);
    if (!(number >= 1 && number <= kMost && number == std::floor(number))) {
      return core::Error{fmt::format("{} of question {} is {}, not a whole number from 1 to {}",
                                     column.name, i, number, cli::kMostMessageSize)};
    }
    messages[i].*size = static_cast<Size>(number);
  }
  return {};
}

template <class Word>
core::Status set_words(const store::QuestionColumn& column,
                       const cli::Choices<Word>& choices,
                       Word Cell::*word,
                       std::vector<Cell>& messages) {
  if (!column.numbers.empty())
    return core::Error{fmt::format("column '{}' takes texts, not numbers", column.name)};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const char* text = column.texts[place_of(column, i)];
    const std::string_view asked = text == nullptr ? "" : text;
    const auto found = std::find_if(choices.begin(), choices.end(),
                                    [&](const auto& choice) { return choice.first == asked; });
    if (found == choices.end()) {
      return core::Error{
          fmt::format("{} of question {}: {}", column.name, i,
                      cli::choice_problem(std::string(asked), cli::names_of(choices)))};
    }
    messages[i].*word = found->second;
  }
  return {};
}

core::Status set_column(const store::QuestionColumn& column, std::vector<Cell>& messages) {
  if (column.name == "tp") return set_sizes(column, &Cell::world_size, messages);
  if (column.name == "hidden") return set_sizes(column, &Cell::hidden_size, messages);
  if (column.name == "tokens") return set_sizes(column, &Cell::num_tokens, messages);
  if (column.name == "fusion")
    return set_words(column, cli::fusion_choices(), &Cell::fusion, messages);
  if (column.name == "dtype")
    return set_words(column, cli::data_type_choices(), &Cell::data_type, messages);
  const std::string near = core::nearest(column.name, kColumns);
  return core::Error{fmt::format(
      "there is no column '{}'; {}", column.name,
      near.empty() ? "there are " + core::join(kColumns, ", ") : "did you mean '" + near + "'?")};
}

core::Result<std::vector<Cell>> messages_of(const QuestionColumns& columns, const Cell& defaults) {
  std::vector<Cell> messages(ASSAY_TRY(store::num_questions(columns)), defaults);
  for (const store::QuestionColumn& column : columns)
    ASSAY_TRY(set_column(column, messages));
  for (std::size_t i = 0; i < kRequired; ++i) {
    const auto is_it = [&](const auto& column) { return column.name == kColumns[i]; };
    if (std::none_of(columns.begin(), columns.end(), is_it))
      return core::Error{fmt::format("the questions lack the column '{}'", kColumns[i])};
  }
  return messages;
}

int lookup(const assay_strategies& strategies, const assay_questions& questions, Result& result) {
  const auto columns = question_columns(questions);
  if (!columns.ok()) return ended(ASSAY_WRONG_USAGE, columns.error().message);
  const auto messages = messages_of(columns.value(), strategies.defaults);
  if (!messages.ok()) return ended(ASSAY_WRONG_USAGE, messages.error().message);
  const auto found = strategies.source.lookup(messages.value());
  if (result.stopped()) return ended(ASSAY_STOPPED, "interrupted");
  if (!found.ok()) return ended(ASSAY_FAILED, found.error().message);
  result.take_columns(columns_of(found.value()));
  for (const Message& message : strategies.messages)
    message.is_warning ? result.take_warning(message.text) : result.take_note(message.text);
  return ended(ASSAY_OK, "");
}

std::vector<Message> all_messages(const Result& said) {
  std::vector<Message> messages;
  for (std::size_t i = 0; i < said.num_messages(); ++i)
    messages.push_back(*said.message(i));
  return messages;
}

int open(const char* name, const std::vector<std::string>& options, assay_strategies** strategies) {
  const auto arguments = cli::tuning_arguments(name, options);
  if (!arguments.ok()) return ended(ASSAY_WRONG_USAGE, arguments.error().message);
  Result said;
  const core::WorkingFor working(&said);
  auto source = cli::open_strategies(arguments.value());
  if (!source.ok()) return ended(ASSAY_FAILED, source.error().message);
  Cell defaults;
  defaults.data_type = arguments.value().tuning.data_type;
  *strategies = new assay_strategies{std::move(source.value()), defaults, all_messages(said)};
  return ended(ASSAY_OK, "");
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;  // NOLINT: what follows is C's

int assay_strategies_open(const char* name,
                          const char* const* options,
                          size_t num_options,
                          assay_strategies** strategies) {
  return guarded([&] {
    if (strategies != nullptr) *strategies = nullptr;
    if (name == nullptr || strategies == nullptr || (options == nullptr && num_options > 0))
      return ended(ASSAY_WRONG_USAGE, "name, options and strategies must not be null");
    if (std::find(options, options + num_options, nullptr) != options + num_options)
      return ended(ASSAY_WRONG_USAGE, "an option is null");
    return open(name, {options, options + num_options}, strategies);
  });
}

int assay_strategies_lookup(assay_strategies* strategies,
                            const assay_questions* questions,
                            const assay_call* call,
                            assay_result** result) {
  return guarded([&] {
    if (result != nullptr) make_result(call, result);
    if (strategies == nullptr || questions == nullptr || result == nullptr)
      return ended(ASSAY_WRONG_USAGE, "strategies, questions and result must not be null");
    if (!is_whole(call)) return ended(ASSAY_WRONG_USAGE, kCallWithoutSize);
    const assay::core::WorkingFor working(&(*result)->taken);
    return lookup(*strategies, *questions, (*result)->taken);
  });
}

void assay_strategies_close(assay_strategies* strategies) {
  delete strategies;
}
