#include "cli/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/command_tree.h"
#include "cli/options.h"
#include "cli/output.h"
#include "core/interrupt.h"

namespace assay::cli {
namespace {

using testing::ExitedWithCode;
using testing::HasSubstr;
using testing::StartsWith;

// A command that can end in every way that a command can.
class Probe final : public Command {
 public:
  enum class Ending { kOk, kFailed, kRegression, kInterrupted };

  explicit Probe(App& app) {
    add_choice<Ending>(app, "ENDING", ending_,
                       {{"ok", Ending::kOk},
                        {"failed", Ending::kFailed},
                        {"regression", Ending::kRegression},
                        {"interrupted", Ending::kInterrupted}},
                       "how to end")
        ->required();
  }

  core::Result<Outcome> run() override {
    print("data\n");
    if (ending_ == Ending::kInterrupted) std::raise(SIGINT);
    if (ending_ == Ending::kFailed) return core::Error{"cannot read 'x': gone"};
    return ending_ == Ending::kRegression ? Outcome::kRegressionFound : Outcome::kOk;
  }

 private:
  Ending ending_ = Ending::kOk;
};

const CommandSpec kProbe{.name = "probe",
                         .summary = "end as told",
                         .examples = "assay probe ok\n",
                         .make = make_command<Probe>};
ASSAY_REGISTER(CommandSpec, kProbe);

int run(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"assay"};
  for (const std::string& argument : arguments)
    argv.push_back(argument.c_str());
  return run_program(static_cast<int>(argv.size()), argv.data());
}

struct Ran {
  int exit_code;
  std::string out;
  std::string err;
};

// Runs the program with the words of `line`, which is split at spaces.
Ran assay(const std::string& line) {
  std::vector<std::string> arguments;
  std::istringstream words(line);
  for (std::string word; words >> word;)
    arguments.push_back(word);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = run(arguments);
  const std::string out = testing::internal::GetCapturedStdout();
  return {exit_code, out, testing::internal::GetCapturedStderr()};
}

TEST(Program, ExitCodesTellHowItEnded) {
  EXPECT_EQ(assay("probe ok").exit_code, 0);
  EXPECT_EQ(assay("probe ok").out, "data\n");
  EXPECT_EQ(assay("probe regression").exit_code, 3);
  const Ran failed = assay("probe failed");
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.out, "data\n");
  EXPECT_EQ(failed.err, "assay: cannot read 'x': gone\n");
  EXPECT_EXIT(std::exit(run({"probe", "interrupted"})), ExitedWithCode(130),
              "^assay: interrupted\n$");
}

TEST(Program, ASlowExitSaysNoSecondTimeThatItWasInterrupted) {
  const auto exit_slowly = [] {
    std::atexit([] { std::this_thread::sleep_for(std::chrono::seconds(3)); });
    std::exit(run({"probe", "interrupted"}));
  };
  EXPECT_EXIT(exit_slowly(), ExitedWithCode(130), "^assay: interrupted\n$");
}

TEST(Program, WrongUsageIsOneLineThatHelps) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"prob", "'assay' has no command 'prob'; did you mean 'probe'?"},
      {"trace repot", "'assay trace' has no command 'repot'; did you mean 'report'?"},
      {"report x",
       "'assay' has no command 'report'; did you mean 'assay sweep report' or 'assay trace "
       "report'?"},
      {"probbe regression", "'assay' has no command 'probbe'; did you mean 'probe'?"},
      {"trace foo", "; it has analyze, collectives, compare, diff, fuse, path, report, split"},
      {"trace frobnicate",
       "; it has analyze, collectives, compare, diff, fuse, path, report, split"},
      {"--verison", "unknown option '--verison'; did you mean '--version'?"},
      {"--version --json", "unexpected '--json': --version stands alone"},
      {"trace --foo report", "options come after the command"},
      {"probe", "probe: ENDING is required (see 'assay probe --help')"},
      {"probe regresion",
       "'regresion' is not one of ok, failed, regression, interrupted; "
       "did you mean 'regression'?"},
      {"probe ok more", "unexpected argument 'more' after ENDING"},
      {"help trace nothing", "'assay trace' has no command 'nothing'"},
      {"completion csh", "'csh' is not one of bash, zsh, fish"},
      {"trace report", "trace report: TRACE is required"},
      {"trace report a --ouput=b", "unknown option '--ouput'; did you mean '--output'?"},
      {"trace report a -o", "--output needs a value (DIR)"},
      {"trace report a -o --write csv", "--output needs a value (DIR), found '--write'"},
      {"trace report a --write csv,jsn",
       "'jsn' is not one of xlsx, csv, json; did you mean 'json'"},
      {"trace report a --threads 0", "'0' is not a whole number of at least 1"},
      {"sweep run --seed 99999999999999999999 -- true",
       "'99999999999999999999' is not a whole number from 1 to 2147483647"},
      {"trace report a --short-kernel-us nan", "'nan' is not a number above 0"},
      {"trace report a --threads 1 --threads 2", "--threads may be given only once"},
      {"trace report a --include-unlinked", "--include-unlinked requires --compat"},
      {"store export h200_sxm -o x --format parquet", "--write takes 'parquet'"},
      {"store export h200_sxm --store h200_sxm -o x", "may be given only once"},
      {"goal generate -o out", "DIR is required"},
      {"trace analyze a b", "unexpected argument 'b' after CONFIG_DIR"},
      {"trace analyze a --individual-only --collective-only", "excludes"},
      {"trace analyze a -o -", "'-' would need a single book"},
      {"trace split a -o -", "'-' would need a single trace"},
      {"trace compare --test b", "--baseline and --output are required"},
      {"trace compare --baseline a --test b -o c --labels x", "'x' is not a list of labels"},
      {"trace compare --baseline a --test b -o c --labels x,x", "the labels must differ"},
      {"trace compare --baseline a --test b -o c d", "unexpected argument 'd'"},
      {"store query gemm --alpha", "query: --alpha needs a value (VALUE)"},
      {"sweep run", "no command to run: write it after '--'"},
      {"sweep run train.py", "unexpected argument 'train.py': COMMAND... comes after '--'"},
      {"sweep run --preset nccl -- true", "'nccl' is not one of nccl-algo, nccl-ctas"},
      {"sweep run -p 56 -- true", "'56' is not a pair CU_COUNT,THREADS"},
      {"sweep run --resume", "--resume needs the sweep's folder: name it with --output"},
      {"sweep run -c a.yaml -- true", "the command does not use {config}"},
      {"sweep run --repeat 0 -- true", "'0' is not a whole number"},
      {"sweep report", "SWEEP_DIR is required"},
  };
  for (const auto& [line, expected] : cases) {
    const Ran ran = assay(line);
    EXPECT_EQ(ran.exit_code, 2) << line;
    EXPECT_EQ(ran.out, "") << line;
    EXPECT_THAT(ran.err, StartsWith("assay: "));
    EXPECT_THAT(ran.err, HasSubstr(expected));
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  }
}

TEST(Options, NumbersAreThoseThatADoubleHolds) {
  EXPECT_EQ(finite_number("1.5"), 1.5);
  EXPECT_EQ(finite_number("1e-320"), 1e-320);  // subnormal
  for (const char* none : {"", "1x", "x", " 1", "1e999", "inf", "nan"})
    EXPECT_EQ(finite_number(none), std::nullopt) << none;
}

TEST(Options, ANumberThatIsTooLargeIsToldTheLimit) {
  EXPECT_EQ(whole_number_problem("2147483647"), "");
  EXPECT_EQ(whole_number_problem("2147483648"),
            "'2147483648' is not a whole number from 1 to 2147483647");
  EXPECT_EQ(count_problem("18446744073709551615"), "");
  EXPECT_EQ(count_problem("18446744073709551616"),
            "'18446744073709551616' is not a whole number from 0 to 18446744073709551615");
  for (const char* none : {"", "0", "-99999999999", "99999999999x", "1.5"})
    EXPECT_EQ(whole_number_problem(none),
              "'" + std::string(none) + "' is not a whole number of at least 1");
}

TEST(Options, ACountHasALargestValue) {
  const ValueCheck check = count_up_to(100);
  EXPECT_EQ(check("1"), "");
  EXPECT_EQ(check("100"), "");
  for (const char* none : {"", "0", "-1", "101", "1.5", "99999999999999999999", "1x"})
    EXPECT_EQ(check(none), "'" + std::string(none) + "' is not a whole number from 1 to 100");
}

// CLI11 takes a number that is too large for the largest that it knows.
TEST(Options, NoNumberIsTakenForTheLargest) {
  for (const char* line : {"plan estimate --model qwen3-8b --batch 99999999999999999999",
                           "plan estimate --model qwen3-8b --isl 99999999999999999999",
                           "plan size --model qwen3-8b --target-concurrency 99999999999999999999",
                           "plan search --model qwen3-8b --gpus 4 --top-n 99999999999999999999"}) {
    const Ran ran = assay(line);
    EXPECT_EQ(ran.exit_code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr("'99999999999999999999' is")) << line;
  }
}

TEST(Program, EveryCommandHasALegiblePage) {
  std::vector<const CommandSpec*> commands = core::Registry<CommandSpec>::all();
  commands.push_back(&root_command());
  for (const CommandSpec* command : commands) {
    const Ran ran = assay(std::string(command->name) + " --help");
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.err, "");
    for (const char* heading : {"NAME\n", "\nSYNOPSIS\n", "\nEXIT STATUS\n", "\nEXAMPLES\n"})
      EXPECT_THAT(ran.out, HasSubstr(heading)) << command->name;
    EXPECT_THAT(ran.out, HasSubstr(command->summary));
    for (const OptionInfo& option : options_of(*command))
      EXPECT_THAT(ran.out, HasSubstr(option.names.empty() ? option.argument : option.names.back()))
          << command->name;
    std::istringstream lines(ran.out);
    for (std::string text; std::getline(lines, text);)
      EXPECT_LE(text.size(), 100U) << text;
    EXPECT_EQ(assay("help " + std::string(command->name)).out, ran.out);
  }
}

TEST(Program, EveryCommandIsReachedThroughGroups) {
  for (const CommandSpec* command : core::Registry<CommandSpec>::all()) {
    const std::string name = command->name;
    const std::size_t space = name.rfind(' ');
    const CommandSpec* group =
        find_command(space == std::string::npos ? "" : name.substr(0, space));
    ASSERT_NE(group, nullptr) << name;
    const std::vector<const CommandSpec*> below = subcommands(*group);
    EXPECT_NE(std::find(below.begin(), below.end(), command), below.end()) << name;
  }
}

TEST(Program, AGroupByItselfShowsItsCommands) {
  EXPECT_EQ(assay("").out, assay("--help").out);
  const Ran trace = assay("trace");
  EXPECT_EQ(trace.exit_code, 0);
  for (const char* command : {"  analyze  ", "  collectives  ", "  compare  ", "  report  "})
    EXPECT_THAT(trace.out, HasSubstr(command));
}

TEST(Program, HelpWinsOverWrongArguments) {
  const Ran ran = assay("probe nonsense --help");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, HasSubstr("assay probe - end as told"));
}

TEST(Program, HelpListsEveryCommandInItsFullName) {
  const Ran all = assay("help --all");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, HasSubstr("  assay trace compare  "));
  EXPECT_THAT(all.out, HasSubstr("  assay doctor  "));
  const Ran traces = assay("help --all trace");
  EXPECT_THAT(traces.out, HasSubstr("  assay trace report  "));
  EXPECT_THAT(traces.out, Not(HasSubstr("assay doctor")));
}

TEST(Program, VersionNamesBuildAndLibraries) {
  const Ran ran = assay("--version");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, StartsWith("assay 0."));
  EXPECT_EQ(assay("-V").out, ran.out);
  EXPECT_EQ(assay("version").out, ran.out);
  for (const char* library : {"CLI11 2.", "fmt ", "simdjson ", "libxlsxwriter ", "zlib "})
    EXPECT_THAT(ran.out, HasSubstr(library));
}

// Runs the program in a child process with `descriptor` as standard output.
void run_into(int descriptor, const std::vector<std::string>& arguments) {
  ::dup2(descriptor, STDOUT_FILENO);
  std::exit(run(arguments));
}

TEST(Program, AReaderThatWentAwayIsNoFailure) {
  const auto into_closed_pipe = [] {
    int ends[2] = {};
    if (::pipe(ends) != 0) std::exit(99);
    ::close(ends[0]);
    run_into(ends[1], {"--help"});
  };
  EXPECT_EXIT(into_closed_pipe(), ExitedWithCode(0), "^$");
}

TEST(Program, DataThatCannotBeWrittenIsAFailure) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EXIT(run_into(full, {"--help"}), ExitedWithCode(1),
              "^assay: cannot write to standard output: No space left on device\n$");
  ::close(full);
}

}  // namespace
}  // namespace assay::cli
