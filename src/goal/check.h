// Whether a schedule can run to its end in any simulator, and means what its notes say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/schedule.h"
#include "model/schedule_notes.h"

namespace assay::goal {

// A remark is worth knowing; a problem fails the check.
enum class Weight { kProblem, kRemark };

struct Finding {
  std::string name;  // "unmatched send"
  std::string meaning;
  Weight weight = Weight::kProblem;
  std::uint64_t count = 0;
  std::vector<std::string> examples = {};  // the first few: "rank 3: operation 17 …"
};

struct CheckResult {
  std::uint32_t ranks = 0;
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t calculations = 0;
  std::uint64_t dependencies = 0;
  std::uint64_t matched_messages = 0;  // one send with one receive
  std::vector<Finding> findings = {};  // problems first

  [[nodiscard]] std::uint64_t operations() const { return sends + receives + calculations; }

  [[nodiscard]] bool passed() const;
};

// Proves, for the schedule as it is:
// - each send has its receive, one to one, with the same source, destination, tag and size.
//   A receive from anybody or with any tag proves nothing; its rank is then only counted.
// - no operation waits for itself, over dependencies on ends and starts.
// - the limits: cpu and nic at most 254 and within the header's, tag and message size below 2^31.
// - with notes: tags carry the label of the operation that the notes give them to, spans lie in the
//   graph in order and apart, and the notes have the schedule's ranks.
// Whether ranks wait for each other in a circle of messages is for a simulation to tell.
CheckResult check(const model::Schedule& schedule, const model::ScheduleNotes* notes = nullptr);

}  // namespace assay::goal
