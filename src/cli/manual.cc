#include "cli/manual.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "cli/command_tree.h"
#include "cli/options.h"
#include "core/text.h"

namespace assay::cli {

std::vector<std::string> paragraphs_of(std::string_view text) {
  std::vector<std::string> paragraphs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    paragraphs.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::vector<const CommandSpec*> with_all_below(const CommandSpec& spec) {
  std::vector<const CommandSpec*> commands{&spec};
  for (const CommandSpec* below : subcommands(spec)) {
    const std::vector<const CommandSpec*> more = with_all_below(*below);
    commands.insert(commands.end(), more.begin(), more.end());
  }
  return commands;
}

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kWidestTerm = 28;  // longer terms get their own line
constexpr std::size_t kExitCodeWidth = 3;

std::string option_explanation(const OptionInfo& option) {
  std::string text = option.help;
  if (!option.default_text.empty()) text += fmt::format(" [default: {}]", option.default_text);
  if (option.required && !option.is_argument()) text += " (required)";
  if (option.is_argument() && !option.names.empty()) {
    text += fmt::format(" (or {} {})", core::join(option.names, ", "), option.value);
  }
  return text;
}

ManualEntry option_entry(const OptionInfo& option) {
  if (option.is_argument()) {
    return {option.argument + (option.repeatable ? "..." : ""), "", option_explanation(option)};
  }
  return {core::join(option.names, ", "), option.value, option_explanation(option)};
}

// Returns the text for the first of the two columns.
std::string entry_text(const ManualEntry& entry) {
  // Long names are aligned, with or without a short name before them.
  const std::string gap = entry.term.starts_with("--") ? "    " : "";
  return gap + entry.term + (entry.value.empty() ? "" : " " + entry.value);
}

// Returns the first long name, which is the one that the command prefers.
const std::string& long_name(const OptionInfo& option) {
  const auto found = std::find_if(option.names.begin(), option.names.end(),
                                  [](const std::string& name) { return name.starts_with("--"); });
  return found == option.names.end() ? option.names.front() : *found;
}

// Returns a text such as "assay trace compare --baseline DIR --test DIR [options]".
std::string synopsis(const CommandSpec& spec, const std::vector<OptionInfo>& options) {
  std::string text = typed_name(spec);
  for (const OptionInfo& option : options) {
    if (option.required && !option.is_argument()) {
      text += fmt::format(" {} {}", long_name(option), option.value);
    }
  }
  text += is_group(spec) ? " COMMAND [options]" : " [options]";
  for (const OptionInfo& option : options) {
    if (!option.is_argument()) continue;
    const std::string term = option_entry(option).term;
    text += option.required ? " " + term : fmt::format(" [{}]", term);
  }
  if (spec.rest[0] != '\0') text += fmt::format(" -- {}", spec.rest);
  return text;
}

std::vector<std::string> groups_of(const std::vector<OptionInfo>& options) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : options) {
    const bool known = std::find(groups.begin(), groups.end(), option.group) != groups.end();
    if (!option.is_argument() && !known) groups.push_back(option.group);
  }
  // The group "Options", which every command has, comes last.
  if (!groups.empty()) std::rotate(groups.begin(), groups.begin() + 1, groups.end());
  return groups;
}

std::size_t widest(const std::vector<ManualEntry>& entries) {
  std::size_t width = 0;
  for (const ManualEntry& entry : entries)
    width = std::max(width, entry_text(entry).size());
  return width;
}

ManualSection command_section(const CommandSpec& spec, Listed listed) {
  ManualSection section{.title = "Commands"};
  if (listed == Listed::kAll) {
    for (const CommandSpec* command : with_all_below(spec)) {
      if (!is_group(*command))
        section.entries.push_back({typed_name(*command), "", command->summary});
    }
  } else {
    for (const CommandSpec* command : subcommands(spec))
      section.entries.push_back({std::string(last_word(*command)), "", command->summary});
  }
  section.entry_width = widest(section.entries);
  return section;
}

template <class Belongs>
ManualSection option_section(const std::string& title,
                             const std::vector<OptionInfo>& options,
                             Belongs belongs) {
  ManualSection section{.title = title};
  for (const OptionInfo& option : options) {
    if (belongs(option)) section.entries.push_back(option_entry(option));
  }
  return section;
}

std::vector<ManualSection> option_sections(const CommandSpec& spec,
                                           std::vector<OptionInfo> options) {
  // Options without a group are not listed, because the description explains them.
  std::erase_if(options, [](const OptionInfo& option) {
    return !option.is_argument() && option.group.empty();
  });
  std::vector<ManualSection> sections{option_section(
      "Arguments", options, [](const OptionInfo& option) { return option.is_argument(); })};
  for (const std::string& group : groups_of(options)) {
    sections.push_back(option_section(group, options, [&](const OptionInfo& option) {
      return !option.is_argument() && option.group == group;
    }));
  }
  std::size_t width = 0;
  for (const ManualSection& section : sections)
    width = std::max(width, widest(section.entries));
  for (ManualSection& section : sections)
    section.entry_width = width;
  if (spec.rest[0] != '\0') sections[0].entries.push_back({spec.rest, "", spec.rest_help});
  return sections;
}

ManualSection exit_section(const CommandSpec& spec) {
  ManualSection section{.title = "Exit status",
                        .entries = {{"0", "", "success"},
                                    {"1", "", "failed; the reason is on standard error"},
                                    {"2", "", "wrong usage"}},
                        .entry_width = kExitCodeWidth};
  if (spec.regression_means[0] != '\0') {
    section.entries.push_back({"3", "", spec.regression_means});
  }
  section.entries.push_back({"130", "", "interrupted"});
  return section;
}

// Writes a page for a terminal, section by section.
class TerminalPage {
 public:
  TerminalPage(std::size_t width, Headings headings) : width_(width), headings_(headings) {}

  void heading(std::string_view title) {
    if (!text_.empty()) text_ += '\n';
    text_ += headings_ == Headings::kBold ? fmt::format("\033[1m{}\033[0m\n", title)
                                          : fmt::format("{}\n", title);
  }

  void paragraph(std::string_view words, std::size_t hanging = 0) {
    text_ +=
        std::string(kIndent, ' ') + core::wrapped(words, width_, kIndent, kIndent + hanging) + '\n';
  }

  void section(const ManualSection& section) {
    heading(upper(section.title));
    bool first = true;
    for (const std::string& words : paragraphs_of(section.paragraphs)) {
      if (!first) text_ += '\n';
      first = false;
      paragraph(words);
    }
    for (const ManualEntry& entry : section.entries)
      add_entry(entry, section.entry_width);
    std::istringstream lines(section.lines);
    for (std::string line; std::getline(lines, line);)
      text_ += std::string(kIndent, ' ') + line + '\n';
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  // Adds a term and its explanation in two columns.
  void add_entry(const ManualEntry& entry, std::size_t entry_width) {
    const std::size_t column = kIndent + std::min(entry_width, kWidestTerm) + 2;
    std::string line = std::string(kIndent, ' ') + entry_text(entry);
    if (line.size() + 2 > column) {
      text_ += line + '\n';
      line.clear();
    }
    line.resize(column, ' ');
    text_ += line + core::wrapped(entry.explanation, width_, column, column) + '\n';
  }

  std::size_t width_;
  Headings headings_;
  std::string text_;
};

std::string description_of(const CommandSpec& spec) {
  if (spec.more_description == nullptr) return spec.description;
  return std::string(spec.description) + "\n\n" + spec.more_description();
}

}  // namespace

ManualPage manual_page(const CommandSpec& spec, Listed listed) {
  const std::vector<OptionInfo> options = options_of(spec);
  ManualPage page{.spec = &spec, .synopsis = synopsis(spec, options)};
  page.sections.push_back({.title = "Description", .paragraphs = description_of(spec)});
  page.sections.push_back(command_section(spec, listed));
  for (ManualSection& section : option_sections(spec, options))
    page.sections.push_back(std::move(section));
  page.sections.push_back(exit_section(spec));
  page.sections.push_back({.title = "Examples", .lines = spec.examples});
  std::erase_if(page.sections, [](const ManualSection& section) {
    return section.paragraphs.empty() && section.entries.empty() && section.lines.empty();
  });
  return page;
}

std::string manual_text(const ManualPage& page, std::size_t width, Headings headings) {
  TerminalPage text(width, headings);
  text.heading("NAME");
  text.paragraph(fmt::format("{} - {}", typed_name(*page.spec), page.spec->summary));
  text.heading("SYNOPSIS");
  text.paragraph(page.synopsis, 6);
  for (const ManualSection& section : page.sections)
    text.section(section);
  return text.text();
}

}  // namespace assay::cli
