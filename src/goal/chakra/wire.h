// The wire format of protocol buffers, as far as execution traces need it: a message is fields,
// each a number, a kind and a value. (protobuf.dev, "Encoding"). The library is not taken for this
// little.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::goal {

enum class WireKind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireKind kind = WireKind::kVarint;
  std::uint64_t value = 0;      // of all kinds but kBytes
  std::string_view bytes = {};  // of kBytes
};

// Reads the fields of a message one after another.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // std::nullopt: at the end, or where the bytes are no field; is_damaged() tells which.
  std::optional<WireField> next();

  // A number in base 128, the lowest digits first. std::nullopt: damaged or cut.
  std::optional<std::uint64_t> varint();

  // Returns the next `count` bytes, or std::nullopt when there are fewer.
  std::optional<std::string_view> take(std::uint64_t count);

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

 private:
  std::optional<std::uint64_t> fixed(unsigned bytes);
  std::optional<WireField> damaged();

  std::string_view rest_;
  bool is_damaged_ = false;
};

// Numbers of sint32 and sint64 lie zigzag: 0, −1, 1, −2, …
std::int64_t from_zigzag(std::uint64_t value);

// Appends fields to a message. A field with its default value is left out by the caller.
class WireWriter {
 public:
  void varint(std::uint64_t value);
  void number(std::uint32_t field, std::uint64_t value);
  void bytes(std::uint32_t field, std::string_view value);

  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  std::string message_;
};

}  // namespace assay::goal
