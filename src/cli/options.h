// What commands need to declare their options.
//
// An option's type name says what its value is; help shows it and completion reads it:
//   "table|json|csv"   one of these words           "xlsx,csv,json"   some of these, by commas
//   "DIR"              a folder                     "FILE", "TRACE"   a file or folder
//   anything else in capitals                       free text
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"

namespace assay::cli {

std::vector<std::string> split(const std::string& text, char separator);

// "" when `word` is one of the choices, otherwise what is wrong and which choice is near.
std::string choice_problem(const std::string& word, std::span<const std::string> choices);

// Checks for CLI::Option::check: "" or what is wrong.
std::string whole_number_problem(const std::string& text);
std::string count_problem(const std::string& text);  // a whole number of at least 0
std::string positive_number_problem(const std::string& text);
std::string not_negative_problem(const std::string& text);

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

template <class Value>
std::vector<std::string> names_of(const Choices<Value>& choices) {
  std::vector<std::string> names;
  for (const auto& choice : choices)
    names.push_back(choice.first);
  return names;
}

template <class Value>
Value value_of(const Choices<Value>& choices, const std::string& name) {
  const auto is_it = [&](const auto& choice) { return choice.first == name; };
  return std::find_if(choices.begin(), choices.end(), is_it)->second;
}

// An option whose value is one of a few words. The first choice is the default that help shows,
// unless the caller sets another text by default_str().
template <class Value>
CLI::Option* add_choice(CLI::App& app,
                        const std::string& names,
                        Value& target,
                        const Choices<Value>& choices,
                        const std::string& help) {
  const std::vector<std::string> words = names_of(choices);
  const auto assign = [&target, choices](const std::string& word) {
    target = value_of(choices, word);
  };
  return app.add_option_function<std::string>(names, assign, help)
      ->type_name(core::join(words, "|"))
      ->default_str(words.front())
      ->check([words](const std::string& word) { return choice_problem(word, words); });
}

// An option whose value is some of a few words, by commas. All of them are the default.
template <class Value>
CLI::Option* add_choice_list(CLI::App& app,
                             const std::string& names,
                             std::vector<Value>& target,
                             const Choices<Value>& choices,
                             const std::string& help) {
  const std::vector<std::string> words = names_of(choices);
  const auto assign = [&target, choices](const std::string& list) {
    target.clear();
    for (const std::string& word : split(list, ','))
      target.push_back(value_of(choices, word));
  };
  const auto check = [words](const std::string& list) {
    for (const std::string& word : split(list, ',')) {
      if (std::string problem = choice_problem(word, words); !problem.empty()) return problem;
    }
    return std::string();
  };
  return app.add_option_function<std::string>(names, assign, help)
      ->type_name(core::join(words, ","))
      ->default_str(core::join(words, ","))
      ->check(check);
}

}  // namespace assay::cli
