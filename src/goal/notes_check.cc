#include "goal/notes_check.h"

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <unordered_set>

namespace assay::goal {
namespace {

using model::OperationSpan;
using model::RankView;
using model::ScheduleNotes;
using model::ScheduleOp;

// Widths of 32 bits or 10 digits and more leave no room for a label.
std::uint64_t label_unit(const model::TagLayout& layout) {
  std::uint64_t unit = 1;
  const std::uint64_t base = layout.name == "bits" ? 2 : 10;
  for (unsigned i = 0; i < layout.id_width && unit <= 0xFFFFFFFF; ++i)
    unit *= base;
  return unit;
}

class NotesCheck {
 public:
  NotesCheck(const ScheduleNotes& notes, Findings& findings)
      : notes_(notes),
        findings_(findings),
        has_labels_(!notes.operations.empty() &&
                    (notes.tags.name == "bits" || notes.tags.name == "decimal")),
        unit_(label_unit(notes.tags)) {
    for (const auto& operation : notes.operations)
      labels_.insert(operation.label);
  }

  void rank(std::uint32_t rank, const RankView& view, const std::vector<OperationSpan>& spans) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const OperationSpan& span = spans[i];
      if (!fits(span, end, view)) {
        findings_.add(FindingKind::kSpan, [&] {
          return fmt::format("rank {}: span {}, operation {}, graph from {} to {}", rank, i,
                             span.operation, span.first_op,
                             std::uint64_t{span.first_op} + span.num_ops);
        });
        continue;
      }
      for (; end < span.first_op; ++end)
        check_outside(rank, end, view.ops[end]);
      for (; end < span.first_op + std::size_t{span.num_ops}; ++end)
        check_inside(rank, end, view.ops[end], notes_.operations[span.operation].label);
    }
    for (; end < view.ops.size(); ++end)
      check_outside(rank, end, view.ops[end]);
  }

 private:
  [[nodiscard]] bool fits(const OperationSpan& span, std::size_t end, const RankView& view) const {
    return span.operation < notes_.operations.size() && span.first_op >= end &&
           span.first_op <= view.ops.size() && span.num_ops <= view.ops.size() - span.first_op;
  }

  [[nodiscard]] bool carries_label(const ScheduleOp& op) const {
    return has_labels_ && op.kind != model::OpKind::kCalc && op.tag != model::kAnyTag;
  }

  void check_inside(std::uint32_t rank,
                    std::size_t index,
                    const ScheduleOp& op,
                    std::uint32_t expected) {
    if (!carries_label(op) || op.tag / unit_ == expected) return;
    findings_.add(FindingKind::kLabel, [&] {
      return fmt::format(
          "rank {}: operation {} has tag {}, label {}; its NCCL operation has label "
          "{}",
          rank, index, std::uint32_t{op.tag}, op.tag / unit_, expected);
    });
  }

  // Messages that the notes give to no operation.
  void check_outside(std::uint32_t rank, std::size_t index, const ScheduleOp& op) {
    if (!carries_label(op)) return;
    const auto label = static_cast<std::uint32_t>(op.tag / unit_);
    if (labels_.count(label) > 0) return;
    findings_.add(FindingKind::kLabel, [&] {
      return fmt::format("rank {}: operation {} has tag {}, label {}, which no NCCL operation has",
                         rank, index, std::uint32_t{op.tag}, label);
    });
  }

  const ScheduleNotes& notes_;
  Findings& findings_;
  bool has_labels_;
  std::uint64_t unit_;
  std::unordered_set<std::uint32_t> labels_;
};

}  // namespace

void check_notes(const model::Schedule& schedule, const ScheduleNotes& notes, Findings& findings) {
  const std::size_t ranks = schedule.ranks().size();
  if (notes.ranks.size() != ranks || notes.spans.size() != ranks) {
    findings.add(FindingKind::kNotes, [&] {
      return fmt::format("they tell of {} ranks and the spans of {}, the schedule has {}",
                         notes.ranks.size(), notes.spans.size(), ranks);
    });
    return;
  }
  NotesCheck check(notes, findings);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    check.rank(rank, schedule.ranks()[rank], notes.spans[rank]);
}

}  // namespace assay::goal
