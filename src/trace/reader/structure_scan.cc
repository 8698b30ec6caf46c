#include "trace/reader/structure_scan.h"

#if defined(__SSE2__)
#  include <emmintrin.h>
#endif

namespace assay::trace {
namespace {

struct BlockMasks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t brackets = 0;
};

#if defined(__SSE2__)

std::uint64_t equal_mask(__m128i bytes, char wanted) {
  const int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)));
  return static_cast<std::uint32_t>(mask);
}

BlockMasks classify(const char* block) {
  BlockMasks masks;
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * part));
    // Setting bit 5 maps '[' to '{' and ']' to '}'.
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    masks.quotes |= equal_mask(bytes, '"') << (16 * part);
    masks.backslashes |= equal_mask(bytes, '\\') << (16 * part);
    masks.brackets |= (equal_mask(folded, '{') | equal_mask(folded, '}')) << (16 * part);
  }
  return masks;
}

#else

BlockMasks classify(const char* block) {
  BlockMasks masks;
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const char c = block[i];
    if (c == '"') masks.quotes |= bit;
    if (c == '\\') masks.backslashes |= bit;
    if (c == '{' || c == '}' || c == '[' || c == ']') masks.brackets |= bit;
  }
  return masks;
}

#endif

// Bit i of the result is the parity of the bits 0…i.
std::uint64_t prefix_xor(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2)
    bits ^= bits << shift;
  return bits;
}

// Bits that follow an odd run of backslashes; backslashes are rare in traces, so a loop does.
std::uint64_t escaped_bits(std::uint64_t backslashes, bool& carry) {
  std::uint64_t escaped = carry ? 1 : 0;
  carry = false;
  std::uint64_t pending = backslashes & ~escaped;
  while (pending != 0) {
    const int i = __builtin_ctzll(pending);
    pending &= pending - 1;
    if (i == 63) {
      carry = true;
    } else {
      escaped |= std::uint64_t{2} << i;
      pending &= ~(std::uint64_t{2} << i);
    }
  }
  return escaped;
}

}  // namespace

std::uint64_t StructureScan::brackets(const char* block) {
  const BlockMasks masks = classify(block);
  std::uint64_t quotes = masks.quotes;
  if (masks.backslashes != 0 || escaped_) quotes &= ~escaped_bits(masks.backslashes, escaped_);
  const std::uint64_t inside = prefix_xor(quotes) ^ inside_string_;
  inside_string_ = (inside >> 63) != 0 ? ~std::uint64_t{0} : 0;
  return masks.brackets & ~inside;
}

}  // namespace assay::trace
