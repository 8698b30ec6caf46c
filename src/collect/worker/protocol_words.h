// What the reader and the writer of collect/worker/protocol.h share.
#pragma once

#include <array>

#include "model/perf.h"

namespace assay::collect {

inline constexpr int kProtocolVersion = 1;

template <class Enum>
struct Named {
  const char* name;
  Enum value;
};

inline constexpr std::array kLaunches = {Named<model::Launch>{"graph", model::Launch::kGraph},
                                         Named<model::Launch>{"eager", model::Launch::kEager}};
inline constexpr std::array kL2States = {Named<model::L2State>{"hot", model::L2State::kHot},
                                         Named<model::L2State>{"cold", model::L2State::kCold}};

template <class Names, class Enum>
const char* name_in(const Names& names, Enum value) {
  for (const auto& named : names) {
    if (named.value == value) return named.name;
  }
  return "";
}

}  // namespace assay::collect
