// Plans the tags of a schedule's messages. A tag is unique for an ordered pair of ranks, the same
// on both sides, and carries a label of the operation.
//
// A tag consists of a label and a number. The numbers count the messages of a pair and label in the
// order of the exchanges and, within an exchange, of channels and steps; each side computes them
// from the counts of MessageCounter alone. Widths are checked before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/label.h"
#include "goal/steps.h"
#include "model/schedule_notes.h"

namespace assay::goal {

struct TagOptions {
  // "auto": as many of parallelism, communicator, operation and sequence as 31 bits hold.
  // "bits:I/C", "decimal:I/C": I bits or digits for the number, C for the label.
  // "legacy": decimal:4/5, the widths of the public generator.
  // "none": no label.
  std::string layout = "auto";
  // The value of --label: a registered label or an expression. Empty: dense numbers of the fields.
  std::string label = {};
  unsigned threads = 0;
};

// The widths in "bits:I/C", "decimal:I/C" and "legacy".
struct TagWidths {
  enum class Unit { kBits, kDigits };
  Unit unit = Unit::kBits;
  unsigned id = 0;
  unsigned label = 0;
};

core::Result<TagWidths> read_tag_widths(const std::string& layout);

struct TagPlan {
  model::TagLayout layout;
  std::vector<std::uint32_t> labels;     // by exchange
  std::vector<Parallelism> parallelism;  // by exchange

  [[nodiscard]] std::uint32_t tag(std::uint32_t exchange, std::uint64_t number) const {
    return static_cast<std::uint32_t>(labels[exchange] * label_unit + number % number_limit);
  }

  std::uint64_t label_unit = 0;
  std::uint64_t number_limit = 1ULL << 31;
};

// Fails when the layout is too narrow. The error names the pair of ranks, its number of messages,
// and widths that would suffice.
core::Result<TagPlan> plan_tags(const Resolved& resolved, const TagOptions& options);

// The first numbers of the messages of one GPU.
class TagBook {
 public:
  struct Entry {
    std::uint32_t peer = 0;
    std::uint64_t next_send = 0;
    std::uint64_t next_receive = 0;
  };

  TagBook(const Resolved& resolved, std::uint32_t gpu, const TagPlan& plan);

  // Returns the entries of a call, one for each peer. Whoever makes the messages counts them on.
  [[nodiscard]] std::vector<Entry>& entries(std::size_t call) { return entries_[call]; }

 private:
  std::vector<std::vector<Entry>> entries_;  // by call
};

}  // namespace assay::goal
