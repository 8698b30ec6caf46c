// Numbers and texts as bytes and back, for what processes of one program tell each other. Integers
// take 7 bits a byte, so that small ones take little.
//
//   Packer packer;
//   packer.add(count);
//   packer.add(std::string_view(name));
//   Unpacker unpacker(packer.take());
//   count = unpacker.integer();
//   name = unpacker.text();
//   if (!unpacker.done()) return Error{…};   // damaged, or not all was read
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace assay::core {

class Packer {
 public:
  void add(std::integral auto value) { add_signed(static_cast<std::int64_t>(value)); }

  void add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8)
      bytes_ += static_cast<char>((bits >> shift) & 0xFF);
  }

  void add(std::string_view text) {
    add(text.size());
    bytes_ += text;
  }

  std::string take() { return std::move(bytes_); }

 private:
  // The sign goes into the lowest bit, so that small negative numbers are small, too.
  void add_signed(std::int64_t value) {
    auto rest = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
    for (; rest >= 0x80; rest >>= 7)
      bytes_ += static_cast<char>(0x80 | (rest & 0x7F));
    bytes_ += static_cast<char>(rest);
  }

  std::string bytes_;
};

// Reads zeros and empty texts once something did not fit; failed() tells.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <std::integral Integer = std::int64_t>
  Integer integer() {
    const std::int64_t value = signed_integer();
    if (std::in_range<Integer>(value)) return static_cast<Integer>(value);
    failed_ = true;
    return 0;
  }

  // Returns an integer that must be in [0, end).
  template <std::unsigned_integral Integer = std::size_t>
  Integer below(std::size_t end) {
    const auto value = integer<Integer>();
    if (value < end) return value;
    failed_ = true;
    return 0;
  }

  // Returns the number of items that follow, each of which takes a byte or more.
  std::size_t count() { return below(bytes_.size() + 1); }

  double real() {
    if (bytes_.size() < 8) return fail();
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i)
      bits |= std::uint64_t{static_cast<unsigned char>(bytes_[static_cast<std::size_t>(i)])}
              << (8 * i);
    bytes_.remove_prefix(8);
    return std::bit_cast<double>(bits);
  }

  std::string text() {
    const std::size_t size = count();
    if (size > bytes_.size()) {
      failed_ = true;
      return "";
    }
    std::string result(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return result;
  }

  [[nodiscard]] bool failed() const { return failed_; }

  void reject() { failed_ = true; }

  // Returns whether there is nothing more to read.
  [[nodiscard]] bool at_end() const { return failed_ || bytes_.empty(); }

  // Returns whether all bytes were read and all fitted.
  [[nodiscard]] bool done() const { return !failed_ && bytes_.empty(); }

 private:
  int fail() {
    failed_ = true;
    bytes_ = {};
    return 0;
  }

  std::int64_t signed_integer() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return fail();
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80)
        return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
    }
    return fail();
  }

  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace assay::core
