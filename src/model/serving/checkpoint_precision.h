// Reads how a checkpoint keeps its weights: quantization_config of a config.json tells it, or
// the file hf_quant_config.json that ModelOpt wrote beside it. The methods are those of Hugging
// Face's transformers ("fp8", "fbgemm_fp8", "mxfp4", "awq", "gptq", "compressed-tensors") and
// "modelopt".
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/config.h"
#include "model/serving/model.h"

namespace assay::serving {

struct CheckpointPrecision {
  Precision precision;
  std::vector<std::string> left_out;  // modules that stay in bfloat16, as of left_out.h
};

// The field of a config.json that tells the precision; null where none does. Checkpoints of
// compressed-tensors of 2024 call it compression_config.
const char* precision_field(const Config& config);

// bfloat16 where the config has no such field. Error: a method or an algorithm that assay does not
// know; it names the field and those that are known.
core::Result<CheckpointPrecision> checkpoint_precision(const Config& config);

// The same of ModelOpt's own file.
core::Result<CheckpointPrecision> modelopt_precision(const Config& file);
// Returns what that file tells of the cache alone; bfloat16 where it tells nothing.
core::Result<Quantization> modelopt_cache(const Config& file);

}  // namespace assay::serving
