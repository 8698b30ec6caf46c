// A digest of bytes: 128 bits that tell whether inputs are the same as before. It is no defence
// against somebody who looks for two inputs with one digest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::core {

class Digest {
 public:
  // Adds a text with its length, so that the limits between texts count.
  void add(std::string_view text);

  // 32 hexadecimal digits of all that was added.
  [[nodiscard]] std::string text() const;

 private:
  void add_word(std::uint64_t word);

  std::array<std::uint64_t, 2> lanes_ = {0x243F6A8885A308D3U, 0x13198A2E03707344U};
};

}  // namespace assay::core
