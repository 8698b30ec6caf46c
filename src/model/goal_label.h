// The labels of one rank in the text form of GOAL schedules. Nearly every file numbers them (l0,
// l1, …): those are found by their number, all others by hash.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay::model {

struct GoalLabel {
  std::string_view text;
  std::string_view prefix;   // "l" of "l12"
  std::uint32_t number = 0;  // 12 of "l12"
  bool numbered = false;     // text is the prefix and the number, written the one usual way
};

class GoalLabels {
 public:
  static constexpr std::uint32_t kUndefined = 0xFFFFFFFF;

  // The operation's number, or kUndefined.
  [[nodiscard]] std::uint32_t find(const GoalLabel& label) const {
    if (is_dense(label) && dense_[label.number] != kUndefined) return dense_[label.number];
    return others_.empty() ? kUndefined : find_other(label);
  }

  // False when the label is defined already. The label's text must stay until clear().
  bool define(const GoalLabel& label, std::uint32_t op);

  void clear();

 private:
  [[nodiscard]] bool has_prefix(const GoalLabel& label) const {
    return label.numbered && label.prefix == prefix_;
  }

  [[nodiscard]] bool is_dense(const GoalLabel& label) const {
    return label.number < dense_.size() && has_prefix(label);
  }

  [[nodiscard]] std::uint32_t find_other(const GoalLabel& label) const;
  void make_room(const GoalLabel& label);

  std::string_view prefix_;  // of the labels in dense_: that of the first numbered label
  std::vector<std::uint32_t> dense_;
  std::size_t used_ = 0;  // dense_ is undefined from here on
  std::unordered_map<std::string_view, std::uint32_t> others_;
};

}  // namespace assay::model
