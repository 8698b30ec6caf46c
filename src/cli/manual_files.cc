// Writes manual pages for man(1), and all of them as one Markdown document.
#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "cli/command_tree.h"
#include "cli/manual.h"
#include "cli/version.h"

namespace assay::cli {
namespace {

// Returns "assay-trace-compare" for "trace compare".
std::string page_name(const CommandSpec& spec) {
  std::string name = typed_name(spec);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

enum class Dashes { kAsTyped, kHyphens };

// Escapes text so that roff shows it unchanged. Text that people copy into a shell keeps its dashes
// and quotes.
std::string roff(std::string_view text, Dashes dashes) {
  std::string result;
  // Even within a sentence, a dash that begins a word belongs to an option. Others are hyphens.
  bool typed = dashes == Dashes::kAsTyped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char before = i == 0 ? ' ' : text[i - 1];
    const bool starts_word = before == ' ' || before == '\'' || before == '"' || before == '(';
    if (dashes == Dashes::kHyphens && starts_word) typed = text[i] == '-';
    switch (text[i]) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += typed ? "\\-" : "-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case ',':
      case '|':
        // Allows a line break inside long lists of words; by default, roff breaks only at spaces.
        result += text[i];
        if (i + 1 < text.size() && text[i + 1] != ' ') result += "\\:";
        break;
      default:
        result += text[i];
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text, Dashes::kAsTyped) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + roff(text, Dashes::kAsTyped) + "\\fR";
}

// Returns the command's name and options in bold, and the names of values in italics.
std::string roff_synopsis(const ManualPage& page) {
  const std::string name = typed_name(*page.spec);
  std::string line = bold(name);
  std::istringstream words(page.synopsis.substr(name.size()));
  for (std::string word; words >> word;) {
    const bool is_option = word.starts_with("-");
    const bool is_bracket = word == "[options]";
    line += ' ' + (is_option ? bold(word) : is_bracket ? "[options]" : italic(word));
  }
  return line;
}

std::string roff_section(const ManualSection& section) {
  std::string text = ".SH " + roff(upper(section.title), Dashes::kAsTyped) + '\n';
  bool first = true;
  for (const std::string& paragraph : paragraphs_of(section.paragraphs)) {
    if (!first) text += ".PP\n";
    first = false;
    text += roff(paragraph, Dashes::kHyphens) + '\n';
  }
  for (const ManualEntry& entry : section.entries) {
    text += ".TP\n" + bold(entry.term);
    if (!entry.value.empty()) text += ' ' + italic(entry.value);
    text += '\n' + roff(entry.explanation, Dashes::kHyphens) + '\n';
  }
  if (section.lines.empty()) return text;
  text += ".nf\n";
  std::istringstream lines(section.lines);
  for (std::string line; std::getline(lines, line);)
    text += roff(line, Dashes::kAsTyped) + '\n';
  return text + ".fi\n";
}

// Lists the commands above and below, which have pages of their own.
std::string roff_see_also(const CommandSpec& spec) {
  std::vector<const CommandSpec*> others;
  const std::string_view name = spec.name;
  if (!name.empty()) {
    const std::size_t space = name.rfind(' ');
    others.push_back(find_command(space == std::string_view::npos ? "" : name.substr(0, space)));
  }
  for (const CommandSpec* below : subcommands(spec))
    others.push_back(below);
  std::string text;
  for (const CommandSpec* other : others)
    text += (text.empty() ? "" : ", ") + bold(page_name(*other)) + "(1)";
  return text.empty() ? "" : ".SH SEE ALSO\n" + text + '\n';
}

// Escapes the characters that would begin emphasis or a tag.
std::string markdown(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '<' || c == '`' || c == '\\' || c == '[') result += '\\';
    result += c;
  }
  return result;
}

std::string code_block(std::string_view lines) {
  return fmt::format("```\n{}```\n", lines);
}

std::string markdown_section(const ManualSection& section) {
  // The description follows the synopsis without a heading.
  const bool has_heading = section.paragraphs.empty();
  std::string text = has_heading ? fmt::format("\n### {}\n\n", section.title) : "";
  for (const std::string& paragraph : paragraphs_of(section.paragraphs))
    text += "\n" + markdown(paragraph) + "\n";
  for (const ManualEntry& entry : section.entries) {
    const std::string value = entry.value.empty() ? "" : " " + entry.value;
    text += fmt::format("- `{}{}`: {}\n", entry.term, value, markdown(entry.explanation));
  }
  return section.lines.empty() ? text : text + code_block(section.lines);
}

// Adds the capital and the full stop that a summary does not have.
std::string sentence(std::string_view summary) {
  std::string text = markdown(summary) + ".";
  text.front() = upper(text.substr(0, 1)).front();
  return text;
}

// Removes the entries that all commands share, because the head of the document explains them.
void remove_common(ManualPage& page) {
  const bool has_own_code = page.spec->regression_means[0] != '\0';
  for (ManualSection& section : page.sections) {
    std::erase_if(section.entries, [&](const ManualEntry& entry) {
      if (section.title == "Exit status") return !has_own_code || entry.term != "3";
      return entry.term == "-h, --help";
    });
  }
  std::erase_if(page.sections, [](const ManualSection& section) {
    return section.paragraphs.empty() && section.entries.empty() && section.lines.empty();
  });
}

std::string markdown_page(const CommandSpec& spec) {
  ManualPage page = manual_page(spec);
  remove_common(page);
  std::string text = fmt::format("\n## {}\n\n{}\n\n{}", typed_name(spec), sentence(spec.summary),
                                 code_block(page.synopsis + '\n'));
  for (const ManualSection& section : page.sections)
    text += markdown_section(section);
  return text;
}

}  // namespace

std::string manual_file_name(const CommandSpec& spec) {
  return page_name(spec) + ".1";
}

std::string manual_roff(const ManualPage& page) {
  const CommandSpec& spec = *page.spec;
  const std::string name = page_name(spec);
  std::string text = fmt::format(
      ".TH \"{}\" 1 \"\" \"{}\" \"Manual of assay\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n{}\n",
      roff(upper(name), Dashes::kAsTyped), program_version(), roff(name, Dashes::kAsTyped),
      roff(spec.summary, Dashes::kHyphens), roff_synopsis(page));
  for (const ManualSection& section : page.sections)
    text += roff_section(section);
  return text + roff_see_also(spec);
}

std::string manual_markdown(const CommandSpec& spec) {
  const std::vector<const CommandSpec*> commands = with_all_below(spec);
  std::string text =
      "# Commands of assay\n\n"
      "`assay help --format markdown` writes this document. Every command shows its page with `-h` "
      "or `--help`.\n\n"
      "The exit code is 0 for success, 1 for a failure (the reason is on standard error), 2 for "
      "wrong usage and 130 after an interrupt. Where a command has exit code 3, its page says "
      "what it means.\n\n";
  for (const CommandSpec* command : commands) {
    text += fmt::format("- [{}](#{}): {}\n", typed_name(*command), page_name(*command),
                        markdown(command->summary));
  }
  for (const CommandSpec* command : commands)
    text += markdown_page(*command);
  return text;
}

}  // namespace assay::cli
