// Numbers for names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <ranges>
#include <type_traits>
#include <vector>

namespace assay::core {

// Returns a number for each value's key, the same for equal keys, counted from 0 in the order in
// which the keys first come: 0, 1, 0 of the nodes "b", "a", "b".
template <std::ranges::input_range Range, class KeyOf = std::identity>
std::vector<std::uint32_t> numbered(const Range& values, KeyOf key_of = {}) {
  using Key =
      std::remove_cvref_t<std::invoke_result_t<KeyOf, std::ranges::range_reference_t<const Range>>>;
  std::map<Key, std::uint32_t> known;
  std::vector<std::uint32_t> numbers;
  for (const auto& value : values) {
    const auto next = static_cast<std::uint32_t>(known.size());
    numbers.push_back(known.try_emplace(std::invoke(key_of, value), next).first->second);
  }
  return numbers;
}

}  // namespace assay::core
