#include "model/goal_label.h"

#include <algorithm>

namespace assay::model {
namespace {

// How far beyond the labels seen so far a number may lie to be found by number.
constexpr std::size_t kLeap = 1024;

}  // namespace

std::uint32_t GoalLabels::find_other(const GoalLabel& label) const {
  const auto found = others_.find(label.text);
  return found == others_.end() ? kUndefined : found->second;
}

void GoalLabels::make_room(const GoalLabel& label) {
  if (!label.numbered) return;
  if (prefix_.empty()) prefix_ = label.prefix;
  const std::size_t reach = 2 * used_ + kLeap;
  if (label.number >= dense_.size() && label.number < reach && has_prefix(label)) {
    dense_.resize(reach, kUndefined);
  }
}

bool GoalLabels::define(const GoalLabel& label, std::uint32_t op) {
  if (find(label) != kUndefined) return false;
  if (!is_dense(label)) make_room(label);
  if (!is_dense(label)) return others_.emplace(label.text, op).second;
  dense_[label.number] = op;
  used_ = std::max<std::size_t>(used_, label.number + std::size_t{1});
  return true;
}

void GoalLabels::clear() {
  std::fill_n(dense_.begin(), used_, kUndefined);
  used_ = 0;
  prefix_ = {};
  others_.clear();
}

}  // namespace assay::model
