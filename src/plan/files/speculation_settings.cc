#include "plan/files/speculation_settings.h"

namespace assay::plan {

Words vllm_speculation(const Speculation& speculation) {
  if (speculation.tokens == 0) return {};
  const nlohmann::ordered_json config = {{"method", "mtp"},
                                         {"num_speculative_tokens", speculation.tokens}};
  return {"--speculative-config", config.dump()};
}

Words sglang_speculation(const Speculation& speculation) {
  if (speculation.tokens == 0) return {};
  return {"--speculative-algorithm",        "EAGLE",
          "--speculative-num-steps",        std::to_string(speculation.tokens),
          "--speculative-eagle-topk",       "1",
          "--speculative-num-draft-tokens", std::to_string(speculation.verified())};
}

void add_trtllm_speculation(const Speculation& speculation, nlohmann::ordered_json& settings) {
  if (speculation.tokens == 0) return;
  settings["speculative_config"] = {{"decoding_type", "MTP"},
                                    {"num_nextn_predict_layers", speculation.tokens}};
}

}  // namespace assay::plan
