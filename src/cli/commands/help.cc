#include <filesystem>
#include <string>
#include <vector>

#include "cli/command_tree.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/output.h"
#include "core/files.h"
#include "core/output_file.h"

namespace assay::cli {
namespace {

class Help final : public Command {
 public:
  explicit Help(App& app) {
    app.add_option("COMMAND", words_, "the words of the command; none for the whole program");
    app.add_flag("--all", all_, "list every command below, with its full name");
    add_choice(app, "--format", form_,
               {{"text", Form::kText}, {"man", Form::kMan}, {"markdown", Form::kMarkdown}},
               "text for the terminal, a page for man(1), or one Markdown document of the command "
               "and all commands below it");
    app.add_option("-o,--output", folder_,
                   "with --format man: write the pages of the command and of all commands below it "
                   "into this folder")
        ->type_name("DIR")
        ->default_str("standard output");
  }

  [[nodiscard]] core::Status check() const override {
    if (all_ && form_ != Form::kText) return core::Error{"--all excludes --format"};
    if (!folder_.empty() && form_ != Form::kMan) {
      return core::Error{"--output needs --format man"};
    }
    const Found found = ASSAY_TRY(follow_words(words_));
    if (found.used == words_.size()) return {};
    return core::Error{"'" + typed_name(*found.spec) + "' has no commands below it"};
  }

  core::Result<Outcome> run() override {
    const CommandSpec& spec = *ASSAY_TRY(follow_words(words_)).spec;
    if (!folder_.empty()) {
      const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder_));
      for (const CommandSpec* command : with_all_below(spec)) {
        ASSAY_TRY(core::write_file(folder_ / manual_file_name(*command),
                                   manual_roff(manual_page(*command))));
      }
    } else if (form_ == Form::kMan) {
      print(manual_roff(manual_page(spec)));
    } else if (form_ == Form::kMarkdown) {
      print(manual_markdown(spec));
    } else {
      print_help(manual_page(spec, all_ ? Listed::kAll : Listed::kDirectlyBelow));
    }
    return Outcome::kOk;
  }

 private:
  enum class Form { kText, kMan, kMarkdown };

  std::vector<std::string> words_;
  bool all_ = false;
  Form form_ = Form::kText;
  std::filesystem::path folder_;
};

const CommandSpec kHelp{
    .name = "help",
    .summary = "show the manual page of a command",
    .description =
        "Shows the same page as 'COMMAND --help', or writes it in the form that man(1) or a reader "
        "of Markdown takes.",
    .examples =
        "assay help\n"
        "assay help --all\n"
        "assay help trace report\n"
        "assay help trace report --format man | man -l -\n"
        "assay help --format man -o /usr/local/share/man/man1\n"
        "assay help --format markdown > commands.md\n",
    .make = make_command<Help>,
};
ASSAY_REGISTER(CommandSpec, kHelp);

}  // namespace
}  // namespace assay::cli
