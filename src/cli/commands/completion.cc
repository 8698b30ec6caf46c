#include "cli/completion.h"

#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

namespace assay::cli {
namespace {

using Script = std::string (*)();

class Completion final : public Command {
 public:
  explicit Completion(App& app) {
    const Choices<Script> shells{
        {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
    add_choice(app, "bash|zsh|fish", script_, shells, "the shell")->default_str("")->required();
  }

  core::Result<Outcome> run() override {
    print(script_());
    return Outcome::kOk;
  }

 private:
  Script script_ = nullptr;
};

const CommandSpec kCompletion{
    .name = "completion",
    .summary = "print a script that completes commands and options in a shell",
    .description =
        "The script completes commands, options, the words that an option accepts, and paths where "
        "an option or an argument is a path.",
    .examples =
        "source <(assay completion bash)          # in ~/.bashrc\n"
        "source <(assay completion zsh)           # in ~/.zshrc, after compinit\n"
        "assay completion fish > ~/.config/fish/completions/assay.fish\n",
    .make = make_command<Completion>,
};
ASSAY_REGISTER(CommandSpec, kCompletion);

}  // namespace
}  // namespace assay::cli
