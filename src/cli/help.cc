#include "cli/help.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"
#include "cli/options.h"
#include "core/text.h"

namespace assay::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kWidestTerm = 28;  // longer terms stand on a line of their own

// Breaks at spaces; every line after the first starts with `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::istringstream words{std::string(text)};
  std::string result;
  std::size_t column = indent;
  for (std::string word; words >> word; column += word.size()) {
    if (column > indent && column + 1 + word.size() > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
  }
  return result;
}

// Builds a page section by section.
class Page {
 public:
  Page(std::size_t width, Headings headings) : width_(width), headings_(headings) {}

  void heading(std::string_view title) {
    if (!text_.empty()) text_ += '\n';
    text_ += headings_ == Headings::kBold ? fmt::format("\033[1m{}\033[0m\n", title)
                                          : fmt::format("{}\n", title);
  }

  void paragraph(std::string_view words, std::size_t hanging = 0) {
    text_ += std::string(kIndent, ' ') + wrapped(words, kIndent + hanging, width_) + '\n';
  }

  void paragraphs(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find("\n\n"), text.size());
      paragraph(text.substr(0, end));
      text.remove_prefix(std::min(end + 2, text.size()));
      if (!text.empty()) text_ += '\n';
    }
  }

  void verbatim(std::string_view lines) {
    std::istringstream stream{std::string(lines)};
    for (std::string line; std::getline(stream, line);)
      text_ += std::string(kIndent, ' ') + line + '\n';
  }

  // A term and its explanation, in two columns; `term_width` is the widest term of its list.
  void entry(std::string_view term, std::string_view explanation, std::size_t term_width) {
    const std::size_t column = kIndent + std::min(term_width, kWidestTerm) + 2;
    std::string line = std::string(kIndent, ' ') + std::string(term);
    if (line.size() + 2 > column) {
      text_ += line + '\n';
      line.clear();
    }
    line.resize(column, ' ');
    text_ += line + wrapped(explanation, column, width_) + '\n';
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::size_t width_;
  Headings headings_;
  std::string text_;
};

std::string option_term(const OptionInfo& option) {
  if (option.positional) return option.names[0] + (option.repeatable ? "..." : "");
  // Long names stand in one column whether or not a short one comes before.
  const std::string gap = option.names[0].starts_with("--") ? "    " : "";
  const std::string value = option.value.empty() ? "" : " " + option.value;
  return gap + core::join(option.names, ", ") + value;
}

std::string option_explanation(const OptionInfo& option) {
  std::string text = option.help;
  if (!option.default_text.empty()) text += fmt::format(" [default: {}]", option.default_text);
  if (option.required && !option.positional) text += " (required)";
  return text;
}

// The one that its command prefers: the first.
const std::string& long_name(const OptionInfo& option) {
  const auto found = std::find_if(option.names.begin(), option.names.end(),
                                  [](const std::string& name) { return name.starts_with("--"); });
  return found == option.names.end() ? option.names.front() : *found;
}

// "assay trace compare --baseline DIR --test DIR [options]"
std::string synopsis(const CommandSpec& spec, const std::vector<OptionInfo>& options) {
  std::string text = typed_name(spec);
  for (const OptionInfo& option : options) {
    if (option.required && !option.positional) {
      text += fmt::format(" {} {}", long_name(option), option.value);
    }
  }
  text += is_group(spec) ? " COMMAND [options]" : " [options]";
  for (const OptionInfo& option : options) {
    if (!option.positional) continue;
    const std::string term = option_term(option);
    text += option.required ? " " + term : fmt::format(" [{}]", term);
  }
  if (spec.rest[0] != '\0') text += fmt::format(" -- {}", spec.rest);
  return text;
}

std::size_t widest(const std::vector<std::string>& terms) {
  std::size_t width = 0;
  for (const std::string& term : terms)
    width = std::max(width, term.size());
  return width;
}

void add_commands(Page& page, const CommandSpec& spec) {
  if (subcommands(spec).empty()) return;
  page.heading("COMMANDS");
  std::vector<std::string> words;
  for (const CommandSpec* command : subcommands(spec))
    words.emplace_back(last_word(*command));
  for (const CommandSpec* command : subcommands(spec))
    page.entry(last_word(*command), command->summary, widest(words));
}

std::vector<std::string> groups_of(const std::vector<OptionInfo>& options) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : options) {
    const bool known = std::find(groups.begin(), groups.end(), option.group) != groups.end();
    if (!option.positional && !known) groups.push_back(option.group);
  }
  // The plain "Options", which every command has, come last.
  if (!groups.empty()) std::rotate(groups.begin(), groups.begin() + 1, groups.end());
  return groups;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Options without a group are completed, but the page's text tells of them.
std::vector<OptionInfo> shown_options(std::vector<OptionInfo> options) {
  const auto is_hidden = [](const OptionInfo& option) {
    return !option.positional && option.group.empty();
  };
  options.erase(std::remove_if(options.begin(), options.end(), is_hidden), options.end());
  return options;
}

void add_options(Page& page, const CommandSpec& spec, const std::vector<OptionInfo>& all) {
  const std::vector<OptionInfo> options = shown_options(all);
  std::vector<std::string> terms;
  terms.reserve(options.size());
  for (const OptionInfo& option : options)
    terms.push_back(option_term(option));
  const auto add_all = [&](const std::string& title, const auto& belongs) {
    bool first = true;
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (!belongs(options[i])) continue;
      if (first) page.heading(upper(title));
      first = false;
      page.entry(terms[i], option_explanation(options[i]), widest(terms));
    }
  };
  add_all("Arguments", [](const OptionInfo& option) { return option.positional; });
  if (spec.rest[0] != '\0') {
    page.heading("ARGUMENTS");
    page.entry(spec.rest, spec.rest_help, widest(terms));
  }
  for (const std::string& group : groups_of(options)) {
    add_all(group,
            [&](const OptionInfo& option) { return !option.positional && option.group == group; });
  }
}

void add_exit_status(Page& page, const CommandSpec& spec) {
  const std::string_view regression = spec.regression_means;
  page.heading("EXIT STATUS");
  page.entry("0", "success", 3);
  page.entry("1", "failed; the reason is on standard error", 3);
  page.entry("2", "wrong usage", 3);
  if (!regression.empty()) page.entry("3", regression, 3);
  page.entry("130", "interrupted", 3);
}

}  // namespace

std::string help_text(const CommandSpec& spec, std::size_t width, Headings headings) {
  const std::vector<OptionInfo> options = options_of(spec);
  Page page(width, headings);
  page.heading("NAME");
  page.paragraph(fmt::format("{} - {}", typed_name(spec), spec.summary));
  page.heading("SYNOPSIS");
  page.paragraph(synopsis(spec, options), 6);
  if (spec.description[0] != '\0') page.heading("DESCRIPTION");
  std::string description = spec.description;
  if (spec.more_description != nullptr) description += "\n\n" + spec.more_description();
  page.paragraphs(description);
  add_commands(page, spec);
  add_options(page, spec, options);
  add_exit_status(page, spec);
  if (spec.examples[0] != '\0') page.heading("EXAMPLES");
  page.verbatim(spec.examples);
  return page.text();
}

}  // namespace assay::cli
