#include "goal/chakra/wire.h"

namespace assay::goal {

std::optional<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) != 0) continue;
    rest_.remove_prefix(i + 1);
    return value;
  }
  is_damaged_ = true;
  return std::nullopt;
}

std::optional<std::string_view> WireReader::take(std::uint64_t count) {
  if (count > rest_.size()) {
    is_damaged_ = true;
    return std::nullopt;
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::optional<std::uint64_t> WireReader::fixed(unsigned bytes) {
  const std::optional<std::string_view> taken = take(bytes);
  if (!taken) return std::nullopt;
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>((*taken)[i])) << (8 * i);
  return value;
}

std::optional<WireField> WireReader::damaged() {
  is_damaged_ = true;
  return std::nullopt;
}

std::optional<WireField> WireReader::next() {
  if (at_end()) return std::nullopt;
  const std::optional<std::uint64_t> key = varint();
  if (!key || *key >> 35 != 0 || *key >> 3 == 0) return damaged();
  WireField field{.number = static_cast<std::uint32_t>(*key >> 3)};
  std::optional<std::uint64_t> value;
  switch (*key & 7) {
    case 0:
      value = varint();
      break;
    case 1:
      field.kind = WireKind::kFixed64;
      value = fixed(8);
      break;
    case 2: {
      field.kind = WireKind::kBytes;
      value = varint();
      const std::optional<std::string_view> bytes = value ? take(*value) : std::nullopt;
      if (!bytes) return damaged();
      field.bytes = *bytes;
      break;
    }
    case 5:
      field.kind = WireKind::kFixed32;
      value = fixed(4);
      break;
    default:
      break;
  }
  if (!value) return damaged();
  field.value = *value;
  return field;
}

std::int64_t from_zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

void WireWriter::varint(std::uint64_t value) {
  for (; value > 0x7F; value >>= 7)
    message_ += static_cast<char>(value | 0x80);
  message_ += static_cast<char>(value);
}

void WireWriter::number(std::uint32_t field, std::uint64_t value) {
  varint(std::uint64_t{field} << 3);
  varint(value);
}

void WireWriter::bytes(std::uint32_t field, std::string_view value) {
  varint(std::uint64_t{field} << 3 | 2);
  varint(value.size());
  message_ += value;
}

}  // namespace assay::goal
