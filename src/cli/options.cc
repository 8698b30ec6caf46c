#include "cli/options.h"

#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "cli/command.h"

namespace assay::cli {
namespace {

// The comment at the top of cli/options.h describes the convention.
ValueKind kind_of(const std::string& value) {
  if (value.empty()) return ValueKind::kNone;
  if (std::islower(static_cast<unsigned char>(value.front())) != 0) {
    return value.find(',') == std::string::npos ? ValueKind::kChoice : ValueKind::kChoiceList;
  }
  for (const char* word : {"FILE", "TRACE", "STORE"}) {
    if (value.find(word) != std::string::npos) return ValueKind::kFile;
  }
  return value.ends_with("DIR") ? ValueKind::kFolder : ValueKind::kText;
}

bool is_vector(const OptionTarget& target) {
  return std::holds_alternative<std::vector<std::string>*>(target) ||
         std::holds_alternative<std::vector<std::filesystem::path>*>(target);
}

OptionInfo plain_switch(std::vector<std::string> names, const char* help) {
  OptionInfo info;
  info.names = std::move(names);
  info.help = help;
  return info;
}

// Says what is wrong with a text that is no whole number from `least` on, or above what its type
// holds.
template <class Number>
std::string whole_problem(const std::string& text, Number least) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const bool is_whole = parsed.ptr == end;
  if (is_whole && parsed.ec == std::errc() && number >= least) return "";
  if (is_whole && parsed.ec == std::errc::result_out_of_range && !text.starts_with('-')) {
    return fmt::format("'{}' is not a whole number from {} to {}", text, least,
                       std::numeric_limits<Number>::max());
  }
  return fmt::format("'{}' is not a whole number of at least {}", text, least);
}

}  // namespace

Option::Option(const std::string& names, OptionTarget target, std::string help) {
  for (std::string& name : split(names, ','))
    (name.starts_with('-') ? info_.names.emplace_back() : info_.argument) = std::move(name);
  // Help and completion show short names first.
  std::stable_partition(info_.names.begin(), info_.names.end(),
                        [](const std::string& name) { return !name.starts_with("--"); });
  info_.help = std::move(help);
  info_.repeatable = is_vector(target);
  rules_.target = std::move(target);
  info_.value = info_.argument;
  info_.kind = kind_of(info_.value);
}

Option* Option::type_name(std::string name) {
  if (info_.is_argument()) return this;
  info_.value = std::move(name);
  info_.kind = kind_of(info_.value);
  return this;
}

Option* Option::one_of(const std::vector<std::string>& words) {
  type_name(core::join(words, "|"));
  info_.kind = ValueKind::kChoice;
  return this;
}

Option* Option::list_of(const std::vector<std::string>& words) {
  type_name(core::join(words, ","));
  info_.kind = ValueKind::kChoiceList;
  return this;
}

Option* Option::suggest(std::vector<std::string> words) {
  info_.suggestions = std::move(words);
  return this;
}

Option* Option::default_str(std::string text) {
  info_.default_text = std::move(text);
  return this;
}

Option* Option::group(std::string heading) {
  info_.group = std::move(heading);
  return this;
}

Option* Option::required(bool yes) {
  info_.required = yes;
  return this;
}

Option* Option::check(ValueCheck check) {
  rules_.checks.push_back(std::move(check));
  return this;
}

Option* Option::needs(const Option* other) {
  rules_.needs.push_back(other);
  return this;
}

Option* Option::excludes(const Option* other) {
  rules_.excludes.push_back(other);
  return this;
}

Option* Option::delimiter(char separator) {
  rules_.delimiter = separator;
  return this;
}

Option* Option::one_value_each() {
  info_.repeatable = false;
  info_.one_value_each = true;
  return this;
}

Option* App::add_option(const std::string& names, OptionTarget target, std::string help) {
  return &options_.emplace_back(names, std::move(target), std::move(help));
}

Option* App::add_flag(const std::string& names, bool& target, std::string help) {
  return add_option(names, OptionTarget(&target), std::move(help));
}

Option* App::add_flag(const std::string& names, std::function<void()> call, std::string help) {
  return add_option(names, OptionTarget(std::move(call)), std::move(help));
}

Option* App::find(const std::string& name) {
  for (Option& option : options_) {
    const std::vector<std::string>& names = option.info().names;
    if (std::find(names.begin(), names.end(), name) != names.end()) return &option;
  }
  return nullptr;
}

std::vector<OptionInfo> options_of(const CommandSpec& spec) {
  std::vector<OptionInfo> infos{plain_switch({"-h", "--help"}, "show this help and exit")};
  if (spec.name[0] == '\0') {
    infos.push_back(
        plain_switch({"-V", "--version"}, "show the version, the build and the libraries"));
  }
  if (spec.make == nullptr) return infos;
  App app;
  const std::unique_ptr<Command> command = spec.make(app);
  for (const Option& option : app.all())
    infos.push_back(option.info());
  return infos;
}

std::vector<std::string> choices_of(const OptionInfo& option) {
  return split(option.value, option.kind == ValueKind::kChoiceList ? ',' : '|');
}

bool is_path(const OptionInfo& option) {
  return option.kind == ValueKind::kFile || option.kind == ValueKind::kFolder;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string choice_problem(const std::string& word, std::span<const std::string> choices) {
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return "";
  const std::string near = core::nearest(word, choices);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return fmt::format("'{}' is not {}{}{}", word, choices.size() > 1 ? "one of " : "",
                     core::join(choices, ", "), hint);
}

std::string whole_number_problem(const std::string& text) {
  return whole_problem<int>(text, 1);
}

std::string count_problem(const std::string& text) {
  return whole_problem<std::uint64_t>(text, 0);
}

ValueCheck count_up_to(std::int64_t most) {
  return [most](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && number >= 1 && number <= most) return "";
    return fmt::format("'{}' is not a whole number from 1 to {}", text, most);
  };
}

std::optional<double> finite_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string positive_number_problem(const std::string& text) {
  if (finite_number(text).value_or(0) > 0) return "";
  return fmt::format("'{}' is not a number above 0", text);
}

std::string page_file_problem(const std::string& text) {
  if (text.ends_with(".html")) return "";
  return fmt::format("'{}' does not end in .html", text);
}

std::string not_negative_problem(const std::string& text) {
  if (finite_number(text).value_or(-1) >= 0) return "";
  return fmt::format("'{}' is not a number of at least 0", text);
}

}  // namespace assay::cli
