// The time of steps in a pipeline: stages of GPUs that hold a part of the layers each, through
// which batches with requests of their own follow each other, as many as there are stages.
#pragma once

#include <cstdint>

#include "plan/price/step_prices.h"
#include "plan/step.h"

namespace assay::plan {

// A link between two GPUs, in one direction.
struct StageLink {
  double bytes_per_s = 0;
  double latency_s = 0;
  bool is_measured = false;  // the rate; else it is the link's own
};

struct Pipeline {
  std::int64_t stages = 1;
  std::int64_t stages_per_node = 1;
  double excess = 1;  // stage_excess()
  std::int64_t hidden = 1;
  StageLink within = {};   // a node
  StageLink between = {};  // nodes
};

// A batch's next step begins when its tokens have gone through all stages. In that time every
// stage computes every batch once, so that a step takes as long as the slowest stage for the
// largest batch, times the number of stages, and the tokens' way from stage to stage. What the
// batches' difference wastes are the pipeline's bubbles: a simulation finds them where batches are
// groups whose steps end together. Only the last stage computes logits, and the others wait.
class StagedCost final : public StepCost {
 public:
  // `prices`, of the whole model, must outlive it.
  StagedCost(const StepPrices& prices, const Pipeline& pipeline);

  [[nodiscard]] double ms(const Step& step) const override;

  // Of one way through all stages.
  [[nodiscard]] double transfer_ms(std::int64_t tokens) const;

 private:
  const StepPrices& prices_;
  Pipeline pipeline_;
  double latency_ms_ = 0;
  double ms_per_token_ = 0;
};

}  // namespace assay::plan
