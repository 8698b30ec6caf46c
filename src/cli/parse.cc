#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>

#include "cli/command_tree.h"
#include "cli/options.h"
#include "core/text.h"

namespace assay::cli {
namespace {

CLI::Option* add_target(CLI::App& app, const OptionInfo& info, const OptionTarget& target) {
  std::vector<std::string> all = info.names;
  if (info.is_argument()) all.push_back(info.argument);
  const std::string names = core::join(all, ",");
  const auto add = [&](const auto& to) -> CLI::Option* {
    using Target = std::decay_t<decltype(to)>;
    if constexpr (std::is_same_v<Target, bool*>) {
      return app.add_flag(names, *to, info.help);
    } else if constexpr (std::is_same_v<Target, std::function<void()>>) {
      return app.add_flag_callback(names, to, info.help);
    } else if constexpr (std::is_same_v<Target, std::function<void(double)>>) {
      return app.add_option_function<double>(names, to, info.help);
    } else if constexpr (std::is_same_v<Target, std::function<void(const std::string&)>>) {
      return app.add_option_function<std::string>(names, to, info.help);
    } else {
      return app.add_option(names, *to, info.help);
    }
  };
  CLI::Option* option = std::visit(add, target);
  const bool takes_one = std::holds_alternative<std::vector<std::string>*>(target) ||
                         std::holds_alternative<std::vector<std::filesystem::path>*>(target);
  if (takes_one && !info.repeatable) {
    option->expected(1)->allow_extra_args(false)->multi_option_policy(
        CLI::MultiOptionPolicy::TakeAll);
  }
  return option;
}

// Says that a whole number is more than the option's type holds, which CLI11 takes for the largest
// one that it does.
template <class Number>
std::string overflow_problem(const std::string& text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc::result_out_of_range || parsed.ptr != end) return "";
  return fmt::format("'{}' is beyond the whole numbers from {} to {}", text,
                     std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max());
}

template <class Target>
struct Assigned {
  using Type = Target;
};

template <class Value>
struct Assigned<std::optional<Value>> {
  using Type = Value;
};

// "" for a text that is none of a whole number's, or of an option without one.
std::string overflow_problem_of(const OptionTarget& target, const std::string& text) {
  const auto problem = [&](const auto& to) -> std::string {
    using Target = std::decay_t<decltype(to)>;
    if constexpr (std::is_pointer_v<Target>) {
      using Value = typename Assigned<std::remove_pointer_t<Target>>::Type;
      if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>)
        return overflow_problem<Value>(text);
    }
    return "";
  };
  return std::visit(problem, target);
}

bool offers(const OptionInfo& option, const std::string& word) {
  if (option.kind != ValueKind::kChoice && option.kind != ValueKind::kChoiceList) return false;
  const std::vector<std::string> choices = choices_of(option);
  return std::find(choices.begin(), choices.end(), word) != choices.end();
}

// Says which other option takes a wrong value, instead of a value that is spelt like it.
ValueCheck with_hint(const App& declared, const Option& checked, const ValueCheck& check) {
  return [&declared, &checked, check](const std::string& value) {
    std::string problem = check(value);
    if (problem.empty()) return problem;
    for (const Option& other : declared.all()) {
      if (&other == &checked || other.info().names.empty() || !offers(other.info(), value))
        continue;
      return fmt::format("{}; {} takes '{}'", problem.substr(0, problem.find(';')),
                         other.info().names.back(), value);
    }
    return problem;
  };
}

// Declares the options to CLI11.
void declare_all(CLI::App& app, const App& declared) {
  app.set_help_flag("");
  std::map<const Option*, CLI::Option*> added;
  for (const Option& option : declared.all()) {
    CLI::Option* parsed = add_target(app, option.info(), option.rules().target);
    added[&option] = parsed;
    if (!option.info().value.empty()) parsed->type_name(option.info().value);
    parsed->required(option.info().required);
    if (option.rules().delimiter != '\0') parsed->delimiter(option.rules().delimiter);
    for (const ValueCheck& check : option.rules().checks)
      parsed->check(with_hint(declared, option, check));
    parsed->check([&target = option.rules().target](const std::string& text) {
      return overflow_problem_of(target, text);
    });
  }
  for (const Option& option : declared.all()) {
    for (const Option* other : option.rules().needs)
      added.at(&option)->needs(added.at(other));
    for (const Option* other : option.rules().excludes)
      added.at(&option)->excludes(added.at(other));
  }
}

void note_given(const CLI::App& app, const App& declared) {
  if (declared.given() == nullptr) return;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->count() == 0) continue;
    for (const std::string& name : option->get_lnames())
      declared.given()->insert("--" + name);
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names{"--help"};
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  return names;
}

std::string shown_name(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : option.get_name();
}

std::string last_positional(const CLI::App& app) {
  std::string name;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_positional()) name = option->get_name(true);
  }
  return name;
}

// Explains an argument that the parser could not place: an unknown option, or one argument too
// many.
std::string unexpected(const CommandSpec& spec, const CLI::App& app, const std::string& argument) {
  if (!argument.starts_with('-') && takes_rest(spec)) {
    return fmt::format("unexpected argument '{}': {} comes after '--'", argument, spec.rest);
  }
  if (!argument.starts_with('-')) {
    const std::string last = last_positional(app);
    return last.empty() ? fmt::format("unexpected argument '{}': it takes options only", argument)
                        : fmt::format("unexpected argument '{}' after {}", argument, last);
  }
  const std::string name = argument.substr(0, argument.find('='));
  const std::string near =
      name.starts_with("--") ? core::nearest(name, option_names(app)) : std::string();
  if (name == near) return name + " takes no value";
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return fmt::format("unknown option '{}'{}", name, hint);
}

std::string missing(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_required() && option->empty()) names.push_back(shown_name(*option));
  }
  return core::join(names, " and ") + (names.size() == 1 ? " is required" : " are required");
}

// Explains a wrong number of values. Only the text of CLI11's message says which option has it.
std::string wrong_count(const CLI::App& app, const std::string& message) {
  for (const CLI::Option* option : app.get_options({})) {
    const std::string name = shown_name(*option);
    if (!message.starts_with(name + ":") && !message.starts_with(option->get_name() + ":"))
      continue;
    if (option->get_items_expected_max() == 0) return name + " takes no value";
    if (option->count() > 1) return name + " may be given only once";
    return fmt::format("{} needs a value ({})", name, option->get_type_name());
  }
  return message;
}

// Finds an option whose value is the name of another option, which means that the value was
// forgotten. CLI11 accepts such a value.
std::string forgotten_value(const CLI::App& app) {
  const std::vector<std::string> names = option_names(app);
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_lnames().empty() && option->get_snames().empty()) continue;
    for (const std::string& value : option->results()) {
      if (std::find(names.begin(), names.end(), value) == names.end()) continue;
      return fmt::format("{} needs a value ({}), found '{}'", option->get_name(),
                         option->get_type_name(), value);
    }
  }
  return "";
}

std::string explain(const CommandSpec& spec, const CLI::App& app, const CLI::ParseError& error) {
  if (std::string forgotten = forgotten_value(app); !forgotten.empty()) return forgotten;
  if (const auto extras = app.remaining(); !extras.empty())
    return unexpected(spec, app, extras.front());
  if (error.get_name() == "RequiredError") return missing(app);
  if (error.get_name() == "ArgumentMismatch") return wrong_count(app, error.what());
  return error.what();
}

std::string parse_problem(const CommandSpec& spec,
                          CLI::App& app,
                          const std::vector<std::string>& arguments) {
  try {
    // CLI11 takes the arguments in reverse order.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return forgotten_value(app);
  } catch (const CLI::ParseError& error) {
    return explain(spec, app, error);
  }
}

}  // namespace

core::Error wrong_usage(const CommandSpec& spec, const std::string& problem) {
  const std::string name = typed_name(spec);
  return core::Error{
      fmt::format("{}: {} (see '{} --help')", name.substr(name.find(' ') + 1), problem, name)};
}

core::Result<std::unique_ptr<Command>> parse_command(const CommandSpec& spec,
                                                     const std::vector<std::string>& arguments) {
  App declared;
  std::unique_ptr<Command> command = spec.make(declared);
  CLI::App app;
  declare_all(app, declared);
  // The parser must not see the arguments of the other program.
  const auto cut =
      takes_rest(spec) ? std::find(arguments.begin(), arguments.end(), "--") : arguments.end();
  std::string problem = parse_problem(spec, app, {arguments.begin(), cut});
  if (cut != arguments.end()) command->take_rest({cut + 1, arguments.end()});
  if (problem.empty()) {
    note_given(app, declared);
    const core::Status checked = command->check();
    if (checked.ok()) return command;
    problem = checked.error().message;
  }
  return wrong_usage(spec, problem);
}

}  // namespace assay::cli
