// Streaming gunzip: isa-l where it is packaged (2.8 times the speed of zlib), else zlib.
#pragma once

#include <memory>
#include <string>

#include "core/byte_source.h"

namespace assay::core {

// `name` is used in error messages.
std::unique_ptr<ByteSource> inflating_source(std::unique_ptr<ByteSource> compressed,
                                             std::string name);

}  // namespace assay::core
