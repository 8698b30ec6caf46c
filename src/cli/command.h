// A command of the command line.
//
// To add one: write src/cli/commands/<words>.cc with a class and a spec,
//
//   class Greet final : public Command {
//    public:
//     explicit Greet(App& app) {
//       app.add_option("-n,--name", name_, "whom to greet")->type_name("NAME");
//     }
//     core::Result<Outcome> run() override;  // one library call, then print
//
//    private:
//     std::string name_;
//   };
//   const CommandSpec kGreet{.name = "greet", .summary = "say hello",
//                            .make = make_command<Greet>};
//   ASSAY_REGISTER(CommandSpec, kGreet);
//
// Help, completion and "did you mean" follow from the declaration. cli/options.h holds what
// commands need to declare options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"
#include "core/result.h"

namespace assay::cli {

class App;

// A command that runs another program returns the exit code of that program instead.
enum class Outcome : int { kOk = 0, kRegressionFound = 3 };

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  // Checks the combination of options, which single options cannot check. A failure is wrong usage.
  [[nodiscard]] virtual core::Status check() const { return {}; }

  // Checks the arguments against what the inputs hold, such as the columns of a table. A failure is
  // wrong usage; that an input cannot be read is left to run().
  virtual core::Status check_inputs() { return {}; }

  // Receives the arguments after "--", unchanged, if the command's spec has `rest`.
  virtual void take_rest(const std::vector<std::string>& /*rest*/) {}

  virtual core::Result<Outcome> run() = 0;
};

struct CommandSpec {
  const char* name;              // words, the outermost first: "trace report"
  const char* summary;           // one line, no capital, no full stop
  const char* description = "";  // paragraphs, separated by empty lines
  // Makes one more paragraph from other declarations, after all of them are registered.
  std::string (*more_description)() = nullptr;
  const char* regression_means = "";  // the meaning of exit code 3; "" if it cannot happen
  const char* examples = "";          // one on each line
  // The name in help of the arguments after "--", if the command takes them: "COMMAND...".
  const char* rest = "";
  const char* rest_help = "";
  // Declares the options, bound to the new command's members. A spec without it is a group, whose
  // commands have names that begin with its own.
  std::unique_ptr<Command> (*make)(App& app) = nullptr;
};

template <class SomeCommand>
std::unique_ptr<Command> make_command(App& app) {
  return std::make_unique<SomeCommand>(app);
}

}  // namespace assay::cli
