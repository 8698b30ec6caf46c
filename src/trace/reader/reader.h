// Reads one PyTorch profiler trace in one streaming pass: .json or .json.gz (told by content).
//
// A damaged file gives the part that is sound, with counted warnings in Trace::warnings; an
// error only where there is nothing to read (no such file, no traceEvents).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "core/result.h"
#include "model/trace.h"

namespace assay::core {
class ByteSource;
}

namespace assay::trace {

// Called now and then with the number of file bytes read since the last call.
using OnProgress = std::function<void(std::uint64_t)>;

core::Result<model::Trace> read_trace(const std::filesystem::path& path,
                                      const OnProgress& on_progress = {});

// The same from any bytes; `name` stands for the path in messages.
core::Result<model::Trace> read_trace(core::ByteSource& source,
                                      const std::string& name,
                                      const OnProgress& on_progress = {});

}  // namespace assay::trace
