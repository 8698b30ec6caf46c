// The driver's function that describes a tensor to the copy engine. Programs do not link the
// driver, so that it is found at run time.
#pragma once

#include <cuda.h>

namespace assay::collect {

using EncodeTensorMap = decltype(&cuTensorMapEncodeTiled);

// Returns nullptr where the driver is too old.
EncodeTensorMap encode_tensor_map();

}  // namespace assay::collect
