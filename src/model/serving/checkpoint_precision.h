// Reads how a checkpoint keeps its weights: quantization_config of a config.json tells it, or
// the file hf_quant_config.json that ModelOpt wrote beside it. The methods are those of Hugging
// Face's transformers ("fp8", "mxfp4", "awq", "gptq", "compressed-tensors") and "modelopt".
#pragma once

#include "core/result.h"
#include "model/serving/config.h"
#include "model/serving/model.h"

namespace assay::serving {

// bfloat16 where the config has no quantization_config. `mixes`: the model has experts, whose
// weights may be kept otherwise than those of attention. Error: a method or an algorithm that assay
// does not know; it names the field and those that are known.
core::Result<Precision> checkpoint_precision(const Config& config, bool mixes);

// The same of ModelOpt's own file.
core::Result<Precision> modelopt_precision(const Config& file, bool mixes);

}  // namespace assay::serving
