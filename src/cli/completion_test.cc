#include "cli/completion.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/output_file.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct ClosePipe {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, ClosePipe> pipe(::popen(command.c_str(), "r"));
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), n);
  return output;
}

bool installed(const std::string& shell) {
  return !output_of("command -v " + shell).empty();
}

// Types a line and the tab into a zsh that has loaded the script, and prints what the line is then.
constexpr std::string_view kTypist = R"(
zmodload zsh/zpty
zpty shell zsh -fi
zpty -w shell "autoload -U compinit; compinit -u -D; source $1"
zpty -w shell 'show() { print -r -- "$BUFFER" > ../line; exit }; zle -N show; bindkey "^X" show'
zpty -w shell 'print > ../ready'
until [[ -e ../ready ]] { sleep 0.05 }
sleep 0.2
zpty -w -n shell "$2"$'\t\x18'
until [[ -s ../line ]] { sleep 0.05 }
cat ../line
rm ../line ../ready
)";

// Makes a folder with the script of a shell, a trace, and a folder with a space in its name.
class Completion : public testing::Test {
 public:
  Completion() {
    std::string pattern = (fs::temp_directory_path() / "assay_completion_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    fs::create_directory(folder_ / "in");
    fs::create_directory(folder_ / "in" / "run a");
    EXPECT_TRUE(core::write_file(folder_ / "in" / "trace.json", "{}").ok());
  }

  ~Completion() override { fs::remove_all(folder_); }

 protected:
  [[nodiscard]] std::string script(const std::string& content) const {
    const fs::path path = folder_ / "assay_completion";
    EXPECT_TRUE(core::write_file(path, content).ok());
    return path.string();
  }

  // Returns what completes the line after "assay ".
  [[nodiscard]] std::string fish(const std::string& line) const {
    const std::string body = "source " + script(fish_completion()) + "; cd " +
                             (folder_ / "in").string() + "; complete -C \"assay " + line + "\"";
    return output_of("fish -c '" + body + "' 2>&1 | cut -f 1 | tr \"\\n\" \"|\"");
  }

  // Returns the line "assay ..." as zsh completes it.
  [[nodiscard]] std::string zsh(const std::string& line) const {
    const std::string path = script(zsh_completion());
    EXPECT_TRUE(core::write_file(folder_ / "typist", kTypist).ok());
    return output_of(fmt::format("cd '{}' && timeout 60 zsh -f ../typist '{}' 'assay {}' 2>&1",
                                 (folder_ / "in").string(), path, line));
  }

  // Returns the replies that complete the last of the words after "assay".
  [[nodiscard]] std::string bash(const std::string& words) const {
    const std::string path = script(bash_completion());
    const std::string body = "source " + path + "; cd " + (folder_ / "in").string() +
                             "; COMP_WORDS=(assay " + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _assay; "
                             "(IFS=\"|\"; echo \"${COMPREPLY[*]}\")";
    return output_of("bash -c '" + body + "' 2>&1");
  }

  fs::path folder_;
};

TEST_F(Completion, BashCompletesCommandsOptionsWordsAndPaths) {
  if (!installed("bash")) GTEST_SKIP() << "bash is not installed";
  EXPECT_EQ(bash("tr"), "trace\n");
  EXPECT_EQ(bash("trace \"\""), "analyze|collectives|compare|diff|fuse|path|report|split\n");
  EXPECT_EQ(bash("trace re"), "report\n");
  EXPECT_EQ(bash("help trace co"), "collectives|compare\n");
  EXPECT_EQ(bash("completion \"\""), "bash|zsh|fish\n");
  EXPECT_EQ(bash("--v"), "--version\n");
  EXPECT_EQ(bash("trace report --fo"), "--format\n");
  EXPECT_EQ(bash("trace report --format \"\""), "table|json|csv\n");
  EXPECT_EQ(bash("trace report --format = j"), "json\n");
  EXPECT_EQ(bash("trace report --format ="), "table|json|csv\n");
  EXPECT_EQ(bash("trace report --write xlsx,c"), "xlsx,csv\n");
  EXPECT_EQ(bash("trace report t"), "trace.json\n");
  EXPECT_EQ(bash("trace report -o \"\""), "run a\n");
  EXPECT_EQ(bash("trace analyze \"\""), "run a\n");
  EXPECT_EQ(bash("trace compare --baseline report --te"), "--test\n");
  EXPECT_EQ(bash("trace report --threads \"\""), "\n");
}

TEST_F(Completion, BashCompletesWhatAssayKnowsByName) {
  EXPECT_EQ(bash("store query gem"), "gemm\n");
  EXPECT_EQ(bash("store export --table gem"), "gemm_perf\n");
  EXPECT_EQ(bash("collect gem"), "gemm\n");
  EXPECT_EQ(bash("collect --ops gem"), "gemm\n");
  EXPECT_EQ(bash("store place --system h200"), "h200_sxm\n");
  EXPECT_EQ(bash("store list h200"), "h200_sxm\n");
  EXPECT_EQ(bash("store list tra"), "trace.json\n");
  EXPECT_EQ(bash("sweep run --preset nccl-c"), "nccl-ctas\n");
  EXPECT_EQ(bash("trace report --arch H1"), "H100\n");
  EXPECT_EQ(bash("goal generate ru"), "run a\n");
  EXPECT_EQ(bash("goal generate --inp"), "--input\n");
}

TEST_F(Completion, BashCompletesEveryWordThatAnOptionTakesAndNoOther) {
  if (!installed("bash")) GTEST_SKIP() << "bash is not installed";
  EXPECT_EQ(bash("allreduce bench --fusion RESIDUAL_RMS_NORM_QUANT_F"),
            "RESIDUAL_RMS_NORM_QUANT_FP8\n");
  EXPECT_EQ(bash("allreduce bench --strategies ONESHOT,TWOSHOT_"), "ONESHOT,TWOSHOT_PUSH\n");
  EXPECT_EQ(bash("allreduce lookup --fusion NO"), "NONE\n");
  EXPECT_EQ(bash("help --format \"\""), "text|man|markdown\n");
  EXPECT_EQ(bash("help --format man trace co"), "collectives|compare\n");
  EXPECT_EQ(bash("help --fo"), "--format\n");
  EXPECT_EQ(bash("plan search --model al"), "\n");
  EXPECT_EQ(bash("plan support --model al"), "all\n");
  EXPECT_EQ(bash("plan files --target kubernetes,"),
            "kubernetes,plain|kubernetes,dynamo|kubernetes,llm-d\n");
}

TEST_F(Completion, FishCompletesEveryWordThatAnOptionTakesAndNoOther) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(fish("allreduce bench --fusion NO"), "NONE|");
  EXPECT_EQ(fish("help --format "), "man|markdown|text|");
  EXPECT_EQ(fish("help trace co"), "collectives|compare|");
  EXPECT_EQ(fish("plan files --target kubernetes,"),
            "kubernetes,dynamo|kubernetes,llm-d|kubernetes,plain|");
}

TEST_F(Completion, ZshCompletesEveryWordThatAnOptionTakesAndNoOther) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(zsh("allreduce lookup --fusion NO"), "assay allreduce lookup --fusion NONE \n");
  EXPECT_EQ(zsh("allreduce bench --fusion NO"), "assay allreduce bench --fusion NONE,\n");
  EXPECT_EQ(zsh("help --format markd"), "assay help --format markdown \n");
  EXPECT_EQ(zsh("help --format man trace rep"), "assay help --format man trace report \n");
  EXPECT_EQ(zsh("help trace rep"), "assay help trace report \n");
}

TEST_F(Completion, BashCompletesTheCommandOfAnotherProgram) {
  if (!installed("bash")) GTEST_SKIP() << "bash is not installed";
  EXPECT_EQ(bash("record -- mkfif"), "mkfifo\n");
  EXPECT_EQ(bash("record -- ls tr"), "trace.json\n");
  EXPECT_EQ(bash("record -o x -- ls --output ru"), "run a\n");
  EXPECT_EQ(bash("sweep run --set A = 1 -- cat tra"), "trace.json\n");
  EXPECT_EQ(bash("sweep run --set A = 1 -- ./tr"), "./trace.json\n");
  EXPECT_EQ(bash("record --no-n"), "--no-nccl-log\n");
  EXPECT_EQ(bash("trace report -- re"), "\n");
}

TEST_F(Completion, FishCompletesCommandsOptionsWordsAndPaths) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(fish("tr"), "trace|");
  EXPECT_EQ(fish("trace "), "analyze|collectives|compare|diff|fuse|path|report|split|");
  EXPECT_EQ(fish("help trace co"), "collectives|compare|");
  EXPECT_EQ(fish("trace report --fo"), "--format|");
  EXPECT_EQ(fish("trace report --format j"), "json|");
  EXPECT_EQ(fish("trace report t"), "trace.json|");
  EXPECT_EQ(fish("trace report -o ru"), "run a/|");
  EXPECT_EQ(fish("store query gem"), "gemm|");
  EXPECT_EQ(fish("store list h200"), "h200_sxm|");
  EXPECT_EQ(fish("store list tra"), "trace.json|");
  EXPECT_EQ(fish("goal generate ru"), "run a/|");
}

TEST_F(Completion, FishCompletesTheCommandOfAnotherProgram) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(fish("record -- mkfif"), "mkfifo|");
  EXPECT_EQ(fish("record -- ls tr"), "trace.json|");
  EXPECT_EQ(fish("sweep run --set A=1 -- ls ru"), "run a/|");
  EXPECT_EQ(fish("record --no-n"), "--no-nccl-log|");
}

TEST_F(Completion, ZshAcceptsItsScript) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const std::string path = script(zsh_completion());
  EXPECT_EQ(output_of("zsh -n " + path + " 2>&1 && echo fine"), "fine\n");
  const std::string defined =
      output_of("zsh -fc 'autoload -U compinit; compinit -u -D; source " + path +
                "; whence -w _assay_trace_report; "
                "echo $_comps[assay]' 2>&1");
  EXPECT_EQ(defined, "_assay_trace_report: function\n_assay\n");
}

TEST_F(Completion, ZshCompletesOptionsValuesAndOtherPrograms) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(zsh("trace report --format=j"), "assay trace report --format=json \n");
  EXPECT_EQ(zsh("trace report --format j"), "assay trace report --format json \n");
  EXPECT_EQ(zsh("trace report -o ru"), "assay trace report -o run\\ a/\n");
  EXPECT_EQ(zsh("record -- mkfif"), "assay record -- mkfifo \n");
  EXPECT_EQ(zsh("record -- ls tra"), "assay record -- ls trace.json \n");
  EXPECT_EQ(zsh("sweep run --set A=1 -- cat tr"), "assay sweep run --set A=1 -- cat trace.json \n");
  EXPECT_EQ(zsh("record --no-n"), "assay record --no-nccl-log \n");
}

}  // namespace
}  // namespace assay::cli
