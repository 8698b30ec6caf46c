// Plays NCCL to libassay_nccl_tuner.so, through both versions of the interface.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "allreduce/tuner/control.h"
#include "allreduce/tuner/nccl_abi.h"
#include "allreduce/tuner/tuner_file.h"
#include "core/output_file.h"

namespace assay::allreduce {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kAlgorithms = 7;
constexpr int kProtocols = 3;
constexpr int kNvls = 4;
constexpr int kLl = 0;
constexpr int kLl128 = 1;
constexpr int kSimple = 2;
constexpr int kAllReduce = 4;
constexpr int kNoChannels = 0;  // NCCL's value before it asks

std::string file_path() {
  return testing::TempDir() + "tuner.conf";
}

// NCCL's log.
std::vector<std::string>& log_lines() {
  static std::vector<std::string> lines;
  return lines;
}

void take_log(int level,
              unsigned long /*flags*/,
              const char* /*file*/,
              int /*line*/,
              const char* format,
              ...) {  // NOLINT(cert-dcl50-cpp): NCCL's signature
  std::array<char, 1024> text{};
  va_list arguments;
  va_start(arguments, format);
  // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the caller's
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  log_lines().push_back((level == nccl::kLogWarn ? "WARN " : "INFO ") + std::string(text.data()));
}

struct Answer {
  int algorithm = kAny;  // what NCCL then takes: the cheapest
  int protocol = kAny;
  int channels = kNoChannels;
  bool changed = false;  // anything in the table

  bool operator==(const Answer&) const = default;
};

struct Asked {
  int collective = kAllReduce;
  std::size_t bytes = 1024;
  int operations = 1;
  int registered = 0;
};

using Costs = std::array<std::array<float, kProtocols>, kAlgorithms>;

// What NCCL offers for an all-reduce without multicast. It would take tree and LL.
Costs usual_costs() {
  Costs costs;
  for (auto& row : costs)
    row.fill(nccl::kIgnored);
  costs[kTree] = {5, 7, 9};
  costs[kRing] = {6, 8, 10};
  return costs;
}

Answer taken(const Costs& costs, const Costs& before, int channels) {
  Answer answer{.channels = channels, .changed = costs != before};
  float least = 0;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      const float cost = costs[static_cast<std::size_t>(a)][static_cast<std::size_t>(p)];
      if (cost < 0 || (answer.algorithm != kAny && cost >= least)) continue;
      answer.algorithm = a;
      answer.protocol = p;
      least = cost;
    }
  }
  return answer;
}

const Answer kUntouched{.algorithm = kTree, .protocol = kLl};

// A communicator of one version of the interface.
struct Communicator {
  void* context = nullptr;
  nccl::GetCollInfo get = nullptr;
  nccl::Result (*end)(void*) = nullptr;

  [[nodiscard]] Answer ask(const Asked& asked, const Costs& costs = usual_costs()) const {
    Costs table = costs;
    int channels = kNoChannels;
    const auto result = get(context, asked.collective, asked.bytes, asked.operations,
                            reinterpret_cast<float**>(table.data()), kAlgorithms, kProtocols,
                            asked.registered, &channels);
    EXPECT_EQ(result, nccl::kSuccess);
    return taken(table, costs, channels);
  }
};

class TunerPlugin : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    library_ = ::dlopen(ASSAY_NCCL_TUNER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    ::unsetenv("ASSAY_NCCL_TUNER_FILE");
    ::unsetenv("NCCL_TUNER_CONFIG_FILE");
    log_lines().clear();
  }

  void TearDown() override {
    ::unsetenv("ASSAY_NCCL_TUNER_FILE");
    ::unsetenv("NCCL_TUNER_CONFIG_FILE");
    give({});
    ::dlclose(library_);
  }

  [[nodiscard]] Communicator begin(std::size_t ranks = 4, std::size_t nodes = 1) const {
    Communicator made;
    if (GetParam() == 4) {
      const auto* plugin =
          static_cast<const nccl::TunerV4*>(::dlsym(library_, "ncclTunerPlugin_v4"));
      EXPECT_EQ(plugin->init(ranks, nodes, take_log, &made.context), nccl::kSuccess);
      made.get = plugin->get_coll_info;
      made.end = plugin->destroy;
    } else {
      const auto* plugin =
          static_cast<const nccl::TunerV5*>(::dlsym(library_, "ncclTunerPlugin_v5"));
      std::array<int, 3> domains{1, 4, 4};
      std::array<double, 200> constants{};
      EXPECT_EQ(
          plugin->init(&made.context, 77, ranks, nodes, take_log, domains.data(), constants.data()),
          nccl::kSuccess);
      EXPECT_EQ(constants, (std::array<double, 200>{})) << "NCCL's model stays as it is";
      made.get = plugin->get_coll_info;
      made.end = plugin->finalize;
    }
    return made;
  }

  // Begins a communicator with this text as the file, asks, and ends it.
  [[nodiscard]] Answer answer(const std::string& text,
                              const Asked& asked = {},
                              const Costs& costs = usual_costs()) const {
    use(text);
    const Communicator communicator = begin();
    const Answer got = communicator.ask(asked, costs);
    EXPECT_EQ(communicator.end(communicator.context), nccl::kSuccess);
    return got;
  }

  static void use(const std::string& text) {
    ASSERT_TRUE(core::write_file(file_path(), text).ok());
    ::setenv("ASSAY_NCCL_TUNER_FILE", file_path().c_str(), 1);
  }

  void give(const TunerOrder& order) const {
    reinterpret_cast<GiveTunerOrder>(::dlsym(library_, kGiveTunerOrder))(&order);
  }

  [[nodiscard]] TunerSeen seen() const {
    TunerSeen seen;
    reinterpret_cast<ReadTunerSeen>(::dlsym(library_, kReadTunerSeen))(&seen);
    return seen;
  }

  void* library_ = nullptr;
};

const std::string kRingSimple8 = "allreduce,1024,2047,ring,simple,8,1,4\n";
const Answer kTakesRingSimple8{kRing, kSimple, 8, true};

TEST_P(TunerPlugin, AnswersFromItsFile) {
  EXPECT_EQ(answer(kRingSimple8), kTakesRingSimple8);
  EXPECT_THAT(log_lines(), ElementsAre("INFO TUNER/assay: 1 of 1 rows of " + file_path() +
                                       " are for 4 "
                                       "ranks on 1 hosts"));
  EXPECT_EQ(answer("allreduce,0,9999,ring,ll,-1,1,4\n"), (Answer{kRing, kLl, kNoChannels, true}))
      << "without channels they stay NCCL's choice";
}

TEST_P(TunerPlugin, ReadsTheFileThatNcclsVariableNames) {
  ASSERT_TRUE(core::write_file(file_path(), kRingSimple8).ok());
  ::setenv("NCCL_TUNER_CONFIG_FILE", file_path().c_str(), 1);
  const Communicator communicator = begin();
  EXPECT_EQ(communicator.ask({}), kTakesRingSimple8);
  communicator.end(communicator.context);
}

TEST_P(TunerPlugin, AnswersForEachCollective) {
  const std::string rows =
      "broadcast,0,9999,ring,ll,1,1,4\nallgather,0,9999,ring,ll,2,1,4\n"
      "reducescatter,0,9999,ring,ll,3,1,4\nallreduce,0,9999,ring,ll,4,1,4\n";
  constexpr int kReduce = 1;
  EXPECT_EQ(answer(rows, {.collective = 0}).channels, 1);
  EXPECT_EQ(answer(rows, {.collective = 2}).channels, 2);
  EXPECT_EQ(answer(rows, {.collective = 3}).channels, 3);
  EXPECT_EQ(answer(rows, {.collective = kAllReduce}).channels, 4);
  EXPECT_EQ(answer(rows, {.collective = kReduce}), kUntouched);
}

TEST_P(TunerPlugin, ChangesNothingWithoutARow) {
  EXPECT_EQ(answer("# nothing\n"), kUntouched);
  EXPECT_EQ(answer(kRingSimple8, {.bytes = 2048}), kUntouched);
  EXPECT_EQ(answer(kRingSimple8, {.bytes = 1023}), kUntouched);
  EXPECT_EQ(answer("allreduce,0,9999,ring,simple,8,1,8\n"), kUntouched) << "other ranks";
  EXPECT_EQ(answer("allreduce,0,9999,ring,simple,8,2,4\n"), kUntouched) << "other hosts";
  EXPECT_EQ(answer("allreduce,0,9999,ring,simple,8,1,4,1,0\n", {.registered = 1}), kUntouched);
  EXPECT_EQ(answer("allreduce,0,9999,ring,simple,8,1,4,1,1\n", {.registered = 0}), kUntouched);
  EXPECT_EQ(answer("allreduce,0,9999,ring,simple,8,1,4,1,0\n", {.operations = 3}), kUntouched);
}

TEST_P(TunerPlugin, NeverTakesWhatNcclIgnores) {
  Costs costs = usual_costs();
  costs[kRing][kSimple] = nccl::kIgnored;
  EXPECT_EQ(answer(kRingSimple8, {}, costs), kUntouched);
  EXPECT_EQ(answer("allreduce,0,9999,pat,simple,8,1,4\n"), kUntouched);
}

// A table smaller than this version of the interface knows.
TEST_P(TunerPlugin, NeverWritesOutsideTheTable) {
  use("allreduce,0,9999,nvls,simple,8,1,4\n");
  const Communicator communicator = begin();
  std::array<float, 6> costs{5, 7, 9, 6, 8, 10};
  const auto before = costs;
  int channels = kNoChannels;
  communicator.get(communicator.context, kAllReduce, 1024, 1,
                   reinterpret_cast<float**>(costs.data()), 2, kProtocols, 0, &channels);
  EXPECT_EQ(costs, before);
  EXPECT_EQ(channels, kNoChannels);
  communicator.end(communicator.context);
}

TEST_P(TunerPlugin, LeavesAnAlgorithmThatWasNotMeasured) {
  Costs costs = usual_costs();
  costs[kNvls][kSimple] = 2;
  EXPECT_EQ(answer(kRingSimple8, {}, costs), (Answer{.algorithm = kNvls, .protocol = kSimple}));
  costs[kNvls][kSimple] = 20;
  EXPECT_EQ(answer(kRingSimple8, {}, costs), kTakesRingSimple8);
}

TEST_P(TunerPlugin, LeavesOtherGpusAndVersions) {
  EXPECT_EQ(answer("#! gpu NVIDIA H200\n" + kRingSimple8), kUntouched);
  EXPECT_THAT(log_lines().back(), HasSubstr("measured with GPU NVIDIA H200"));
  EXPECT_EQ(answer("#! nccl 2.28\n" + kRingSimple8), kUntouched);
  EXPECT_THAT(log_lines().back(), HasSubstr("measured with NCCL 2.28"));
}

TEST_P(TunerPlugin, ABadFileIsOneLineOfNcclsLog) {
  EXPECT_EQ(answer(kRingSimple8 + "allreduce,0,1,rign,ll,1,1,4\n"), kUntouched);
  EXPECT_THAT(log_lines(), ElementsAre("WARN TUNER/assay: " + file_path() +
                                       ", line 2: no algorithm is called "
                                       "'rign'; NCCL chooses by itself"));
  log_lines().clear();
  EXPECT_EQ(answer(std::string(kMostTunerBytes + 1, '#')), kUntouched);
  EXPECT_THAT(log_lines(), ElementsAre(HasSubstr(file_path() + ", it is longer")));
  log_lines().clear();
  const std::string pipe = file_path() + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {std::string("no_such.conf"), std::string("."), pipe}) {
    ::setenv("ASSAY_NCCL_TUNER_FILE", path.c_str(), 1);
    const Communicator communicator = begin();
    EXPECT_EQ(communicator.ask({}), kUntouched);
    communicator.end(communicator.context);
  }
  ::unlink(pipe.c_str());
  EXPECT_THAT(log_lines(), ElementsAre(HasSubstr("WARN TUNER/assay: cannot read no_such.conf"),
                                       HasSubstr("WARN TUNER/assay: cannot read ."),
                                       HasSubstr("WARN TUNER/assay: cannot read " + pipe)));
}

TEST_P(TunerPlugin, WithoutAFileNcclChooses) {
  const Communicator communicator = begin();
  EXPECT_EQ(communicator.ask({}), kUntouched);
  EXPECT_THAT(log_lines(), ElementsAre(HasSubstr("INFO TUNER/assay: no file is named")));
  communicator.end(communicator.context);
}

TEST_P(TunerPlugin, BearsWhatIsMissing) {
  use(kRingSimple8);
  const Communicator communicator = begin();
  Costs costs = usual_costs();
  int channels = kNoChannels;
  auto* table = reinterpret_cast<float**>(costs.data());
  EXPECT_EQ(
      communicator.get(nullptr, kAllReduce, 1024, 1, table, kAlgorithms, kProtocols, 0, &channels),
      nccl::kSuccess);
  EXPECT_EQ(
      communicator.get(communicator.context, kAllReduce, 1024, 1, nullptr, 0, 0, 0, &channels),
      nccl::kSuccess);
  EXPECT_EQ(costs, usual_costs());
  communicator.end(communicator.context);
  EXPECT_EQ(communicator.end(nullptr), nccl::kSuccess);
}

TEST_P(TunerPlugin, CommunicatorsHaveTheirOwnRows) {
  use("allreduce,0,9999,ring,ll,2,1,2\nallreduce,0,9999,ring,simple,8,1,4\n");
  const Communicator two = begin(2);
  const Communicator four = begin(4);
  EXPECT_EQ(two.ask({}).channels, 2);
  EXPECT_EQ(four.ask({}).channels, 8);
  two.end(two.context);
  EXPECT_EQ(four.ask({}).channels, 8);
  four.end(four.context);
}

TEST_P(TunerPlugin, ASweepDecidesInsteadOfTheFile) {
  use(kRingSimple8);
  const Communicator communicator = begin();
  give({.mode = TunerMode::kForce, .algorithm = kRing, .protocol = kLl128, .channels = 3});
  EXPECT_EQ(communicator.ask({}), (Answer{kRing, kLl128, 3, true}));
  EXPECT_EQ(seen().asked, 1U);
  EXPECT_EQ(seen().answered, 1U);
  give({.mode = TunerMode::kForce, .algorithm = kNvls, .protocol = kSimple, .channels = 3});
  EXPECT_EQ(communicator.ask({}), kUntouched);
  EXPECT_EQ(seen().ignored, 1U);
  give({.mode = TunerMode::kNcclsOwn});
  EXPECT_EQ(communicator.ask({}), kUntouched);
  give({.mode = TunerMode::kFile});
  EXPECT_EQ(communicator.ask({}), kTakesRingSimple8);
  EXPECT_EQ(seen().answered, 1U);
  communicator.end(communicator.context);
}

INSTANTIATE_TEST_SUITE_P(Interfaces, TunerPlugin, testing::Values(4, 5));

// NCCL's profiler interface tells a sweep what ran; it is silent unless it is wanted.
template <class Event, class Profiler>
void watch(void* library, const char* symbol, const std::function<void(Profiler&, int&)>& start) {
  auto* profiler = static_cast<Profiler*>(::dlsym(library, symbol));
  ASSERT_NE(profiler, nullptr);
  int events = -1;
  start(*profiler, events);
  EXPECT_EQ(events, 0);
  const auto give = reinterpret_cast<GiveTunerOrder>(::dlsym(library, kGiveTunerOrder));
  const auto read = reinterpret_cast<ReadTunerSeen>(::dlsym(library, kReadTunerSeen));
  const TunerOrder order{.mode = TunerMode::kNcclsOwn, .watch = true};
  give(&order);
  EXPECT_EQ(events, nccl::kCollEvent);
  Event event{};
  event.type = nccl::kCollEvent;
  event.coll.algorithm = "RING";
  event.coll.protocol = "LL128";
  event.coll.channels = 8;
  void* handle = &event;
  profiler->start_event(nullptr, &handle, &event);
  EXPECT_EQ(handle, nullptr);
  profiler->start_event(nullptr, &handle, &event);
  TunerSeen seen;
  read(&seen);
  EXPECT_EQ(seen.ran, 2U);
  EXPECT_TRUE(seen.alike);
  EXPECT_STREQ(seen.algorithm, "RING");
  EXPECT_STREQ(seen.protocol, "LL128");
  EXPECT_EQ(seen.channels, 8);
  event.coll.channels = 7;
  profiler->start_event(nullptr, &handle, &event);
  event.type = 1;  // a group
  profiler->start_event(nullptr, &handle, &event);
  read(&seen);
  EXPECT_EQ(seen.ran, 3U);
  EXPECT_FALSE(seen.alike);
  const TunerOrder quiet;
  give(&quiet);
  EXPECT_EQ(events, 0);
}

TEST(TunerWitness, TellsWhatRan) {
  void* library = ::dlopen(ASSAY_NCCL_TUNER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  watch<nccl::EventV4, const nccl::ProfilerV4>(
      library, "ncclProfiler_v4", [](const nccl::ProfilerV4& profiler, int& events) {
        void* context = nullptr;
        profiler.init(&context, &events, "a communicator", 7, 1, 4, 0, take_log);
        EXPECT_NE(context, nullptr);
      });
  watch<nccl::EventV5, const nccl::ProfilerV5>(
      library, "ncclProfiler_v5", [](const nccl::ProfilerV5& profiler, int& events) {
        void* context = nullptr;
        profiler.init(&context, 7, &events, "a communicator", 1, 4, 0, take_log);
        EXPECT_NE(context, nullptr);
      });
  ::dlclose(library);
}

}  // namespace
}  // namespace assay::allreduce
