#include <string>
#include <vector>

#include "cli/command_tree.h"
#include "cli/options.h"
#include "cli/output.h"

namespace assay::cli {
namespace {

class Help final : public Command {
 public:
  explicit Help(App& app) {
    app.add_option("COMMAND", words_, "the command's words; none for the whole program");
  }

  [[nodiscard]] core::Status check() const override {
    const Found found = ASSAY_TRY(follow_words(words_));
    if (found.used == words_.size()) return {};
    return core::Error{"'" + typed_name(*found.spec) + "' has no commands below it"};
  }

  core::Result<Outcome> run() override {
    print_help(*ASSAY_TRY(follow_words(words_)).spec);
    return Outcome::kOk;
  }

 private:
  std::vector<std::string> words_;
};

const CommandSpec kHelp{
    .name = "help",
    .summary = "show the manual page of a command",
    .description = "The same page as 'COMMAND --help'.",
    .examples =
        "assay help\n"
        "assay help trace report\n",
    .make = make_command<Help>,
};
ASSAY_REGISTER(CommandSpec, kHelp);

}  // namespace
}  // namespace assay::cli
