#include "core/digest.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>

namespace assay::core {
namespace {

// The finaliser of SplitMix64, in which every bit of the input changes half of those of the output.
std::uint64_t stirred(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

}  // namespace

// The two lanes differ in their beginning and in how a word meets what was there.
void Digest::add_word(std::uint64_t word) {
  lanes_[0] = stirred(lanes_[0] ^ word) + 0x9E3779B97F4A7C15U;
  lanes_[1] = stirred(std::rotl(lanes_[1], 29) + word) ^ 0xC2B2AE3D27D4EB4FU;
}

void Digest::add(std::string_view text) {
  add_word(text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t length = text.size() < sizeof(word) ? text.size() : sizeof(word);
    std::memcpy(&word, text.data(), length);
    add_word(word);
    text.remove_prefix(length);
  }
}

std::string Digest::text() const {
  return fmt::format("{:016x}{:016x}", lanes_[0], lanes_[1]);
}

}  // namespace assay::core
