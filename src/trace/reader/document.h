// The members of a trace beside its events.
#pragma once

#include <optional>
#include <string>

namespace assay::trace {

struct DocumentFacts {
  bool valid = true;              // the text is JSON
  std::optional<int> rank;        // distributedInfo.rank
  bool rank_is_damaged = false;   // there is one, but it is no rank
  std::optional<int> world_size;  // distributedInfo.world_size
  int device_count = 0;           // entries of deviceProperties
  std::string gpu_name;           // name of the first device
};

// From CutDocument::rest. Only named facts are taken: the rest may hold a host's whole
// environment.
DocumentFacts read_document(const std::string& text);

}  // namespace assay::trace
