// Checks whether a schedule is sound for any simulator and means what its notes say.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/schedule.h"
#include "model/schedule_notes.h"

namespace assay::goal {

// A problem fails the check; a remark is only worth knowing.
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
  std::uint64_t matched_messages = 0;  // sends with exactly one receive
  std::vector<Finding> findings = {};  // problems first

  [[nodiscard]] std::uint64_t operations() const { return sends + receives + calculations; }

  [[nodiscard]] bool passed() const;
};

// Proves, for the schedule as it is:
// - each send has its receive, one to one, with the same source, destination, tag and size.
//   The receives of a rank with a wildcard receive are only counted, because that proves nothing.
// - no operation waits for itself by dependencies on ends and starts.
// - limits are kept: cpu and nic at most 254 and within the header's, tag and message size below
// 2^31.
// - with notes: tags carry the label of the operation to which the notes assign them, spans lie in
//   the graph in order and do not overlap, and the notes have the schedule's ranks.
// Only a simulation can tell whether ranks wait for each other in a circle of messages
// (`assay goal check --runs`).
CheckResult check(const model::Schedule& schedule, const model::ScheduleNotes* notes = nullptr);

enum class FindingKind : std::uint8_t {
  kUnmatchedSend,
  kUnmatchedReceive,
  kSizeMismatch,
  kCycle,
  kCpu,
  kNic,
  kTag,
  kSize,
  kHeader,
  kNotes,
  kSpan,
  kLabel,
  kWildcard,
  kRepeatedTag,
  kSelfSend,
  kCount,
};

// Collects the findings of a check, with the first examples of each kind.
class Findings {
 public:
  static constexpr std::uint64_t kExamples = 5;

  // `describe` makes an example; it is called only while examples are wanted.
  template <class Describe>
  void add(FindingKind kind, const Describe& describe, std::uint64_t count = 1) {
    Entry& entry = entries_[static_cast<std::size_t>(kind)];
    if (entry.examples.size() < kExamples) entry.examples.push_back(describe());
    entry.count += count;
  }

  // Returns the findings, problems first.
  [[nodiscard]] std::vector<Finding> take();

 private:
  struct Entry {
    std::uint64_t count = 0;
    std::vector<std::string> examples = {};
  };

  std::array<Entry, static_cast<std::size_t>(FindingKind::kCount)> entries_;
};

// Returns how many sends have exactly one receive. Needs 8 bytes per send, and a table of the sends
// to one rank at a time.
std::uint64_t check_matches(const model::Schedule& schedule, Findings& findings);

// Checks whether the notes of a schedule fit it.
void check_notes(const model::Schedule& schedule,
                 const model::ScheduleNotes& notes,
                 Findings& findings);

}  // namespace assay::goal
