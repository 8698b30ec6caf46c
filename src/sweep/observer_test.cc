#include "sweep/observer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.h"
#include "gpu/fake_nvml_test_util.h"
#include "sweep/environment_check.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A real process that sleeps with the given libraries and variables.
class Sleeper {
 public:
  explicit Sleeper(const std::string& preload, const std::string& variable = "A=1") {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const std::string library = "LD_PRELOAD=" + preload;
      const char* arguments[] = {"sleep", "60", nullptr};
      const char* variables[] = {library.c_str(), variable.c_str(), nullptr};
      ::execve("/bin/sleep", const_cast<char**>(arguments), const_cast<char**>(variables));
      ::_exit(1);
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 0);  // closed by execve
    ::close(ready[0]);
    wait_for(preload);
  }

  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  ~Sleeper() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  [[nodiscard]] pid_t process() const { return process_; }

 private:
  // Waits for the dynamic loader, which maps the libraries after execve().
  void wait_for(std::string libraries) const {
    std::replace(libraries.begin(), libraries.end(), ':', ' ');
    std::istringstream names(libraries);
    for (std::string name; names >> name;) {
      const std::string real = fs::canonical(name).string();
      for (int i = 0; i < 500 && !maps(real); ++i)
        ::usleep(10'000);
    }
  }

  [[nodiscard]] bool maps(const std::string& file) const {
    const auto content = core::read_file("/proc/" + std::to_string(process_) + "/maps");
    return content.ok() && content.value().find(file) != std::string::npos;
  }

  pid_t process_ = 0;
};

std::string value(const Observation& observation, const std::string& item) {
  for (const model::Fact& fact : observation.facts) {
    if (fact.item == item) return model::text(fact.value) + fact.unit;
  }
  return "(none)";
}

class Observe : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) /
              (std::string("assay_observer_") + test->name() + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string copy_of_library(const std::string& name) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    fs::copy_file(ASSAY_FAKE_NCCL, path);
    return path.string();
  }

  static Observation observe(Observer& observer,
                             const Variables& variables,
                             const std::vector<pid_t>& processes,
                             int looks = 2) {
    observer.begin_run(variables);
    for (int i = 0; i < looks; ++i)
      observer.look(processes);
    return observer.end_run();
  }

  static ObserverSources sources() { return {.nvml_library = gpu::FakeNvml::library()}; }

  fs::path folder_;
};

TEST_F(Observe, NothingSpecialHere) {
  Observer observer({.nvml_library = "/nonexistent/libnvidia-ml.so.1"}, {});
  const Observation observation = observe(observer, {{"NCCL_MIN_CTAS", "8"}}, {::getpid()});
  EXPECT_NE(value(observation, "kernel"), "(none)");
  EXPECT_EQ(value(observation, "GPUs"), "(none)");
  EXPECT_EQ(value(observation, "NCCL library"), "(none)");
  EXPECT_THAT(observation.warnings, IsEmpty());
}

TEST_F(Observe, CostsLittleWithoutGpus) {
  const clock_t start = ::clock();
  Observer observer({.nvml_library = "/nonexistent/libnvidia-ml.so.1"}, {});
  observer.begin_run({});
  for (int i = 0; i < 5; ++i)
    observer.look(std::vector<pid_t>{::getpid()});
  const Observation observation = observer.end_run();
  // The goal is 30 ms; the limit leaves room for sanitizers and loaded machines.
  EXPECT_LT(static_cast<double>(::clock() - start) / CLOCKS_PER_SEC, 0.3);
}

TEST_F(Observe, TheLibraryOfAProcess) {
  const std::string library = copy_of_library("libnccl.so.2");
  const Sleeper sleeper(library, "NCCL_MIN_CTAS=8");
  Observer observer(sources(), library);
  const Observation observation = observe(observer, {{"NCCL_MIN_CTAS", "8"}, {"NCCL_ALGO", ""}},
                                          {sleeper.process(), ::getpid()});
  EXPECT_EQ(value(observation, "NCCL library"), library);
  EXPECT_EQ(value(observation, "NCCL version"), "2.28.3+cuda13.0");
  EXPECT_THAT(value(observation, "NCCL library file"),
              HasSubstr(std::to_string(fs::file_size(library)) + " bytes"));
  EXPECT_THAT(observation.warnings, IsEmpty());
}

TEST_F(Observe, TheExpectedLibraryByALink) {
  const std::string library = copy_of_library("librccl.so.1.0.60403");
  fs::create_symlink("librccl.so.1.0.60403", folder_ / "librccl.so");
  const Sleeper sleeper((folder_ / "librccl.so").string());
  Observer observer(sources(), folder_ / "librccl.so");
  const Observation observation = observe(observer, {}, {sleeper.process()});
  EXPECT_EQ(value(observation, "RCCL library"), library);
  EXPECT_EQ(value(observation, "RCCL version"), "1.0.60403");
  EXPECT_THAT(observation.warnings, IsEmpty());
}

TEST_F(Observe, AnotherLibraryThanExpected) {
  const std::string expected = copy_of_library("wanted/libnccl.so.2");
  const std::string other = copy_of_library("other/libnccl.so.2");
  const Sleeper first(other);
  const Sleeper second(other);
  Observer observer(sources(), expected);
  const auto warnings = observe(observer, {}, {first.process(), second.process()}).warnings;
  EXPECT_THAT(warnings, ElementsAre("'" + other +
                                    "' (version 2.28.3+cuda13.0) was loaded by 2 "
                                    "processes, but '" +
                                    expected + "' was expected"));
}

TEST_F(Observe, NoLibraryWhereOneWasExpected) {
  const Sleeper sleeper("");
  Observer observer(sources(), "/opt/rccl/librccl.so");
  const auto warnings = observe(observer, {}, {sleeper.process()}).warnings;
  EXPECT_THAT(warnings, ElementsAre("no process was seen to load NCCL or RCCL, but "
                                    "'/opt/rccl/librccl.so' was expected"));
}

TEST_F(Observe, PyTorchWithoutALibraryOfItsOwn) {
  const Sleeper sleeper(copy_of_library("libtorch_cuda.so"));
  Observer observer(sources(), {});
  EXPECT_EQ(value(observe(observer, {}, {sleeper.process()}), "NCCL library"),
            "none seen: may be linked statically");
}

TEST_F(Observe, TwoLibrariesAndAPlugin) {
  const std::string one = copy_of_library("a/libnccl.so.2");
  const std::string other = copy_of_library("b/libnccl.so.2");
  const std::string plugin = copy_of_library("libnccl-net.so");
  const std::string tuner = copy_of_library("libmytuner.so");
  const Sleeper first(one + ":" + plugin);
  const Sleeper second(other + ":" + tuner, "NCCL_TUNER_PLUGIN=" + tuner);
  Observer observer(sources(), {});
  const Observation observation = observe(observer, {}, {first.process(), second.process()});
  EXPECT_EQ(value(observation, "NCCL plugins"), tuner + ", " + plugin);
  ASSERT_EQ(observation.warnings.size(), 1U);
  EXPECT_THAT(observation.warnings[0], HasSubstr("more than one library"));
  // The next run starts with nothing.
  EXPECT_THAT(observe(observer, {}, {first.process()}).warnings, IsEmpty());
}

TEST_F(Observe, ALibraryReplacedWhileInUse) {
  const std::string library = copy_of_library("libnccl.so.2");
  const Sleeper sleeper(library);
  fs::remove(library);
  Observer observer(sources(), {});
  EXPECT_THAT(observe(observer, {}, {sleeper.process()}).warnings,
              ElementsAre("'" + library + "' was replaced or removed while it was in use"));
}

TEST_F(Observe, VariablesThatDidNotArrive) {
  const Sleeper sleeper(copy_of_library("libnccl.so.2"), "NCCL_ALGO=Tree");
  const std::string name = "process " + std::to_string(sleeper.process()) + " (sleep)";
  Observer observer(sources(), {});
  const Variables wanted = {{"NCCL_ALGO", "Ring"}, {"NCCL_MIN_CTAS", "8"}, {"LD_PRELOAD", ""}};
  const Observation observation = observe(observer, wanted, {sleeper.process()});
  EXPECT_THAT(observation.not_applied, ElementsAre("LD_PRELOAD", "NCCL_ALGO", "NCCL_MIN_CTAS"));
  const auto& warnings = observation.warnings;
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_THAT(warnings, Contains("NCCL_MIN_CTAS was not set in " + name +
                                 ", wanted '8': mpirun without -x?"));
  EXPECT_THAT(warnings, Contains("NCCL_ALGO was 'Tree' in " + name +
                                 ", wanted 'Ring': does the command set it itself?"));
  EXPECT_THAT(warnings, Contains(HasSubstr("wanted not set")));
}

TEST_F(Observe, VariablesThatTheLibraryDoesNotHave) {
  const Sleeper sleeper(copy_of_library("libnccl.so.2"), "NCCL_MAX_CTA=4");
  Observer observer(sources(), {});
  const Variables wanted = {{"NCCL_MAX_CTA", "4"},     {"NCCL_MAX_CTAS", "4"},
                            {"NCCL_MIN_CTAS", "4"},    {"RCCL_UNROLL", "1"},
                            {"TORCH_NCCL_X", "1"},     {"NCCL_GONE", ""},
                            {"NCCL_DESYNC_DEBUG", "1"}};
  EXPECT_THAT(observe(observer, wanted, {sleeper.process()}).not_read,
              ElementsAre("NCCL_MAX_CTA", "RCCL_UNROLL"));
}

TEST_F(Observe, APluginMayReadVariablesOfItsOwn) {
  const std::string tuner = copy_of_library("libnccl-tuner.so");
  const Sleeper sleeper(copy_of_library("libnccl.so.2") + ":" + tuner, "NCCL_MAX_CTA=4");
  Observer observer(sources(), {});
  EXPECT_THAT(observe(observer, {{"NCCL_MAX_CTA", "4"}}, {sleeper.process()}).not_read, IsEmpty());
}

// A process that shows a title of its own writes zeros over the rest of its environment.
TEST_F(Observe, AnEnvironmentThatWasWrittenOverTellsNothing) {
  const fs::path root = fs::path(::testing::TempDir()) / ("environ_" + std::to_string(getpid()));
  const auto environment_of = [&root](const std::string& content) {
    fs::create_directories(root / "proc" / "7");
    std::ofstream(root / "proc" / "7" / "environ", std::ios::binary) << content;
    return read_environment(root, 7);
  };
  EXPECT_FALSE(environment_of(std::string("worker 3") + std::string(100, '\0')));
  EXPECT_FALSE(environment_of(std::string(100, '\0')));
  const auto whole = environment_of(std::string("PATH=/bin\0NCCL_ALGO=Ring\0", 25));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->at("NCCL_ALGO"), "Ring");
  fs::remove_all(root);
}

TEST_F(Observe, GpusAndTheirClocks) {
  const gpu::FakeNvml fake("count 2\nutilization 0\nsm_clock 345\n");
  Observer observer(sources(), {});
  observer.begin_run({});
  observer.look({});
  fake.set("count 2\nsm_clock 1980\nsm_clock.1 1755\n");
  for (int i = 0; i < 5; ++i)
    observer.look({});
  const Observation observation = observer.end_run();
  EXPECT_EQ(value(observation, "driver"), "580.159.04");
  EXPECT_EQ(value(observation, "CUDA driver"), "13.0");
  EXPECT_EQ(value(observation, "GPUs"), "2 x NVIDIA H200");
  EXPECT_EQ(value(observation, "GPU uuids"), "GPU-fake-0, GPU-fake-1");
  EXPECT_EQ(value(observation, "GPU power limit"), "700W");
  EXPECT_EQ(value(observation, "GPU persistence mode"), "on");
  EXPECT_EQ(value(observation, "GPU SM clock under load (median)"), "1868MHz");
  EXPECT_EQ(value(observation, "GPU SM clock under load (slowest GPU)"), "1755MHz");
  EXPECT_THAT(observation.warnings, IsEmpty());
}

TEST_F(Observe, RunsOnTheSameGpusAgree) {
  const gpu::FakeNvml fake("count 8\n");
  Observer observer(sources(), {});
  const Observation first = observe(observer, {}, {}, 6);
  fake.set("count 8\nsm_clock 1950\ntemperature 70\npower 690000\n");
  EXPECT_TRUE(model::differences(first.facts, observe(observer, {}, {}, 6).facts).empty());
  fake.set("count 8\nsm_clock.3 1200\npower_limit.3 500000\n");
  const auto found = model::differences(first.facts, observe(observer, {}, {}, 6).facts);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].item, "GPU power limit");
  EXPECT_THAT(found[0].second, HasSubstr("700, 500, 700"));
  EXPECT_EQ(found[1].item, "GPU SM clock under load (slowest GPU)");
}

TEST_F(Observe, GpusThatSlowDown) {
  const gpu::FakeNvml fake(
      "count 4\nreasons 0x1\nreasons.0 0x4\nreasons.2 0x46\nreasons.3 0x4\n"
      "reasons.1 0x4\nutilization.1 0\n");
  Observer observer(sources(), {});
  EXPECT_THAT(observe(observer, {}, {}).warnings,
              ElementsAre("GPU clocks were held down by hardware thermal slowdown",
                          "GPU clocks were held down by software power cap"));
  EXPECT_EQ(value(observe(observer, {}, {}), "GPU clocks held down by"),
            "hardware thermal slowdown: GPU 2 in 2 of 2 looks; software power cap: GPUs 0, 2-3 in "
            "2 of 2 looks");
}

// The clocks of a GPU that was seen busy only once or twice may be anywhere between idle and their
// limit.
TEST_F(Observe, ClocksOfAShortRunAreNotCompared) {
  const gpu::FakeNvml fake("count 1\nsm_clock 1980\n");
  Observer observer(sources(), {});
  const Observation first = observe(observer, {}, {});
  fake.set("count 1\nsm_clock 540\n");
  EXPECT_TRUE(model::differences(first.facts, observe(observer, {}, {}).facts).empty());
}

TEST_F(Observe, ABrokenDriverIsAWarning) {
  const gpu::FakeNvml fake("init_error 18\n");
  Observer observer(sources(), {});
  const auto warnings = observe(observer, {}, {}).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("NVML does not start: fake error 18"));
}

TEST_F(Observe, ProcessesOfOthersOnTheGpus) {
  const Sleeper ours("");
  const Sleeper before("");
  const Sleeper during("");
  const auto used = [](int gpu, const Sleeper& sleeper) {
    return "used." + std::to_string(gpu) + " " + std::to_string(sleeper.process()) + " 1048576\n";
  };
  const gpu::FakeNvml fake("count 4\n" + used(0, before) + used(1, before));
  Observer observer(sources(), {});
  observer.begin_run({});
  fake.set("count 4\n" + used(0, before) + used(2, ours) + used(3, during));
  observer.look(std::vector<pid_t>{ours.process()});
  EXPECT_THAT(observer.end_run().warnings,
              ElementsAre("GPUs 0-1 were used by process " + std::to_string(before.process()) +
                              " (sleep) before the run",
                          "GPU 3 was used during the run by process " +
                              std::to_string(during.process()) + " (sleep), which is not of it"));
}

TEST_F(Observe, ChildrenOfOursAreOurs) {
  const Sleeper child("");  // a child of this test, which is "the run"
  const gpu::FakeNvml fake("count 1\n");
  Observer observer(sources(), {});
  observer.begin_run({});
  fake.set("count 1\nused.0 " + std::to_string(child.process()) + " 1\n");
  observer.look(std::vector<pid_t>{::getpid()});
  EXPECT_THAT(observer.end_run().warnings, IsEmpty());
}

// In a container, the driver may report the host's process numbers, some of which exist here by
// chance.
TEST_F(Observe, NumbersOfAnotherNamespaceAreNotJudged) {
  fs::create_directories(folder_ / "proc/self/ns");
  fs::create_directories(folder_ / "proc/4711");
  fs::create_symlink("pid:[4026532999]", folder_ / "proc/self/ns/pid");
  const gpu::FakeNvml fake("count 1\n");
  const std::vector<pid_t> ours = {12};
  Observer observer({.nvml_library = gpu::FakeNvml::library(), .root = folder_}, {});
  observer.begin_run({});
  fake.set("count 1\nused.0 4711 1\n");
  observer.look(ours);
  EXPECT_THAT(observer.end_run().warnings, IsEmpty());

  fs::remove(folder_ / "proc/self/ns/pid");
  fs::create_symlink("pid:[4026531836]", folder_ / "proc/self/ns/pid");
  fake.set("count 1\nused.0 4712 1\n");  // has ended and belongs to the last run
  observer.begin_run({});
  fake.set("count 1\nused.0 4711 1\n");
  observer.look(ours);
  EXPECT_THAT(observer.end_run().warnings,
              ElementsAre("GPU 0 was used during the run by process 4711, which is not of it"));
}

}  // namespace
}  // namespace assay::sweep
