#include "cli/command_tree.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace assay::cli {
namespace {

using Commands = core::Registry<CommandSpec>;

const CommandSpec kRoot{
    .name = "",
    .summary = "measure what GPUs and their links really do under large-model work",
    .description =
        "Measures, explains and compares. Results go to standard output or to files; progress, "
        "notes and errors go to standard error. Inputs are never changed.",
    .regression_means = "what a command was asked to look for was found; its page says what",
    .examples =
        "assay trace report run/torch_profiler -o reports\n"
        "assay trace compare --baseline run_a --test run_b --output comparison\n"
        "source <(assay completion bash)\n"};

std::string joined(std::string_view group, std::string_view word) {
  return group.empty() ? std::string(word) : fmt::format("{} {}", group, word);
}

// Returns the commands that a wrong word in `group` may stand for, each quoted as it is typed, or
// "" if no command has a similar name.
std::string suggestion(const CommandSpec& group, const std::string& word) {
  std::vector<std::string> here;
  for (const CommandSpec* spec : subcommands(group))
    here.emplace_back(last_word(*spec));
  std::vector<std::string> anywhere;
  for (const CommandSpec* spec : Commands::all())
    anywhere.emplace_back(last_word(*spec));
  // An exact match in another group is more likely than a similar word in this group.
  const bool exact = std::find(anywhere.begin(), anywhere.end(), word) != anywhere.end();
  std::string best = exact ? word : core::nearest(word, here);
  if (!exact && !best.empty()) return "'" + best + "'";
  if (!exact && std::string_view(group.name).empty()) best = core::nearest(word, anywhere);
  std::vector<std::string> names;
  for (const CommandSpec* spec : Commands::all()) {
    if (!best.empty() && last_word(*spec) == best) names.push_back("'" + typed_name(*spec) + "'");
  }
  return core::join(names, " or ");
}

core::Error unknown_command(const CommandSpec& group, const std::string& word) {
  const std::string near = suggestion(group, word);
  std::vector<std::string> here;
  for (const CommandSpec* spec : subcommands(group))
    here.emplace_back(last_word(*spec));
  const std::string hint =
      near.empty() ? "it has " + core::join(here, ", ") : fmt::format("did you mean {}?", near);
  return core::Error{fmt::format("'{}' has no command '{}'; {}", typed_name(group), word, hint)};
}

}  // namespace

const CommandSpec& root_command() {
  return kRoot;
}

const CommandSpec* find_command(std::string_view name) {
  if (name.empty()) return &kRoot;
  for (const CommandSpec* spec : Commands::all()) {
    if (name == spec->name) return spec;
  }
  return nullptr;
}

bool is_group(const CommandSpec& spec) {
  return spec.make == nullptr;
}

bool takes_rest(const CommandSpec& spec) {
  return spec.rest[0] != '\0';
}

std::vector<std::string> names_with_rest() {
  std::vector<std::string> names;
  for (const CommandSpec* spec : Commands::all()) {
    if (takes_rest(*spec)) names.emplace_back(spec->name);
  }
  return names;
}

std::vector<const CommandSpec*> subcommands(const CommandSpec& group) {
  std::vector<const CommandSpec*> below;
  for (const CommandSpec* spec : Commands::all()) {
    if (joined(group.name, last_word(*spec)) == spec->name) below.push_back(spec);
  }
  return below;
}

std::string_view last_word(const CommandSpec& spec) {
  const std::string_view name = spec.name;
  return name.substr(name.rfind(' ') + 1);
}

std::string typed_name(const CommandSpec& spec) {
  return spec.name[0] == '\0' ? "assay" : fmt::format("assay {}", spec.name);
}

std::vector<std::string> quoted_steps() {
  std::vector<std::string> steps;
  for (const CommandSpec* spec : Commands::all()) {
    const std::string_view name = spec->name;
    const std::string_view word = last_word(*spec);
    const std::string_view group =
        name.substr(0, name.size() - std::min(name.size(), word.size() + 1));
    steps.push_back(fmt::format("'{}/{}'", group, word));
  }
  return steps;
}

core::Result<Found> follow_words(std::span<const std::string> words) {
  Found found{&kRoot, 0};
  for (const std::string& word : words) {
    if (word.starts_with('-')) break;
    const CommandSpec* next = find_command(joined(found.spec->name, word));
    if (word.empty() || next == nullptr) {
      if (!is_group(*found.spec)) break;
      return unknown_command(*found.spec, word);
    }
    found = {next, found.used + 1};
  }
  return found;
}

}  // namespace assay::cli
