// Cuts a trace file into the traces of a plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/byte_source.h"
#include "core/result.h"
#include "trace/split/plan.h"

namespace assay::trace {

struct WrittenPiece {
  std::filesystem::path path;
  std::uint64_t events = 0;
};

// Reads the source once more and writes the events of each piece, as they are, into
// folder/<stem>.<piece>.json. All files get their names together, after all are whole. What stands
// around the events is kept as far as profilers write it themselves: a document may also hold the
// whole environment of a host, which nobody expects in a part of a trace.
core::Result<std::vector<WrittenPiece>> write_pieces(core::ByteSource& source,
                                                     const std::string& name,
                                                     const SplitPlan& plan,
                                                     const std::filesystem::path& folder,
                                                     const std::string& stem);

// Returns the files that write_pieces() writes.
std::vector<std::filesystem::path> piece_paths(const SplitPlan& plan,
                                               const std::filesystem::path& folder,
                                               const std::string& stem);

}  // namespace assay::trace
