#include "plan/search/pool_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/serving/family.h"

namespace assay::plan {
namespace {

using testing::HasSubstr;

TEST(PoolText, ReadsInstancesAndWidths) {
  const PoolText pool = parse_pool("3P(tp 2)").value();
  EXPECT_EQ(pool.instances, 3);
  EXPECT_EQ(pool.worker, (Worker{.tp = 2, .moe_tp = 2}));
  EXPECT_EQ(parse_pool("tp 4").value().worker.gpus(), 4);
  EXPECT_EQ(parse_pool("2(tp4)").value().instances, 2);
}

// What a search prints is read as what it meant, whatever the widths.
TEST(PoolText, ReadsWhatSearchPrints) {
  const auto model = serving::read_model("qwen3-235b-a22b").value();
  int workers = 0;
  for (const Engine engine : kEngines) {
    for (const Worker& worker : workers_of(model, engine, model.precision, 8).possible) {
      ++workers;
      EXPECT_EQ(parse_pool("1D(" + worker.text() + ")").value().worker, worker) << worker.text();
    }
  }
  EXPECT_GT(workers, 20);
}

TEST(PoolText, HasStages) {
  const Worker worker = parse_pool("2P(tp 4, pp 2)").value().worker;
  EXPECT_EQ(worker, (Worker{.tp = 4, .moe_tp = 4, .pp = 2}));
  EXPECT_EQ(worker.gpus(), 8);
  EXPECT_EQ(parse_pool("1D(" + worker.text() + ")").value().worker, worker);
}

TEST(PoolText, SaysWhatIsNoWorker) {
  for (const char* text : {"", "3P", "3P()", "tp", "tp 0", "tp 2 tp 4", "tp 2, tp 2", "sp 2",
                           "3P(tp 2) + 1D(tp 8)", "0P(tp 1)", "tp 99999999999999999999"}) {
    const auto pool = parse_pool(text);
    ASSERT_FALSE(pool.ok()) << text;
    EXPECT_THAT(pool.error().message, HasSubstr("is no worker: say")) << text;
  }
  EXPECT_THAT(parse_pool("tp 2, ep 4").error().message, HasSubstr("its experts are on"));
}

}  // namespace
}  // namespace assay::plan
