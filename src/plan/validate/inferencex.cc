#include "plan/validate/inferencex.h"

namespace assay::plan {
namespace {

// DeepSeek-R1 by TensorRT-LLM 1.1.0rc2.post2 on H200 has two recipes: dsr1-fp8-h200-trt, which
// drafts nothing and has 64 requests in flight at most, and dsr1-fp8-h200-trt-mtp.
bool has_recipe_that_drafts(const MeasuredDeployment& measured) {
  return measured.engine == "trtllm" && measured.version == "1.1.0rc2.post2" &&
         measured.system == "h200_sxm" && measured.model == "deepseek-ai/DeepSeek-R1";
}

}  // namespace

std::int64_t drafted_by_recipe(const MeasuredDeployment& measured, const std::string& measured_on) {
  constexpr std::int64_t kMostWithoutDrafts = 64;
  constexpr const char* kFirstRun = "2026-01-14";  // which ran the recipes that draft alone (#392)
  if (measured_on.empty() || !has_recipe_that_drafts(measured)) return 0;
  const bool must_draft = measured_on == kFirstRun || measured.concurrency > kMostWithoutDrafts;
  if (!must_draft) return 0;
  return measured.widths.dp > 1 ? 1 : 3;
}

}  // namespace assay::plan
