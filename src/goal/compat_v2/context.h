// The names that the public generator gives to messages: parallelism + 100 * (hash mod 1000).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/job.h"

namespace assay::goal::compat_v2 {

// Python's hash of a tuple of small numbers: xxHash's mixing, one lane.
std::uint64_t tuple_hash(std::span<const std::uint64_t> items);

// The hashes modulo 1000. Where some of them are below 2^63 and others not, the generator's library
// keeps them as 64-bit floating point numbers and they lose their last 11 bits first.
std::vector<std::uint32_t> hash_digits(std::span<const std::uint64_t> hashes);

// What the letters of a stream's operations tell, in the order of their start:
// A AllGather, B AllReduce, C Broadcast, D ReduceScatter, E Recv, F Send. DP 2, PP 1, Other 0.
std::uint32_t parallelism_digit(std::string_view letters);

// A name for each operation of a GPU, by index. `order`: the operations in the order of their
// start, as the generator sees it.
std::vector<std::uint32_t> contexts(const model::JobGpu& gpu, std::span<const std::uint32_t> order);

}  // namespace assay::goal::compat_v2
