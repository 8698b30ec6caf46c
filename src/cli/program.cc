#include "cli/program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cli/command_tree.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/launched_rank.h"
#include "core/terminal.h"
#include "core/text.h"

namespace assay::cli {
namespace {

enum ExitCode { kFailed = 1, kUsage = 2 };

using Arguments = std::vector<std::string>;

class ShowHelp final : public Command {
 public:
  explicit ShowHelp(const CommandSpec& spec) : spec_(spec) {}

  core::Result<Outcome> run() override {
    print_help(manual_page(spec_));
    return Outcome::kOk;
  }

 private:
  const CommandSpec& spec_;
};

class ShowVersion final : public Command {
 public:
  core::Result<Outcome> run() override {
    print(version_text());
    return Outcome::kOk;
  }
};

bool asks_for_help(const Arguments& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::any_of(arguments.begin(), end,
                     [](const std::string& a) { return a == "-h" || a == "--help"; });
}

// Explains words after a group, which takes no option but those that stand alone.
core::Error not_for_group(const CommandSpec& group, const Arguments& rest) {
  const std::string& option = rest.front();
  const std::string name = typed_name(group);
  Arguments known;
  for (const OptionInfo& info : options_of(group))
    known.insert(known.end(), info.names.begin(), info.names.end());
  if (rest.size() > 1 && std::find(known.begin(), known.end(), option) != known.end()) {
    return core::Error{
        fmt::format("unexpected '{}': {} stands alone (see '{} --help')", rest[1], option, name)};
  }
  // Dashes with a letter or none are no misspelling of such others.
  const std::string near = option.size() > 2 ? core::nearest(option, known) : std::string();
  const std::string hint =
      near.empty() ? "options come after the command" : fmt::format("did you mean '{}'?", near);
  return core::Error{fmt::format("unknown option '{}'; {} (see '{} --help')", option, hint, name)};
}

// A group without arguments, or a command that is asked for help, shows its page.
core::Result<std::unique_ptr<Command>> parse_group(const CommandSpec& group,
                                                   const Arguments& rest) {
  if (rest.empty()) return std::unique_ptr<Command>(std::make_unique<ShowHelp>(group));
  return not_for_group(group, rest);
}

bool asks_for_version(const Arguments& arguments) {
  return arguments.size() == 1 &&
         (arguments[0] == "-V" || arguments[0] == "--version" || arguments[0] == "version");
}

core::Result<std::unique_ptr<Command>> parse_arguments(const Arguments& arguments) {
  if (asks_for_version(arguments)) return std::unique_ptr<Command>(new ShowVersion);
  const Found found = ASSAY_TRY(follow_words(arguments));
  const Arguments rest(arguments.begin() + static_cast<std::ptrdiff_t>(found.used),
                       arguments.end());
  if (asks_for_help(rest)) return parse_group(*found.spec, {});
  return is_group(*found.spec) ? parse_group(*found.spec, rest) : parse_command(*found.spec, rest);
}

// If a standard stream is closed at the start (`assay >&-`), the first file that we open would take
// its place and receive what we print. In its place is then one that refuses to be written:
// printing to a closed output fails.
void keep_standard_streams_open() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) ::close(descriptor);
}

int fail(int exit_code, const core::Error& error) {
  print_error(error.message);
  return exit_code;
}

bool leads_its_launch() {
  const auto launched = core::launched_rank([](const char* name) { return ::getenv(name); });
  return !launched.ok() || !launched.value() || launched.value()->rank == 0;
}

// All processes of a launch find the same in their command line; the first one tells it. A launcher
// ends the whole job when one process fails, so the others leave the first one time to speak.
int refuse(const core::Error& error) {
  constexpr std::chrono::seconds kTimeToSpeak{5};
  constexpr std::chrono::milliseconds kStep{50};
  if (leads_its_launch()) return fail(kUsage, error);
  const auto end = std::chrono::steady_clock::now() + kTimeToSpeak;
  while (!core::interrupted() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kStep);
  return kUsage;
}

// Precondition: the command was parsed from these arguments.
Ending run_command(Command& command, const Arguments& arguments) {
  const core::Status checked = command.check_inputs();
  if (!checked.ok() && !core::interrupted()) {
    const CommandSpec& spec = *follow_words(arguments).value().spec;
    return {kUsage, wrong_usage(spec, checked.error().message).message};
  }
  const core::Result<Outcome> outcome = command.run();
  if (core::interrupted()) return {core::kInterruptedExitCode, "interrupted"};
  if (!outcome.ok()) return {kFailed, outcome.error().message};
  return {static_cast<int>(outcome.value()), ""};
}

int run_and_print(Command& command, const Arguments& arguments) {
  const Ending ending = run_command(command, arguments);
  const core::Status flushed = flush_output();
  if (ending.exit_code == core::kInterruptedExitCode) core::end_in_silence();
  if (!ending.error.empty()) return fail(ending.exit_code, {ending.error});
  if (!flushed.ok()) return fail(kFailed, flushed.error());
  return ending.exit_code;
}

core::Error out_of_memory(const Arguments& arguments) {
  return {fmt::format("'assay {}' needs more memory than there is", core::join(arguments, " "))};
}

// A progress line may stand where the note begins.
void tell_of_wait(const std::string& held) {
  if (core::is_terminal(stderr)) std::fputs("\r\033[K", stderr);
  print_note("waiting: " + held);
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  keep_standard_streams_open();
  core::handle_interrupts();
  core::FileLock::set_notice(tell_of_wait);
  const Arguments arguments(argv + std::min(argc, 1), argv + argc);
  try {
    const core::Result<std::unique_ptr<Command>> command = parse_arguments(arguments);
    if (!command.ok()) return refuse(command.error());
    return run_and_print(*command.value(), arguments);
  } catch (const std::bad_alloc&) {
    return fail(kFailed, out_of_memory(arguments));
  }
}

Ending run_for(Listener& listener, const std::vector<std::string>& arguments) {
  const core::WorkingFor working(&listener);
  try {
    const core::Result<std::unique_ptr<Command>> command = parse_arguments(arguments);
    if (!command.ok()) return {kUsage, command.error().message};
    return run_command(*command.value(), arguments);
  } catch (const std::bad_alloc&) {
    return {kFailed, out_of_memory(arguments).message};
  }
}

}  // namespace assay::cli
