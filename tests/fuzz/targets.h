// The fuzz targets of one layer, which cmake/fuzz.cmake lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" {
using FuzzTarget = int(const std::uint8_t* data, std::size_t size);
}

struct NamedFuzzTarget {
  const char* name;
  FuzzTarget* run;
};

std::span<const NamedFuzzTarget> fuzz_targets();
