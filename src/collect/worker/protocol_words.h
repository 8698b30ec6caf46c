// What the reader and the writer of collect/worker/protocol.h share.
#pragma once

#include <array>
#include <string_view>

#include "model/perf.h"

namespace assay::collect {

inline constexpr int kProtocolVersion = 1;

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

inline constexpr std::array kLaunches = {
    Named<model::Launch>{name_of(model::Launch::kGraph), model::Launch::kGraph},
    Named<model::Launch>{name_of(model::Launch::kEager), model::Launch::kEager}};
inline constexpr std::array kL2States = {Named<model::L2State>{"hot", model::L2State::kHot},
                                         Named<model::L2State>{"cold", model::L2State::kCold}};

template <class Names, class Enum>
std::string_view name_in(const Names& names, Enum value) {
  for (const auto& named : names) {
    if (named.value == value) return named.name;
  }
  return "";
}

}  // namespace assay::collect
