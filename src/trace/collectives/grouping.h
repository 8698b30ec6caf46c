// Rows with equal keys, in the order in which the keys first appear.
#pragma once

#include <map>
#include <vector>

namespace assay::trace::collectives {

// `Group` must have a member `items` of pointers to rows.
template <class Group, class Row, class KeyOf>
std::vector<Group> group_by(const std::vector<Row>& rows, const KeyOf& key_of) {
  std::vector<Group> groups;
  std::map<decltype(key_of(rows.front())), std::size_t> places;
  for (const Row& row : rows) {
    const auto [place, is_new] = places.emplace(key_of(row), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].items.push_back(&row);
  }
  return groups;
}

}  // namespace assay::trace::collectives
