// The options that commands declare. Only cli/parse.cc knows the library that parses them.
//
// An option's type name describes its value. Help shows it and completion reads it:
//   "table|json|csv"   one of these words           "xlsx,csv,json"   a list of these words
//   "DIR"              a folder
//   "FILE", "TRACE", "STORE"   a file or folder
//   anything else in capitals                       free text
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "core/text.h"

namespace assay::cli {

class Command;
struct CommandSpec;

// The variable that stores an option's value, or the function that takes the value. A vector takes
// several values.
using OptionTarget = std::variant<std::string*,
                                  std::filesystem::path*,
                                  int*,
                                  unsigned*,
                                  std::int64_t*,
                                  std::uint64_t*,
                                  double*,
                                  std::optional<std::string>*,
                                  std::optional<int>*,
                                  std::optional<unsigned>*,
                                  std::optional<std::int64_t>*,
                                  std::optional<std::uint64_t>*,
                                  std::optional<double>*,
                                  std::vector<std::string>*,
                                  std::vector<std::filesystem::path>*,
                                  std::function<void(const std::string&)>,
                                  std::function<void(double)>,
                                  bool*,                   // a switch
                                  std::function<void()>>;  // a switch

// Returns "", or a text that says what is wrong with the value.
using ValueCheck = std::function<std::string(const std::string& value)>;

template <class Value>
concept OptionValue = std::constructible_from<OptionTarget, Value*>;

enum class ValueKind { kNone, kChoice, kChoiceList, kFolder, kFile, kText };

// The properties of an option that help and completion use.
struct OptionInfo {
  std::vector<std::string> names;  // "-o", "--output"; none if only its place says which it is
  std::string argument;            // "TRACE"; empty if a name must say which option it is
  std::string help;
  std::string value;  // "DIR"; empty for a switch
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> suggestions = {};  // words that completion offers besides
  std::string default_text;
  std::string group = "Options";  // heading in help
  bool required = false;
  bool repeatable = false;      // takes all values that follow
  bool one_value_each = false;  // takes several values, each behind a name of its own

  [[nodiscard]] bool is_argument() const { return !argument.empty(); }

  // Returns whether it may be given again, for one more value.
  [[nodiscard]] bool takes_several() const { return repeatable || one_value_each; }
};

class Option;

// The properties of an option that the parser uses.
struct OptionRules {
  OptionTarget target;
  std::vector<ValueCheck> checks;
  std::vector<const Option*> needs;
  std::vector<const Option*> excludes;
  char delimiter = '\0';  // between values in one word
};

// A declared option, which further calls describe:
// app.add_option(...)->type_name("DIR")->required().
class Option {
 public:
  // `names` are separated by commas: "-o,--output". A name without a dash is that of an argument,
  // which needs no other name: "TRACE" or "DIR,-i,--input".
  Option(const std::string& names, OptionTarget target, std::string help);

  Option* type_name(std::string name);
  // Says that the value is one of these words, or a list of them, in capitals or not.
  Option* one_of(const std::vector<std::string>& words);
  Option* list_of(const std::vector<std::string>& words);
  Option* default_str(std::string text);            // only shown; the target holds the default
  Option* suggest(std::vector<std::string> words);  // completion offers them besides files
  Option* group(std::string heading);               // "" keeps the option out of the help page
  Option* required(bool yes = true);
  Option* check(ValueCheck check);
  Option* needs(const Option* other);
  Option* excludes(const Option* other);

  // For vectors: allows several values in one word, separated by this character.
  Option* delimiter(char separator);

  // For vectors: takes only one value each time the option is given, not all words that follow.
  Option* one_value_each();

  [[nodiscard]] const OptionInfo& info() const { return info_; }

  [[nodiscard]] const OptionRules& rules() const { return rules_; }

 private:
  OptionInfo info_;
  OptionRules rules_;
};

// Collects the options that a command declares, in the order of declaration. Their addresses do not
// change.
class App {
 public:
  Option* add_option(const std::string& names, OptionTarget target, std::string help);

  template <class Value>

  requires std::constructible_from<OptionTarget, Value*> Option* add_option(
      const std::string& names, Value& target, std::string help) {
    return add_option(names, OptionTarget(&target), std::move(help));
  }

  Option* add_flag(const std::string& names, bool& target, std::string help);
  Option* add_flag(const std::string& names, std::function<void()> call, std::string help);

  // Returns the option of this name, such as "--output", or nullptr.
  Option* find(const std::string& name);

  // Makes parsing add the names of the options that were given, such as "--output", to `names`.
  void note_given(std::set<std::string>& names) { given_ = &names; }

  [[nodiscard]] const std::deque<Option>& all() const { return options_; }

  [[nodiscard]] std::set<std::string>* given() const { return given_; }

 private:
  std::deque<Option> options_;
  std::set<std::string>* given_ = nullptr;
};

// Returns --help and then the options of a command in the order of their declaration. A group has
// only --help.
std::vector<OptionInfo> options_of(const CommandSpec& spec);

// Returns the command ready to run. The error is one line that says what is wrong with the
// arguments.
core::Result<std::unique_ptr<Command>> parse_command(const CommandSpec& spec,
                                                     const std::vector<std::string>& arguments);

// Returns the line that says what is wrong with the arguments of a command, and where its help is.
core::Error wrong_usage(const CommandSpec& spec, const std::string& problem);

// Returns the words of a kChoice or kChoiceList value.
std::vector<std::string> choices_of(const OptionInfo& option);

// Returns whether its value is a file or a folder, or may be one beside suggested words.
bool is_path(const OptionInfo& option);

std::vector<std::string> split(const std::string& text, char separator);

// Returns "" if `word` is one of the choices, and otherwise a text that says what is wrong and
// suggests a similar choice.
std::string choice_problem(const std::string& word, std::span<const std::string> choices);

// Checks for Option::check.
std::string whole_number_problem(const std::string& text);  // from 1 to the largest int
std::string count_problem(const std::string& text);         // a whole number of at least 0
std::string positive_number_problem(const std::string& text);
// A check for a whole number from 1 to `most`.
ValueCheck count_up_to(std::int64_t most);
std::string not_negative_problem(const std::string& text);
std::string page_file_problem(const std::string& text);  // a name of a page, so of no trace

// Returns the finite number that is the whole text, for options that take more than a number.
std::optional<double> finite_number(const std::string& text);

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

// Adds an option whose value is one of a few words, which `assign` gets the value of. Help shows
// the first choice as the default, unless the caller sets another text by default_str().
template <class Value, class Assign>
Option* add_choice_for(App& app,
                       const std::string& names,
                       const Choices<Value>& choices,
                       const std::string& help,
                       Assign assign) {
  const std::vector<std::string> words = names_of(choices);
  const auto assign_value = [assign, choices](const std::string& word) {
    assign(value_of(choices, word));
  };
  return app.add_option(names, assign_value, help)
      ->one_of(words)
      ->default_str(words.front())
      ->check([words](const std::string& word) { return choice_problem(word, words); });
}

template <class Value>
Option* add_choice(App& app,
                   const std::string& names,
                   Value& target,
                   const Choices<Value>& choices,
                   const std::string& help) {
  return add_choice_for(app, names, choices, help,
                        [&target](const Value& value) { target = value; });
}

// The same for what may stay unset.
template <class Value>
Option* add_choice(App& app,
                   const std::string& names,
                   std::optional<Value>& target,
                   const Choices<Value>& choices,
                   const std::string& help) {
  return add_choice_for(app, names, choices, help,
                        [&target](const Value& value) { target = value; });
}

// Adds an option whose value is a list of words, separated by commas, each once. Help shows all of
// them as the default.
template <class Value>
Option* add_choice_list(App& app,
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
    std::set<std::string> seen;
    for (const std::string& word : split(list, ',')) {
      if (std::string problem = choice_problem(word, words); !problem.empty()) return problem;
      if (!seen.insert(word).second) return "'" + word + "' is there twice";
    }
    return std::string();
  };
  return app.add_option(names, assign, help)
      ->list_of(words)
      ->default_str(core::join(words, ","))
      ->check(check);
}

}  // namespace assay::cli
