#include "trace/fuse/fuse.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/byte_source.h"
#include "trace/fuse/rank_ids.h"
#include "trace/reader/reader.h"

namespace assay::trace::fuse {
namespace {

using Json = nlohmann::json;

class Fuse : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::filesystem::path folder =
        std::filesystem::path(ASSAY_SOURCE_DIR) / "samples/traces-2gpu/ctas_default";
    model::Warnings warnings;
    suite_run = new trace::Run(read_run(find_rank_files(folder, warnings).value(), 1).value());
    std::vector<RankAnalysis> ranks;
    for (const RankTrace& rank : suite_run->ranks)
      ranks.push_back(analyze_rank(rank.trace, {}, rank.rank));
    const path::Execution execution = path::execution_of(ranks);
    const auto path = path::critical_path(execution);
    suite_segments = path.size();
    suite_steps = execution.steps.size();
    suite_text = new std::string;
    const auto sink = [](std::string_view piece) -> core::Status {
      *suite_text += piece;
      return {};
    };
    ASSERT_TRUE(write_fused(
                    {*suite_run, execution, path}, sink, [](std::uint64_t) {}, warnings)
                    .ok());
  }

  static void TearDownTestSuite() {
    delete suite_run;
    delete suite_text;
  }

  static trace::Run* suite_run;
  static std::string* suite_text;
  static std::size_t suite_segments;
  static std::size_t suite_steps;
};

trace::Run* Fuse::suite_run = nullptr;
std::string* Fuse::suite_text = nullptr;
std::size_t Fuse::suite_segments = 0;
std::size_t Fuse::suite_steps = 0;

TEST_F(Fuse, OurReaderReadsAllRanksOfIt) {
  core::MemorySource source(*suite_text);
  const model::Trace fused =
      read_trace(source, "fused", {}, kDefaultChunkBytes, {.flows = LaunchFlows::kRead}).value();
  EXPECT_TRUE(fused.warnings.empty());
  std::size_t gpu_events = 0;
  std::size_t cpu_ops = 0;
  std::size_t linked = 0;
  for (const RankTrace& rank : suite_run->ranks) {
    gpu_events += rank.trace.gpu_events.size();
    cpu_ops += rank.trace.cpu_ops.size();
    for (const NodeId call : build_call_tree(rank.trace).launched_by)
      linked += call != kNoNode;
  }
  EXPECT_EQ(fused.gpu_events.size(), gpu_events);
  EXPECT_EQ(fused.cpu_ops.size(), cpu_ops);
  // Each kernel is still linked to its own launch, by its correlation id and by its arrow.
  std::size_t still_linked = 0;
  for (const NodeId call : build_call_tree(fused).launched_by)
    still_linked += call != kNoNode;
  EXPECT_EQ(still_linked, linked);
  EXPECT_GT(linked, 1000U);
}

TEST_F(Fuse, ItIsWhatPerfettoExpects) {
  const Json document = Json::parse(*suite_text);
  const Json& events = document.at("traceEvents");
  std::map<int, std::string> names;
  std::set<int> sorted;
  std::set<int> used;
  std::map<std::pair<std::string, std::int64_t>, std::vector<const Json*>> arrows;
  for (const Json& event : events) {
    ASSERT_TRUE(event.at("pid").is_number_integer()) << event;
    ASSERT_TRUE(!event.contains("tid") || event.at("tid").is_number_integer()) << event;
    const std::string phase = event.at("ph");
    const int process = event.at("pid");
    if (phase == "M") {
      if (event.at("name") == "process_name") names[process] = event.at("args").at("name");
      if (event.at("name") == "process_sort_index") sorted.insert(process);
      continue;
    }
    used.insert(process);
    ASSERT_TRUE(event.at("ts").is_number()) << event;
    ASSERT_TRUE(phase != "X" || event.at("dur").get<double>() >= 0) << event;
    if (phase == "s" || phase == "f") arrows[{event.at("cat"), event.at("id")}].push_back(&event);
  }
  for (const int process : used) {
    EXPECT_TRUE(names.count(process)) << process;
    EXPECT_TRUE(sorted.count(process)) << process;
  }
  EXPECT_EQ(names[kPathProcess], "critical path");
  const auto has = [&](const std::string& name) {
    return std::any_of(names.begin(), names.end(),
                       [&](const auto& entry) { return entry.second == name; });
  };
  EXPECT_TRUE(has("rank 0 CPU") && has("rank 0 GPU 0") && has("rank 1 CPU") && has("rank 1 GPU 1"));
  // Ids are unique across ranks: an arrow has one start and one end, both of one rank, but those
  // of the critical path may lead from rank to rank.
  bool leads_across = false;
  for (const auto& [id, ends] : arrows) {
    ASSERT_LE(ends.size(), 2U) << id.first << " " << id.second;
    if (ends.size() < 2) continue;
    const int first = ends[0]->at("pid").get<int>() / 1000;
    const int second = ends[1]->at("pid").get<int>() / 1000;
    if (id.first == "critical_path") {
      leads_across = leads_across || first != second;
      EXPECT_LE(ends[0]->at("ts").get<double>(), ends[1]->at("ts").get<double>());
    } else {
      EXPECT_EQ(first, second) << id.first << " " << id.second;
    }
  }
  EXPECT_TRUE(leads_across);
}

TEST_F(Fuse, TheCriticalPathIsATrackWithoutGaps) {
  const Json document = Json::parse(*suite_text);
  std::vector<std::pair<std::int64_t, std::int64_t>> slices;
  std::size_t steps = 0;
  for (const Json& event : document.at("traceEvents")) {
    if (event.value("cat", "") != "critical_path" || event.at("ph") != "X") continue;
    if (event.at("tid") == 1) {
      ++steps;
      continue;
    }
    const std::int64_t start_ns = std::llround(event.at("ts").get<double>() * 1000);
    slices.emplace_back(start_ns, start_ns + std::llround(event.at("dur").get<double>() * 1000));
  }
  EXPECT_EQ(steps, suite_steps);
  EXPECT_EQ(slices.size(), suite_segments);
  for (std::size_t i = 1; i < slices.size(); ++i)
    EXPECT_NEAR(static_cast<double>(slices[i].first), static_cast<double>(slices[i - 1].second), 2);
}

}  // namespace
}  // namespace assay::trace::fuse
