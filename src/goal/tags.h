// The tags of a schedule's messages: unique for every ordered pair of ranks, the same on both
// sides, and carrying a label of the operation.
//
// A tag is a label and a number. The numbers of a pair and label count its messages, in the order
// of the exchanges and, within one, of channels and steps; each side computes them from the counts
// of goal/messages.h alone. Widths are checked before anything is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/messages.h"
#include "goal/parallelism.h"
#include "model/schedule_notes.h"

namespace assay::goal {

struct TagOptions {
  // "auto": as many of parallelism, communicator, operation and sequence as 31 bits hold.
  // "bits:I/C", "decimal:I/C": I bits or digits for the number, C for the label.
  // "legacy": decimal:4/5, the widths of the public generator.
  // "none": no label.
  std::string layout = "auto";
  // What --label says: a registered label or an expression; empty: dense numbers of the fields.
  std::string label = {};
  unsigned threads = 0;
};

// Of "bits:I/C", "decimal:I/C" and "legacy".
struct TagWidths {
  enum class Unit { kBits, kDigits };
  Unit unit = Unit::kBits;
  unsigned id = 0;
  unsigned label = 0;
};

core::Result<TagWidths> read_tag_widths(const std::string& layout);

struct TagPlan {
  model::TagLayout layout;
  std::vector<std::uint32_t> labels;  // by exchange

  [[nodiscard]] std::uint32_t tag(std::uint32_t exchange, std::uint64_t number) const {
    return static_cast<std::uint32_t>(labels[exchange] * label_unit + number % number_limit);
  }

  std::uint64_t label_unit = 0;
  std::uint64_t number_limit = 1ULL << 31;
};

// The error of a layout that is too narrow names the pair of ranks, its count, and widths that
// would do.
core::Result<TagPlan> plan_tags(const Resolved& resolved,
                                const std::vector<Parallelism>& parallelism,
                                const TagOptions& options);

// Where the numbers of one GPU's messages begin.
class TagBook {
 public:
  struct Entry {
    std::uint32_t peer = 0;
    std::uint64_t next_send = 0;
    std::uint64_t next_receive = 0;
  };

  TagBook(const Resolved& resolved, std::uint32_t gpu, const TagPlan& plan);

  // The entries of a call, one for each peer; whoever makes its messages counts them on.
  [[nodiscard]] std::vector<Entry>& entries(std::size_t call) { return entries_[call]; }

 private:
  std::vector<std::vector<Entry>> entries_;  // by call
};

}  // namespace assay::goal
