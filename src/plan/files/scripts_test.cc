#include "plan/files/scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/files/deployment_files.h"
#include "plan/files/engine_files.h"
#include "plan/files/files_test_util.h"
#include "plan/files/manifests.h"
#include "plan/files/placement.h"

namespace assay::plan {
namespace {

using files_testing::content_of;
using files_testing::planned_of;
using files_testing::pools_of;
using files_testing::spanning_of;
using files_testing::values_of;
using files_testing::words_of_script;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ScriptsOf : public testing::TestWithParam<Engine> {};

TEST_P(ScriptsOf, TheRouterKnowsEveryInstance) {
  const PlannedDeployment planned = pools_of(GetParam());
  const auto files = deployment_files(planned, {});
  ASSERT_TRUE(files.ok());
  const std::string all =
      content_of(files.value(), "serve-router.sh") +
      (GetParam() == Engine::kTrtllm ? content_of(files.value(), "router.yaml") : "");
  const std::string manifest = kubernetes_manifest(planned);
  const std::string start = content_of(files.value(), "serve.sh");
  // Six GPUs of the first machine compute prompts; neither instance of four that decodes fits it.
  for (const char* address :
       {"node-0:8100", "node-0:8101", "node-0:8102", "node-1:8200", "node-1:8201"}) {
    EXPECT_THAT(all, HasSubstr(address));
    EXPECT_THAT(start, HasSubstr(std::string("PORT=") + std::string(address).substr(7)));
  }
  for (const char* address : {"-prefill-0.", "-prefill-2.", "-decode-1."})
    EXPECT_THAT(manifest, HasSubstr(planned.name + address + planned.name));
  EXPECT_THAT(start, HasSubstr("GPUS=4,5 PORT=8102"));
  EXPECT_THAT(start, HasSubstr("GPUS=4,5,6,7 PORT=8201"));
}

// Every machine of a worker runs the same script with its number; MPI is started on the first.
TEST_P(ScriptsOf, AWorkerOverNodesIsStartedOnEach) {
  const std::string script = serve_script(spanning_of(GetParam()));
  if (GetParam() == Engine::kTrtllm) {
    EXPECT_THAT(script, HasSubstr("hosts=\"${HOSTS:-gpu-a:8,gpu-b:8}\""));
    EXPECT_THAT(script, HasSubstr("mpirun --host \"$hosts\" -np 16 --map-by ppr:8:node"));
    EXPECT_THAT(script, HasSubstr("trtllm-llmapi-launch trtllm-serve"));
    return;
  }
  EXPECT_THAT(script, HasSubstr("first=\"${FIRST:-gpu-a}\""));
  EXPECT_THAT(script, HasSubstr("  0 | 1) ;;"));
  const Words words = words_of_script(script);
  EXPECT_THAT(values_of(words, "--nnodes"), ElementsAre("2"));
  EXPECT_THAT(values_of(words, "--node-rank"), ElementsAre("$node"));
  if (GetParam() == Engine::kVllm) {
    EXPECT_THAT(values_of(words, "--master-addr"), ElementsAre("$first"));
    EXPECT_THAT(script, HasSubstr("[ \"$node\" = 0 ] || others=(--headless)"));
  } else {
    EXPECT_THAT(values_of(words, "--dist-init-addr"), ElementsAre("$first:29500"));
  }
}

// What fits a node is started as ever.
TEST_P(ScriptsOf, AWorkerOfANodeKnowsNoOthers) {
  const std::string script = serve_script(planned_of(GetParam()));
  for (const char* word : {"node", "mpirun", "first"})
    EXPECT_THAT(script, Not(HasSubstr(word)));
}

// An instance over nodes has whole ones, and each of them its number.
TEST_P(ScriptsOf, InstancesOverNodesHaveWholeOnes) {
  PlannedDeployment planned = pools_of(GetParam());
  PlannedDeployment& decode = planned.pools.back();
  decode.worker = {.tp = 16, .dp = 1, .moe_tp = 16, .moe_ep = 1};
  const std::vector<PlacedInstance> placed = place_instances(planned);
  EXPECT_EQ(nodes_of(placed), 5);  // three instances on one node, then two on two nodes each
  EXPECT_EQ(placed[3].node, 1);
  EXPECT_EQ(placed[4].node, 3);
  const std::string script = machines_script(planned);
  if (GetParam() == Engine::kTrtllm) {
    EXPECT_THAT(script, HasSubstr("HOSTS=node-3:8,node-4:8 PORT=8201"));
    EXPECT_THAT(script, HasSubstr("mpirun on node-3 starts what runs here"));
  } else {
    EXPECT_THAT(script, HasSubstr("PORT=8201 NODE=1 FIRST=node-3"));
  }
}

// A node has GPUs of one system.
TEST(Placement, TwoSystemsShareNoNode) {
  PlannedDeployment planned = pools_of(Engine::kVllm);
  planned.pools.front().copies = 1;
  EXPECT_EQ(place_instances(planned)[1].node, 0);
  planned.pools.back().system = "h100_sxm";
  EXPECT_EQ(place_instances(planned)[1].node, 1);
  EXPECT_EQ(place_instances(planned)[1].first_gpu, 0);
  EXPECT_THAT(machines_script(planned), HasSubstr("# node-0, h200_sxm\n"));
  EXPECT_THAT(machines_script(planned), HasSubstr("# node-1, h100_sxm\n"));
}

INSTANTIATE_TEST_SUITE_P(Files, ScriptsOf, testing::ValuesIn(kEngines), [](const auto& engine) {
  return std::string(name_of(engine.param));
});

}  // namespace
}  // namespace assay::plan
