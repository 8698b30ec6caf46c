#include "goal/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "goal/cycle_check.h"
#include "goal/findings.h"
#include "goal/match_check.h"
#include "goal/notes_check.h"

namespace assay::goal {
namespace {

using model::OpKind;
using model::ScheduleOp;

constexpr std::uint64_t kMostMessageBytes = 0x7FFFFFFF;

// Counts operations and looks at each by itself.
class OperationCheck {
 public:
  OperationCheck(const model::Schedule& schedule, Findings& findings)
      : schedule_(schedule), findings_(findings) {}

  void run(CheckResult& result) {
    const auto& ranks = schedule_.ranks();
    result.ranks = static_cast<std::uint32_t>(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto ops = ranks[rank].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        count(ops[i], result);
        check_place(rank, i, ops[i]);
        if (ops[i].kind != OpKind::kCalc) check_message(rank, i, ops[i]);
      }
    }
  }

 private:
  static void count(const ScheduleOp& op, CheckResult& result) {
    result.sends += op.kind == OpKind::kSend ? 1 : 0;
    result.receives += op.kind == OpKind::kReceive ? 1 : 0;
    result.calculations += op.kind == OpKind::kCalc ? 1 : 0;
    result.dependencies += op.dependencies;
  }

  void add(FindingKind kind, std::size_t rank, std::size_t i, const char* what, std::uint64_t n) {
    findings_.add(kind,
                  [&] { return fmt::format("rank {}: operation {} has {} {}", rank, i, what, n); });
  }

  void check_place(std::size_t rank, std::size_t i, const ScheduleOp& op) {
    if (op.cpu > model::kMostCpu) add(FindingKind::kCpu, rank, i, "cpu", op.cpu);
    if (op.nic > model::kMostNic) add(FindingKind::kNic, rank, i, "nic", op.nic);
    if (op.cpu > schedule_.max_cpu() || op.nic > schedule_.max_nic()) {
      findings_.add(FindingKind::kHeader, [&] {
        return fmt::format(
            "rank {}: operation {} has cpu {} and nic {}, the header ends at {} and "
            "{}",
            rank, i, static_cast<unsigned>(op.cpu), static_cast<unsigned>(op.nic),
            schedule_.max_cpu(), schedule_.max_nic());
      });
    }
  }

  void check_message(std::size_t rank, std::size_t i, const ScheduleOp& op) {
    const bool any = op.kind == OpKind::kReceive && op.tag == model::kAnyTag;
    if (op.tag > model::kMostTag && !any) add(FindingKind::kTag, rank, i, "tag", op.tag);
    if (op.size > kMostMessageBytes) add(FindingKind::kSize, rank, i, "size", op.size);
  }

  const model::Schedule& schedule_;
  Findings& findings_;
};

}  // namespace

bool CheckResult::passed() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.weight == Weight::kProblem; });
}

CheckResult check(const model::Schedule& schedule, const model::ScheduleNotes* notes) {
  CheckResult result;
  Findings findings;
  OperationCheck(schedule, findings).run(result);
  result.matched_messages = check_matches(schedule, findings);
  check_cycles(schedule, findings);
  if (notes != nullptr) check_notes(schedule, *notes, findings);
  result.findings = findings.take();
  return result;
}

}  // namespace assay::goal
